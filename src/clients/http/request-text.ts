// A request of HTTP/1.1 as one text, head and body, so that it leaves in one write. Nothing is escaped here: what does not belong into a request line or a header is refused, so that no value can end its
// line and add a header, or a second request.
import { HttpError } from "./errors.ts";

/** A path with its query, as it stands in a URL: no space, no line end, nothing beyond ASCII. */
const PATH = /^\/[\x21-\x7e]*$/;
const METHOD = /^[A-Z]+$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** No control character: a line end among them would begin another header. */
const VALUE = /^[\x20-\x7e]*$/;

export type HttpHeader = readonly [name: string, value: string];

/** As it is written to a socket. */
export interface RequestText {
  readonly text: string;
  /** latin1 is written faster, and is the same for a text of ASCII only. */
  readonly encoding: "latin1" | "utf8";
}

/** The lines of these headers. They are the same for many requests, so that they are checked once. */
export function headerLines(headers: readonly HttpHeader[]): string {
  let lines = "";
  for (const [name, value] of headers) {
    // The value may be a password, so that it is not shown.
    if (!NAME.test(name) || !VALUE.test(value))
      throw new HttpError("unsendable", `the header ${JSON.stringify(name)} has a character that HTTP does not allow`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** `lines` are those of `headerLines`. A body is JSON. */
export function requestText(method: string, path: string, lines: string, body: string | undefined): RequestText {
  if (!METHOD.test(method)) throw new HttpError("unsendable", `${JSON.stringify(method)} is no method of HTTP`);
  if (!PATH.test(path)) throw new HttpError("unsendable", `the path ${JSON.stringify(path)} cannot be asked for`);
  const head = `${method} ${path} HTTP/1.1\r\n${lines}`;
  if (body === undefined) return { text: `${head}\r\n`, encoding: "latin1" };
  const length = Buffer.byteLength(body);
  const text = `${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
  return { text, encoding: length === body.length ? "latin1" : "utf8" };
}
