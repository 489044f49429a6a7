// The head of an answer of HTTP/1.1: its status, and the headers by which its end is found. Every line is checked, and what is not as RFC 9112 has it is refused, never repaired: two readers that repair a
// head differently see different answers in the same bytes, and then an answer can be taken for that of another request.
import { malformed } from "./errors.ts";

/** How the end of the body is found. "close": the server closes the connection after it. */
export type BodyEnd = number | "chunked" | "close";

export interface AnswerHead {
  readonly status: number;
  readonly end: BodyEnd;
  /** The connection serves no other request after this one. */
  readonly closes: boolean;
  readonly retryAfter: string | undefined;
  /** How long the server keeps an idle connection, in seconds, if it says so. */
  readonly keepsSeconds: number | undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** No space stands before the colon, and no line goes on in the next: both have been read in two ways. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
/** JavaScript counts every number up to here exactly. */
const LENGTH = /^\d{1,15}$/;

/** Headers that say something about the connection or the end of the body. */
interface Framing {
  length: string | undefined;
  coding: string | undefined;
  connection: string;
  keepAlive: string;
  retryAfter: string | undefined;
}

/** `text`: the head in latin1, without the empty line at its end. Throws a malformed HttpError. */
export function readHead(text: string): AnswerHead {
  const lines = text.split("\r\n");
  const [, minor, digits] = STATUS_LINE.exec(lines[0] ?? "") ?? [];
  if (digits === undefined) throw malformed(`an answer begins with ${shown(lines[0] ?? "")}, and not with HTTP/1.1`);
  const status = Number(digits);
  const framing = readHeaders(lines);
  const end = bodyEnd(status, minor === "0", framing);
  const isLast = minor === "0" || end === "close" || /(?:^|[ \t,])close(?:[ \t,]|$)/i.test(framing.connection);
  const [, seconds] = /(?:^|[ \t,])timeout=(\d{1,6})(?:[ \t,]|$)/i.exec(framing.keepAlive) ?? [];
  const keepsSeconds = seconds === undefined ? undefined : Number(seconds);
  return { status, end, closes: isLast, retryAfter: framing.retryAfter, keepsSeconds };
}

/** Checks the lines of a trailer as it does those of a head. What they say is not used. */
export function checkTrailers(text: string): void {
  for (const line of text.split("\r\n")) parts(line);
}

function readHeaders(lines: readonly string[]): Framing {
  const framing: Framing = {
    length: undefined,
    coding: undefined,
    connection: "",
    keepAlive: "",
    retryAfter: undefined,
  };
  for (let at = 1; at < lines.length; at++) {
    const [, name = "", value = ""] = parts(lines[at] as string);
    // The length is compared first, because most headers are none of these.
    if (name.length === 14 && name.toLowerCase() === "content-length")
      framing.length = once(name, framing.length, value);
    else if (name.length === 17 && name.toLowerCase() === "transfer-encoding")
      framing.coding = once(name, framing.coding, value);
    else if (name.length === 10) noteConnection(framing, name.toLowerCase(), value);
    else if (name.length === 11 && name.toLowerCase() === "retry-after") framing.retryAfter = value.trim();
  }
  return framing;
}

function noteConnection(framing: Framing, name: string, value: string): void {
  if (name === "connection") framing.connection += `,${value}`;
  else if (name === "keep-alive") framing.keepAlive = value;
}

function parts(line: string): RegExpExecArray {
  const found = HEADER_LINE.exec(line);
  if (found === null) throw malformed(`an answer has a line that is no header: ${shown(line)}`);
  return found;
}

/** Of two lengths, one is wrong, and nobody can say which. */
function once(name: string, before: string | undefined, value: string): string {
  if (before !== undefined) throw malformed(`an answer has two headers ${name}`);
  return value.replace(/[ \t]+$/, "");
}

/**
 * ARGUMENT that no body is cut or joined wrongly: exactly one header says where it ends, in one form. Both headers at once, a coding other than chunked, or a length that is not plain decimal digits is
 * refused; and without either header, only the end of the connection ends the body, which then serves no other request.
 */
function bodyEnd(status: number, isOld: boolean, { length, coding }: Framing): BodyEnd {
  if (length !== undefined && !LENGTH.test(length)) throw malformed(`an answer has the length ${shown(length)}`);
  if (coding !== undefined) {
    if (length !== undefined) throw malformed("an answer has a length and a transfer coding");
    if (isOld || coding.toLowerCase() !== "chunked") throw malformed(`an answer has the coding ${shown(coding)}`);
  }
  // These have no body, whatever their headers say.
  if (status < 200 || status === 204 || status === 304) return 0;
  if (coding !== undefined) return "chunked";
  return length === undefined ? "close" : Number(length);
}

/** What a server has sent may be anything: it is shown in part, and escaped. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}
