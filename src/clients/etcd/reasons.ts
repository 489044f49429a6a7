// Why a connection could not be opened, said so that somebody can act on it. Most first tries fail at TLS, and Node's own words for that are riddles.
import type { Endpoint, EtcdTls } from "./address.ts";
import { EtcdError } from "./errors.ts";

export function nameOf({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `tls`: it will not go away by itself. A connection that was merely closed may have met a server that was just stopping; that is only unreachable. */
export function connectionError(endpoint: Endpoint, tls: EtcdTls | undefined, cause: unknown): EtcdError {
  if (cause instanceof EtcdError) return cause;
  const code = codeOf(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  const lasting = tls === undefined ? undefined : secureReason(code, text, tls);
  if (lasting !== undefined) return new EtcdError("tls", "not-applied", `${nameOf(endpoint)} ${lasting}`, cause);
  const isClosed = code === "ECONNRESET" || text === "closed" || code.startsWith("ERR_HTTP2");
  const what =
    REASONS[code] ??
    (isClosed ? closedReason(tls) : isAbort(cause) ? "did not answer in time" : `could not be reached (${text})`);
  return new EtcdError("unreachable", "not-applied", `${nameOf(endpoint)} ${what}`, cause);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections: nothing listens there",
  ENOTFOUND: "is not a name that can be found",
  EAI_AGAIN: "is a name that cannot be looked up now",
  ETIMEDOUT: "did not answer",
  EHOSTUNREACH: "is on no route",
  ENETUNREACH: "is on no route",
};

function closedReason(tls: EtcdTls | undefined): string {
  return tls === undefined
    ? "closed the connection at once: it is stopping, or it expects TLS (then write etcds://)"
    : "closed the connection at once: it is stopping, or it does not speak TLS (then write etcd://)";
}

function secureReason(code: string, text: string, tls: EtcdTls): string | undefined {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return "does not speak TLS: write etcd://, or give etcd --cert-file and --key-file";
  if (/^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:VERIFY|GET_ISSUER))/.test(code))
    return `shows a certificate that cannot be verified (${code}): pass the authority that signed it, as ?ca=FILE in the URL`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `shows a certificate of another name (${text}): pass the name it has, as ?servername=NAME in the URL`;
  if (code === "CERT_HAS_EXPIRED") return "shows a certificate that has expired: renew it there";
  if (/ALERT|HANDSHAKE/.test(code))
    return tls.cert === undefined
      ? "ended the TLS handshake: if it asks for client certificates, pass one, as ?cert=FILE&key=FILE in the URL"
      : "does not accept the client certificate: is it signed by etcd's --trusted-ca-file?";
  return undefined;
}

/** What to do about a refusal of rights. `keys`: what the keys begin with that we wanted; `alone`: a key that is wanted beside them, and none that begins with it. */
export function deniedReason(message: string, keys: string, alone?: string): string {
  if (message.includes("invalid user ID or password"))
    return `${message}. Correct user and password in the URL: etcd://user:password@host:2379`;
  if (message.includes("user name is empty"))
    return `${message}: this etcd asks who we are. Put user and password into the URL: etcd://user:password@host:2379`;
  if (!message.includes("permission denied")) return message;
  const grant = "etcdctl role grant-permission ROLE readwrite";
  const below = `${message}. The user needs reading and writing below ${keys}`;
  if (alone === undefined) return `${below}: ${grant} --prefix=true '${keys}'`;
  return `${below} and of ${alone}: ${grant} --prefix=true '${keys}' && ${grant} '${alone}'`;
}

function codeOf(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

function isAbort(cause: unknown): boolean {
  const name = (cause as { readonly name?: unknown } | undefined)?.name;
  return name === "AbortError" || name === "TimeoutError";
}
