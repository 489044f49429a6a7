// Translates the errors of a client or a server of Redis into words that somebody can act on: what, why, what next. Refused means that the request was certainly not applied, or that nobody will believe
// that it was: the server has answered with an error, or nothing was ever sent. Everything else, including a client's own timeout, is unknown.
import { type RefusalCode, type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { NothingInstalled } from "./client.ts";
import { NotSent } from "./port.ts";
import { unreachedMessage } from "../connect-reasons.ts";
import { isDistrusted } from "../distrusted.ts";
import { plainCause } from "../plain-cause.ts";
import { withoutArguments } from "./resp.ts";
import type { TlsOfUrl } from "./url.ts";

type Ruling = readonly [code: RefusalCode, message: string, retryable: boolean];

export interface RedisWhereabouts {
  /** "db.example:6379", or "the server"; it never contains a password. */
  readonly place: string;
  /** The command that gives a user the rights it needs. */
  readonly grant: string;
  /** What a URL says of TLS. undefined: a client that the user made. */
  readonly tls?: TlsOfUrl | undefined;
}

export function outcomeOf(error: unknown, where: RedisWhereabouts): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  const ruling = rulingOf(error, where);
  const cause = plainCause(error, withoutArguments);
  if (ruling === undefined) return unknown(cause);
  const [code, message, retryable] = ruling;
  return { kind: "refused", code, message: `redis: ${message}`, retryable, cause };
}

function rulingOf(error: unknown, where: RedisWhereabouts): Ruling | undefined {
  if (error instanceof NothingInstalled) return ["STORE_UNSUPPORTED", error.message, false];
  const cause = error instanceof NotSent ? (error.cause ?? error) : error;
  const { code, text } = troubleOf(cause);
  const said = ofServer(text, where);
  if (said !== undefined) return said;
  if (!(error instanceof NotSent)) return undefined;
  return ofTls(code, text, where) ?? ofConnection(code, text, where);
}

function troubleOf(error: unknown): { readonly code: string; readonly text: string } {
  const { code, message } = (error ?? {}) as Record<string, unknown>;
  const text = typeof message === "string" ? message : String(error);
  return { code: typeof code === "string" ? code : "", text: withoutArguments(text) };
}

/** Neither side has heard a word of Redis: what is wrong will not go away by itself. */
function ofTls(code: string, text: string, { place, tls }: RedisWhereabouts): Ruling | undefined {
  const denied = (message: string): Ruling => ["STORE_DENIED", `${place} ${message}`, false];
  if (isDistrusted(code))
    return denied(
      `shows a certificate that is not trusted here (${code}). Give its authority with ?conclave_ca=FILE, or NODE_EXTRA_CA_CERTS; the name in the URL must be one of the certificate's.`,
    );
  if (/^ERR_OSSL|PEM routines/.test(code || text))
    return denied(
      `was not asked, because a file of the URL cannot be used (${code || text}). conclave_ca and conclave_cert are certificates as PEM, and conclave_key is the key of conclave_cert, without a passphrase.`,
    );
  if (/ALERT/.test(code) || /\balert\b/.test(text))
    return denied(`ended the TLS handshake (${code || text}). ${clientCertificate(tls)}`);
  if (code === "EPROTO" || /^ERR_SSL|wrong version number/i.test(code || text))
    return denied(
      `does not speak TLS, and rediss:// asked for it (${code || text}). Write redis://, or name the TLS port of the server.`,
    );
  return undefined;
}

function clientCertificate(tls: TlsOfUrl | undefined): string {
  return tls === "with-certificate"
    ? "Does it accept the certificate of conclave_cert? Its authority must be in the server's tls-ca-cert-file."
    : "If it asks for client certificates, as redis-server does unless tls-auth-clients says otherwise, pass one: ?conclave_cert=FILE&conclave_key=FILE.";
}

/** How it is said that what has come is not the protocol of Redis: by us, by ioredis, also with an older parser, and by node-redis. */
const NOT_REDIS = /begins no value of RESP|^Unknown RESP type|^Protocol error, got/;

/** Nothing was ever sent. */
function ofConnection(code: string, text: string, { place, tls }: RedisWhereabouts): Ruling {
  if (/client that was passed in/.test(text)) return ["STORE_UNREACHABLE", `${text}.`, false];
  if (/subscriber mode/.test(text))
    return [
      "STORE_UNREACHABLE",
      "the client that was passed in is subscribed to channels, and can send nothing else. Pass another, such as client.duplicate().",
      false,
    ];
  if (/enableOfflineQueue|client is offline/.test(text))
    return [
      "STORE_UNREACHABLE",
      `the client that was passed in is not connected, and keeps no requests for later (${text}). It is tried again.`,
      true,
    ];
  if (NOT_REDIS.test(text))
    return [
      "STORE_UNREACHABLE",
      `${place} does not answer as Redis does (${text.replace(" Please report this.", "").replace(/\.$/, "")}). Is it Redis or Valkey that listens there? It is tried again.`,
      true,
    ];
  const isClosed = /closed|ECONNRESET|EPIPE|unexpectedly/i.test(`${code} ${text}`);
  return [
    "STORE_UNREACHABLE",
    `${unreachedMessage(place, code, text)}${isClosed ? ` ${closedAdvice(tls)}` : silentAdvice(text, tls)} It is tried again.`,
    true,
  ];
}

/** A server that waits for the words of Redis says nothing to the beginning of a TLS handshake. */
function silentAdvice(text: string, tls: TlsOfUrl | undefined): string {
  if (tls === undefined || tls === "none" || !text.startsWith("no answer within")) return "";
  return " If it does not speak TLS, write redis://.";
}

/** A connection that was merely closed may have met a server that was stopping. A server that wants a certificate closes it, too, and its word of why may be lost. */
function closedAdvice(tls: TlsOfUrl | undefined): string {
  if (tls === undefined || tls === "none") return "If the server wants TLS, write rediss://.";
  return `${clientCertificate(tls)} If it does not speak TLS, write redis://.`;
}

/** The server has answered with an error. A script repeats the words of the command that failed inside it. */
function ofServer(text: string, where: RedisWhereabouts): Ruling | undefined {
  return ofAccess(text, where) ?? ofData(text, where) ?? ofState(text, where);
}

/** Inside a script Redis 7 says it in other words than elsewhere. */
export function isMissingRight(text: string): boolean {
  return /NOPERM|no permissions|ACL failure|user executing the script can't/i.test(text);
}

function ofAccess(text: string, { place, grant }: RedisWhereabouts): Ruling | undefined {
  if (/WRONGPASS|invalid password|AUTH .*called without any password|invalid username-password/i.test(text))
    return ["STORE_DENIED", `${place} does not accept this user or password (${text}). Check the URL.`, false];
  if (/NOAUTH|Authentication required/i.test(text))
    return [
      "STORE_DENIED",
      `${place} wants a password (${text}). Write it into the URL: redis://USER:PASSWORD@HOST.`,
      false,
    ];
  if (isMissingRight(text))
    return [
      "STORE_DENIED",
      `this user may not do what is needed at ${place} (${text}). Run once, as an administrator: ${grant}`,
      false,
    ];
  if (/DENIED Redis is running in protected mode/.test(text))
    return [
      "STORE_DENIED",
      `${place} is in protected mode and takes no connections from other hosts. Give it a password and bind it to an address.`,
      false,
    ];
  return undefined;
}

function ofData(text: string, { place }: RedisWhereabouts): Ruling | undefined {
  const foreign = /CONCLAVE-FOREIGN (\S+)/.exec(text)?.[1];
  if (foreign !== undefined || /WRONGTYPE/.test(text))
    return ["STORE_FOREIGN_DATA", foreignText(foreign ?? "a key of ours", place), false];
  if (/\bOOM\b/.test(text))
    return [
      "STORE_FULL",
      `the memory of ${place} is full (${text}). Raise maxmemory, or make room. It is tried again.`,
      true,
    ];
  if (/DB index is out of range/i.test(text))
    return [
      "STORE_UNSUPPORTED",
      `${place} has no database of the number that ends the URL (${text}). Write a smaller one, such as /0, or raise databases in the configuration of the server.`,
      false,
    ];
  if (/unicode escape|CROSSSLOT/i.test(text)) return ["STORE_UNSUPPORTED", `${place} cannot do that (${text}).`, false];
  if (/proto-max-bulk-len|invalid bulk length|string exceeds maximum allowed size/i.test(text))
    return [
      "STORE_FULL",
      `a name, id or value is too large for ${place} (${text}). Nothing was written. Make it smaller, or raise proto-max-bulk-len at the server.`,
      false,
    ];
  return undefined;
}

export function foreignText(key: string, place: string): string {
  return `the key ${JSON.stringify(key)} at ${place} holds something that conclave has not written, and that is no lock. Nothing was written. Use another prefix or name, or remove it while no candidate runs.`;
}

function ofState(text: string, { place }: RedisWhereabouts): Ruling | undefined {
  if (/READONLY/.test(text))
    return [
      "STORE_UNREACHABLE",
      `${place} is a replica, which cannot be written to. Point the URL to the primary, unless it is just being promoted. It is tried again.`,
      true,
    ];
  if (/MOVED |\bASK \d|CLUSTERDOWN|cluster support/i.test(text))
    return [
      "STORE_UNSUPPORTED",
      `${place} belongs to a Redis Cluster (${text}). Use a server that stands by itself; docs/stores/redis.md says why.`,
      false,
    ];
  if (/^(?:LOADING|BUSY|TRYAGAIN|MASTERDOWN|NOREPLICAS|MISCONF|BUSYKEY)\b/.test(text))
    return ["STORE_UNREACHABLE", `${place} takes no writes now (${text}). It is tried again.`, true];
  if (/unknown command|Unknown Redis command|This Redis command is not allowed from script/i.test(text))
    return ["STORE_UNSUPPORTED", `${place} cannot do that (${text}). Redis 6 or newer, or Valkey, is needed.`, false];
  if (/max number of clients/i.test(text))
    return [
      "STORE_UNREACHABLE",
      `${place} takes no more connections (${text}). Raise maxclients. It is tried again.`,
      true,
    ];
  return undefined;
}
