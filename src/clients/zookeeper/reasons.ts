// Why a connection could not be opened, said so that somebody can act on it.
import type { Endpoint, ZooKeeperTls } from "./address.ts";
import { ZooKeeperError } from "./errors.ts";

export function nameOf({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `tls`: it will not go away by itself. A connection that was merely closed may have met a server that was just stopping; that is only unreachable. */
export function connectionError(endpoint: Endpoint, tls: ZooKeeperTls | undefined, cause: unknown): ZooKeeperError {
  if (cause instanceof ZooKeeperError) return cause;
  const code = codeOf(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  const lasting = tls === undefined ? undefined : secureReason(code, text, tls);
  if (lasting !== undefined) return new ZooKeeperError("tls", "not-applied", `${nameOf(endpoint)} ${lasting}`, cause);
  const isClosed = code === "ECONNRESET" || text === "closed";
  const what = REASONS[code] ?? (isClosed ? closedReason(tls) : `could not be reached (${text})`);
  return new ZooKeeperError("unreachable", "not-applied", `${nameOf(endpoint)} ${what}`, cause);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections: nothing listens there",
  ENOTFOUND: "is not a name that can be found",
  EAI_AGAIN: "is a name that cannot be looked up now",
  ETIMEDOUT: "did not answer",
  EHOSTUNREACH: "is on no route",
  ENETUNREACH: "is on no route",
};

function closedReason(tls: ZooKeeperTls | undefined): string {
  return tls === undefined
    ? "closed the connection at once: it has no majority, it is stopping, or it expects TLS (then write zookeepers://)"
    : "closed the connection at once: it has no majority, it is stopping, or it does not speak TLS (then write zookeeper://)";
}

function secureReason(code: string, text: string, tls: ZooKeeperTls): string | undefined {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return "does not speak TLS: write zookeeper://, or give it a secureClientPort";
  if (/^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:VERIFY|GET_ISSUER))/.test(code))
    return `shows a certificate that cannot be verified (${code}): pass the authority that signed it, as ?ca=FILE in the URL`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `shows a certificate of another name (${text}): pass the name it has, as ?servername=NAME in the URL`;
  if (code === "CERT_HAS_EXPIRED") return "shows a certificate that has expired: renew it there";
  if (/ALERT|HANDSHAKE/.test(code))
    return tls.cert === undefined
      ? "ended the TLS handshake: if it asks for client certificates, pass one, as ?cert=FILE&key=FILE in the URL"
      : "does not accept the client certificate: is it signed by an authority in ZooKeeper's trust store?";
  return undefined;
}

function codeOf(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}
