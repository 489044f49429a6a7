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
const HEADER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;
/** Spaces around a value are no part of it. */
const AROUND = /^[ \t]+|[ \t]+$/g;
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
  for (const line of text.split("\r\n")) mustBeHeader(line);
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
    const line = lines[at] as string;
    mustBeHeader(line);
    const colon = line.indexOf(":");
    // Most headers are none of these, and are known by the lengths of their names.
    if (colon === 10 || colon === 11 || colon === 14 || colon === 17)
      note(framing, line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(AROUND, ""));
  }
  return framing;
}

function note(framing: Framing, name: string, value: string): void {
  if (name === "content-length") framing.length = once(name, framing.length, value);
  else if (name === "transfer-encoding") framing.coding = once(name, framing.coding, value);
  else if (name === "connection") framing.connection += `,${value}`;
  else if (name === "keep-alive") framing.keepAlive = value;
  else if (name === "retry-after") framing.retryAfter = value;
}

function mustBeHeader(line: string): void {
  if (!HEADER_LINE.test(line)) throw malformed(`an answer has a line that is no header: ${shown(line)}`);
}

/** Of two lengths, one is wrong, and nobody can say which. */
function once(name: string, before: string | undefined, value: string): string {
  if (before !== undefined) throw malformed(`an answer has two headers ${name}`);
  return value;
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
