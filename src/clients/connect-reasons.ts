// For every client that opens its own connections: the reason why one could not be opened, in words that somebody can act on. Most first tries fail at TLS, and Node's own messages for that are hard to
// understand.
import type { TlsSettings } from "./url-parts.ts";

/** The words that differ from server to server. Each is the end of a sentence that begins with the server's name. */
export interface ConnectWords {
  /** The server closed a connection at once; it may have been stopping. */
  readonly closed: (tls: TlsSettings | undefined) => string;
  readonly speaksNoTls: string;
  readonly refusesCertificate: string;
}

/** `isLasting`: the problem will not go away by itself. A connection that was merely closed may have met a server that was just stopping, and that passes. */
export interface ConnectReason {
  readonly isLasting: boolean;
  readonly text: string;
}

export function connectReason(cause: unknown, tls: TlsSettings | undefined, words: ConnectWords): ConnectReason {
  const code = codeOf(cause);
  const said = cause instanceof Error ? cause.message : String(cause);
  const lasting = tls === undefined ? undefined : secureReason(code, said, tls, words);
  if (lasting !== undefined) return { isLasting: true, text: lasting };
  const passing = wasClosed(cause)
    ? words.closed(tls)
    : isAbort(cause)
      ? "did not answer in time"
      : `could not be reached (${said})`;
  return { isLasting: false, text: UNREACHED[code] ?? passing };
}

/** The server was there, and closed the connection without a word. */
export function wasClosed(cause: unknown): boolean {
  const code = codeOf(cause);
  return (
    code === "ECONNRESET" || code === "EPIPE" || code.startsWith("ERR_HTTP2") || (cause instanceof Error && cause.message === "closed")
  );
}

/** The keys are Node's error codes. */
export const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses connections: nothing listens there",
  ENOTFOUND: "is not a name that can be found",
  EAI_AGAIN: "is a name that cannot be looked up now",
  ETIMEDOUT: "did not answer",
  EHOSTUNREACH: "is on no route",
  ENETUNREACH: "is on no route",
};

function secureReason(
  code: string,
  said: string,
  tls: TlsSettings,
  { speaksNoTls, refusesCertificate }: ConnectWords,
): string | undefined {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code)) return `does not speak TLS: ${speaksNoTls}`;
  if (/^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:VERIFY|GET_ISSUER))/.test(code))
    return `shows a certificate that cannot be verified (${code}): pass the authority that signed it, as ?ca=FILE in the URL`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `shows a certificate of another name (${said}): pass the name it has, as ?servername=NAME in the URL`;
  if (code === "CERT_HAS_EXPIRED") return "shows a certificate that has expired: renew it there";
  if (/ALERT|HANDSHAKE/.test(code))
    return tls.cert === undefined
      ? "ended the TLS handshake: if it asks for client certificates, pass one, as ?cert=FILE&key=FILE in the URL"
      : `does not accept the client certificate: ${refusesCertificate}`;
  return undefined;
}

function codeOf(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

function isAbort(cause: unknown): boolean {
  const name = (cause as { readonly name?: unknown } | undefined)?.name;
  return name === "AbortError" || name === "TimeoutError";
}
