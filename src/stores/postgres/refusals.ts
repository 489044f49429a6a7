// What a client's error means, said so that somebody can act on it: what, why, what next. An ERROR of the server ended our statement, and with it the
// transaction that it was: definitely not applied. A connection that could not be made carried nothing. Everything else is unknown: a connection that
// broke, a server that was told to stop, an answer that cannot be read.
import type { RefusalCode, Refused, Unknown } from "../../base/outcome.ts";
import { unknown } from "../../base/outcome.ts";

/** Where, for messages: never with a password in it. */
export interface Whereabouts {
  /** "db.example:5432/app", or "the database". */
  readonly place: string;
  readonly schema: string;
}

/** Thrown inside the driver, answered by it. */
export class Refusal extends Error {
  readonly refused: Refused;

  constructor(code: RefusalCode, message: string, retryable = false, cause?: unknown) {
    super(message);
    this.refused = {
      kind: "refused",
      code,
      message: `postgres: ${message}`,
      retryable,
      ...(cause === undefined ? {} : { cause }),
    };
  }
}

interface Trouble {
  /** SQLSTATE of the server, or a code of Node or of the client. */
  readonly code: string;
  readonly severity: string;
  readonly text: string;
  /** Of a socket: what it was at. */
  readonly syscall: string;
}

export function outcomeOf(error: unknown, where: Whereabouts): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  const trouble = troubleOf(error);
  const verdict =
    ofConnection(trouble, where) ?? ofAccess(trouble, where) ?? ofLimit(trouble, where) ?? ofStatement(trouble, where);
  if (verdict === undefined) return unknown(error);
  const [code, message, retryable] = verdict;
  return { kind: "refused", code, message: `postgres: ${message}`, retryable, cause: error };
}

function troubleOf(error: unknown): Trouble {
  const { code, severity, message, syscall } = (error ?? {}) as Record<string, unknown>;
  return {
    code: typeof code === "string" ? code : "",
    severity: typeof severity === "string" ? severity : "",
    text: typeof message === "string" ? message : String(error),
    syscall: typeof syscall === "string" ? syscall : "",
  };
}

type Ruling = readonly [code: RefusalCode, message: string, retryable: boolean];

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
const DISTRUSTED = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "EPROTO",
]);

/** Nothing was ever sent. A connection that was made may break with the same codes, when the way to the server is gone: then it was reading or writing. */
function ofConnection({ code, text, syscall }: Trouble, { place }: Whereabouts): Ruling | undefined {
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
    return [
      "STORE_UNREACHABLE",
      `${place} cannot be reached (${code || text}). Is it running, and is the address right? It is tried again.`,
      true,
    ];
  if (DISTRUSTED.has(code))
    return [
      "STORE_UNREACHABLE",
      `${place} shows a certificate that is not trusted here (${code}). Give its authority with ?sslrootcert=FILE, or NODE_EXTRA_CA_CERTS; the name in the URL must be one of the certificate's.`,
      false,
    ];
  if (/does not support SSL/i.test(text))
    return [
      "STORE_UNREACHABLE",
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
function ofAccess({ code, text }: Trouble, { place }: Whereabouts): Ruling | undefined {
  if (/no pg_hba\.conf entry.*no encryption/i.test(text))
    return ["STORE_DENIED", `${place} wants TLS for this user (${text}). Add sslmode=verify-full to the URL.`, false];
  if (code === "28P01" || code === "28000" || /SASL|password must be a string/.test(text))
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

/** What this server cannot do, however often it is asked. */
function ofLimit({ code, text }: Trouble, { place, schema }: Whereabouts): Ruling | undefined {
  switch (code) {
    case "54000":
      return [
        "STORE_UNSUPPORTED",
        `a name or id is too long for PostgreSQL, which takes about 2700 bytes (${text}). Choose a shorter one.`,
        false,
      ];
    case "22003":
      return [
        "STORE_UNSUPPORTED",
        `a counter in schema "${schema}" of ${place} has given its last token, and none may come twice (${text}). Use another name, or another schema, which has a new token domain (conclave fence adopt). Nothing was written.`,
        false,
      ];
    case "0A000":
      if (/cached plan/.test(text)) return ["STORE_UNREACHABLE", `${place}: ${text}. It is tried again.`, true];
      return ["STORE_UNSUPPORTED", `${place} cannot do that (${text}). PostgreSQL 14 or newer is needed.`, false];
    case "XX001":
    case "XX002":
      return [
        "STORE_FOREIGN_DATA",
        `${place} is damaged (${text}). Restore it, or REINDEX SCHEMA ${schema}, while no candidate runs.`,
        false,
      ];
    default:
      return undefined;
  }
}

/** The statement failed. */
function ofStatement({ code, severity, text }: Trouble, { place, schema }: Whereabouts): Ruling | undefined {
  const option = schema === "conclave" ? "" : ` --schema ${schema}`;
  switch (code) {
    case "3F000":
    case "42883":
      if (code === "42883" && !/\.(?:open|keep|claim|take|release|give|look)\(/.test(text))
        return foreign(text, place, schema);
      return [
        "STORE_UNSUPPORTED",
        `${place} has no tables of conclave in schema "${schema}", or older ones (${text}). Run once, as its owner: npx conclave schema postgres${option} | psql "$DATABASE_URL"`,
        false,
      ];
    case "42501":
      return [
        "STORE_DENIED",
        `this user may not use the tables in schema "${schema}" of ${place} (${text}). Run once, as their owner: npx conclave schema postgres${option} --grant USER | psql "$DATABASE_URL"`,
        false,
      ];
    case "42P01":
    case "42703":
    case "42804":
    case "42846":
    case "42P13":
    case "42809":
    case "21000":
    case "P0001":
    case "23502":
    case "23514":
      return foreign(text, place, schema);
    case "22P02":
    case "22P05":
    case "22021":
      return [
        "STORE_UNSUPPORTED",
        `a name, id or value holds what PostgreSQL cannot: a NUL, or half a surrogate pair (${text}). Choose another one.`,
        false,
      ];
    case "25006":
      return [
        "STORE_UNREACHABLE",
        `${place} is read-only: a replica, or default_transaction_read_only is on. Point the URL to the primary, unless it is just being promoted. It is tried again.`,
        true,
      ];
    case "55P03": // lock_timeout
    case "57014":
      return [
        "STORE_UNREACHABLE",
        `${place} was too slow, and the statement was cancelled (${text}). Look for what holds a lock on "${schema}", or for a busy server. It is tried again.`,
        true,
      ];
    case "53100":
      return ["STORE_UNREACHABLE", `the disk of ${place} is full. Make room. It is tried again.`, true];
    default:
      // Classes 08 and 57 are about the connection and the server: a transaction may be committed all the same.
      return severity === "ERROR" && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57)/.test(code)
        ? ["STORE_UNREACHABLE", `${place}: ${text} (${code}). It is tried again.`, true]
        : undefined;
  }
}

function foreign(text: string, place: string, schema: string): Ruling {
  return [
    "STORE_FOREIGN_DATA",
    `schema "${schema}" of ${place} is not laid out as conclave lays it out, or a row of it makes no sense (${text}). Somebody has changed it. Nothing was written. Use another schema, or put it right while no candidate runs.`,
    false,
  ];
}

export function mayNotMake(cause: unknown, { place, schema }: Whereabouts): Refused {
  const option = schema === "conclave" ? "" : ` --schema ${schema}`;
  const message = `${place} has no tables of conclave in schema "${schema}", and this user may not make the tables (${troubleOf(cause).text}). Run once, as an owner: npx conclave schema postgres${option} --grant USER | psql "$DATABASE_URL"`;
  return new Refusal("STORE_DENIED", message, false, cause).refused;
}

/** An answer that none of our functions gives. */
export function edited(what: string, value: unknown, { place, schema }: Whereabouts): Refusal {
  const shown = JSON.stringify(String(value).slice(0, 60));
  return new Refusal(
    "STORE_FOREIGN_DATA",
    `${what} is ${shown} in schema "${schema}" of ${place}: somebody has edited it. Nothing was written. Put it right while no candidate runs.`,
  );
}

export function otherLayout(layout: unknown, own: number, { place, schema }: Whereabouts): Refusal {
  const isNewer = Number(layout) > own;
  return new Refusal(
    "STORE_UNSUPPORTED",
    `schema "${schema}" of ${place} has layout ${String(layout)}, and this version of conclave knows layout ${own}. ${isNewer ? "A newer version made it: update this one" : "Use another schema, or update it first: npx conclave schema postgres | psql, which keeps the tokens"}. Nothing was written.`,
  );
}

export function insideTransaction(): Refusal {
  return new Refusal(
    "STORE_UNREACHABLE",
    "a transaction is open on the client that was passed in, and what is done inside it may never be committed. Pass a Pool, or a client that nobody else uses. It is tried again.",
    true,
  );
}
