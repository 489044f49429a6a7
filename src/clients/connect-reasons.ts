// For every client that opens its own connections: the reason why one could not be opened, in words that somebody can act on. Most first tries fail at TLS, and Node's own messages for that are hard to
// understand.
import type { TlsSettings } from "./url-parts.ts";

/** The words that differ from server to server. Those that are not whole words are ends of a sentence that begins with the name of the place. */
export interface ConnectWords {
  /** The scheme of the URL without TLS; with TLS it has an s at its end. */
  readonly scheme: string;
  /** The server's own reasons for closing a connection at once, such as "it is stopping". */
  readonly closes: (tls: TlsSettings | undefined) => string;
  /** What an administrator does to make the server speak TLS. */
  readonly makeItSpeakTls: string;
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
  if (wasClosed(cause)) return { isLasting: false, text: closedText(tls, words) };
  return { isLasting: false, text: isAbort(cause) ? "did not answer in time" : unreachedText(code, said) };
}

function closedText(tls: TlsSettings | undefined, { scheme, closes }: ConnectWords): string {
  const aboutTls =
    tls === undefined ? `it expects TLS (then write ${scheme}s://)` : `it does not speak TLS (then write ${scheme}://)`;
  return `closed the connection at once: ${closes(tls)}, another kind of server listens there, or ${aboutTls}`;
}

/** The server was there, and closed the connection without a word. */
export function wasClosed(cause: unknown): boolean {
  const code = codeOf(cause);
  return (
    code === "ECONNRESET" ||
    code === "EPIPE" ||
    code.startsWith("ERR_HTTP2") ||
    (cause instanceof Error && cause.message === "closed")
  );
}

/** The keys are Node's error codes. */
const WHY_UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "its host is not a name that can be found",
  EAI_AGAIN: "its host is a name that cannot be looked up now",
  ETIMEDOUT: "it did not answer",
  EHOSTUNREACH: "no route leads there",
  ENETUNREACH: "no route leads there",
};

function isUnreached(code: string): boolean {
  return Object.hasOwn(WHY_UNREACHED, code);
}

/** For all stores: the end of a sentence that begins with the name of a place to which no connection came about. `said`: the words of the error, which are shown if its code is unknown here. */
export function unreachedText(code: string, said: string): string {
  return isUnreached(code)
    ? `cannot be reached (${code}): ${WHY_UNREACHED[code]}`
    : `cannot be reached (${said || code})`;
}

/** For all stores: what to look at if no connection came about. */
function unreachedAdvice(code: string): string {
  return code === "ENOTFOUND"
    ? "Is it spelled right, and can it be resolved from here?"
    : "Is it running, and is the address right?";
}

/** For all stores: the whole message about a place to which no connection came about. */
export function unreachedMessage(place: string, code: string, said: string): string {
  return `${place} ${unreachedText(code, said)}. ${unreachedAdvice(code)}`;
}

/** For all stores: the message of a refusal with what happened, what to look at if no connection came about, and what comes next. */
export function refusalText({ message, cause }: Error, next: string): string {
  const code = codeOf(cause);
  const advice = isUnreached(code) ? unreachedAdvice(code) : "";
  return [`${message}.`, advice, next].filter((text) => text !== "").join(" ");
}

function secureReason(
  code: string,
  said: string,
  tls: TlsSettings,
  { scheme, makeItSpeakTls, refusesCertificate }: ConnectWords,
): string | undefined {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return `does not speak TLS: write ${scheme}://, or ${makeItSpeakTls}`;
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
