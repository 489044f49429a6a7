// Translates an error of a client of PostgreSQL into words that somebody can act on: what, why, what next. An ERROR of the server ended our statement, and with it its transaction: it was definitely not
// applied. A connection that could not be made carried nothing. Everything else is unknown: a connection that broke, a server that was told to stop or that panics, an answer that cannot be read.
//
// The errors here can happen to every user of the server. The caller tells the meaning of errors about its own tables (`ofTables`).
import type { RefusalCode, Refused, Unknown } from "../../base/outcome.ts";
import { unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { unreachedMessage } from "../connect-reasons.ts";
import { isDistrusted } from "../distrusted.ts";

export interface Trouble {
  /** SQLSTATE of the server, or a code of Node or of the client. */
  readonly code: string;
  readonly severity: string;
  readonly text: string;
  /** The system call of a socket that failed. */
  readonly syscall: string;
}

export type Ruling = readonly [code: RefusalCode, message: string, retryable: boolean];

/** `place`: "db.example:5432/app", or "the database"; it never contains a password. */
export function outcomeOf(
  error: unknown,
  place: string,
  ofTables: (trouble: Trouble) => Ruling | undefined = () => undefined,
): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  const trouble = troubleOf(error);
  const ruling =
    ofConnection(trouble, place) ?? ofAccess(trouble, place) ?? ofTables(trouble) ?? ofServer(trouble, place);
  if (ruling === undefined) return unknown(error);
  const [code, message, retryable] = ruling;
  return { kind: "refused", code, message: `postgres: ${message}`, retryable, cause: withoutScript(error) };
}

const CONTEXT_SHOWN = 200;

/** The server repeats the statement that failed as the error's context. A statement that makes tables has hundreds of lines, and they would be all that a log shows. */
export function withoutScript(error: unknown): unknown {
  const context = (error as { where?: unknown } | undefined)?.where;
  if (error instanceof Error && typeof context === "string" && context.length > CONTEXT_SHOWN)
    Object.assign(error, { where: `${context.slice(0, CONTEXT_SHOWN)}…` });
  return error;
}

export function troubleOf(error: unknown): Trouble {
  const { code, severity, message, syscall } = (error ?? {}) as Record<string, unknown>;
  return {
    code: typeof code === "string" ? code : "",
    severity: typeof severity === "string" ? severity : "",
    text: typeof message === "string" ? message : String(error),
    syscall: typeof syscall === "string" ? syscall : "",
  };
}

const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "CONNECT_TIMEOUT",
]);
const NOT_CONNECTED_TEXT =
  /timeout exceeded when trying to connect|terminated due to connection timeout|^timeout expired$/;

/** Nothing was ever sent. A connection that was made may break with the same codes, when the route to the server is gone: then it failed while reading or writing. */
function ofConnection({ code, text, syscall }: Trouble, place: string): Ruling | undefined {
  if (NOT_CONNECTED.has(code) && (syscall === "read" || syscall === "write")) return undefined;
  if (syscall === "open")
    return [
      "STORE_UNREACHABLE",
      `a file that the URL of ${place} names cannot be read (${text}). Check sslrootcert, sslcert and sslkey. It is tried again.`,
      true,
    ];
  if ((code === "EACCES" || code === "EPERM") && syscall === "connect")
    return [
      "STORE_DENIED",
      `this user may not connect to the socket of ${place} (${text}). Give it access to the socket and its folder, or use TCP.`,
      false,
    ];
  if (NOT_CONNECTED.has(code) || NOT_CONNECTED_TEXT.test(text))
    return ["STORE_UNREACHABLE", `${unreachedMessage(place, code, text)} It is tried again.`, true];
  // EPROTO is not among these: TLS ends a connection with it also after a request was sent, and the answer is what could not be read.
  if (isDistrusted(code))
    return [
      "STORE_DENIED",
      `${place} shows a certificate that is not trusted here (${code}). Give its authority with ?sslrootcert=FILE, or NODE_EXTRA_CA_CERTS; the name in the URL must be one of the certificate's.`,
      false,
    ];
  if (/does not support SSL/i.test(text))
    return [
      "STORE_DENIED",
      `${place} does not speak TLS, and it was asked for. Turn ssl on at the server, or take sslmode out of the URL.`,
      false,
    ];
  if (
    code === "CONNECTION_ENDED" ||
    /after calling end on the pool|Client was closed|connection error and is not queryable/.test(text)
  )
    return [
      "STORE_UNREACHABLE",
      `the client that was passed in is closed, or has lost its connection for good. Pass a Pool, which connects again, and close it after the candidate.`,
      false,
    ];
  return undefined;
}

/** The server, or a pooler before it, did not let us in. */
function ofAccess({ code, text }: Trouble, place: string): Ruling | undefined {
  if (/no pg_hba\.conf entry.*no encryption/i.test(text))
    return ["STORE_DENIED", `${place} wants TLS for this user (${text}). Add sslmode=verify-full to the URL.`, false];
  if (code === "28P01" || code === "28000" || /^SASL|password must be a string/.test(text))
    return [
      "STORE_DENIED",
      `${place} does not accept this user or password (${text}). Check the URL, PGUSER and PGPASSWORD.`,
      false,
    ];
  if (code === "3D000") return ["STORE_UNREACHABLE", `${place}: ${text}. Create it, or name another one.`, false];
  if (code === "57P03" || code === "53300")
    return ["STORE_UNREACHABLE", `${place} takes no connections now (${text}). It is tried again.`, true];
  if (/unsupported startup parameter/.test(text))
    return [
      "STORE_UNSUPPORTED",
      `the pooler at ${place} refuses a setting of the URL (${text}). Take it out, or add it to ignore_startup_parameters.`,
      false,
    ];
  return undefined;
}

/**
 * A transaction may be committed all the same after an error of class 08 or 57, which are about the connection and the server, and of 40003, which says so. 58 and XX are also the words of poolers for a
 * server that went away while it worked for us.
 */
const MAY_BE_COMMITTED = /^(?:08|57|58|XX|40003)/;

/**
 * FATAL and PANIC end more than the statement. A server whose disk is full while it writes its log panics in the midst of a commit: part of the log is on the disk, and when the server has recovered the
 * transaction may be committed. A server that speaks another language than English is not understood, which errs towards unknown.
 */
export function endedOnlyTheStatement(severity: string): boolean {
  return severity === "ERROR";
}

/** The server could not carry out the statement, whatever it was. */
function ofServer({ code, severity, text }: Trouble, place: string): Ruling | undefined {
  switch (code) {
    case "0A000":
      if (/cached plan/.test(text)) return ["STORE_UNREACHABLE", `${place}: ${text}. It is tried again.`, true];
      return ["STORE_UNSUPPORTED", `${place} cannot do that (${text}). PostgreSQL 14 or newer is needed.`, false];
    case "25006":
      return [
        "STORE_UNREACHABLE",
        `${place} is read-only: a replica, or default_transaction_read_only is on. Point the URL to the primary, unless it is just being promoted. It is tried again.`,
        true,
      ];
    case "57014":
      return [
        "STORE_UNREACHABLE",
        `${place} was too slow, and the statement was cancelled (${text}). It is tried again.`,
        true,
      ];
    case "53100":
      return endedOnlyTheStatement(severity)
        ? ["STORE_UNREACHABLE", `the disk of ${place} is full. Make room. It is tried again.`, true]
        : undefined;
    default:
      return endedOnlyTheStatement(severity) && /^[0-9A-Z]{5}$/.test(code) && !MAY_BE_COMMITTED.test(code)
        ? ["STORE_UNREACHABLE", `${place}: ${text} (${code}). It is tried again.`, true]
        : undefined;
  }
}
