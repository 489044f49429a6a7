// The protocol of Redis (RESP 2) as values: requests of a client, answers of a server, and how both are read from pieces of a stream. It is bounded: an answer that is longer, or deeper, than any that is
// asked for here is an error, and the connection is given up.

export type Reply = string | number | null | ReplyError | readonly Reply[];

/** The server has answered with an error. */
export class ReplyError extends Error {
  override readonly name: string = "ReplyError";
}

/** A server that does not know a command repeats its arguments, and with AUTH and HELLO these are a password. */
export function withoutArguments(text: string): string {
  return text.replaceAll(/,? with args beginning with:.*/g, "");
}

const BYTES_MAX = 4 * 1024 * 1024;
const ITEMS_MAX = 100_000;
const DEPTH_MAX = 8;
const LINE_MAX = 64 * 1024;
const [CARRIAGE_RETURN, LINE_FEED] = [13, 10];

export function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}

/** Writes an answer as a server does. */
export function encodeReply(reply: Reply): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply instanceof ReplyError) return `-${reply.message}\r\n`;
  return `*${reply.length}\r\n${reply.map(encodeReply).join("")}`;
}

/** An array that has begun, and the items of it that have been read. */
interface OpenArray {
  readonly length: number;
  readonly items: Reply[];
}

/**
 * Takes pieces of a stream, and gives whole values. Throws a RangeError on bytes that are no RESP, or on a value that is too large. What was read is not read again when more comes, so that a peer which
 * sends a great value in small pieces costs no more than what it sends.
 */
export class RespReader {
  /** The arrays around the place where the reading stands, the outermost first. */
  readonly #open: OpenArray[] = [];
  #pieces: Buffer[] = [];
  #unreadBytes = 0;
  /** Nothing more can be read before so many bytes are there. */
  #neededBytes = 1;
  /** How much of the present value has been read. */
  #readBytes = 0;

  push(piece: Buffer): readonly Reply[] {
    this.#pieces.push(piece);
    this.#unreadBytes += piece.length;
    const found = this.#unreadBytes < this.#neededBytes ? [] : this.#readOn();
    if (this.#readBytes + this.#unreadBytes > BYTES_MAX)
      throw new RangeError(`more than ${BYTES_MAX} bytes without an end`);
    return found;
  }

  #readOn(): Reply[] {
    const found: Reply[] = [];
    const bytes = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
    let at = 0;
    for (;;) {
      const part = partAt(bytes, at);
      if (typeof part === "number") {
        this.#pieces = [bytes.subarray(at)];
        this.#unreadBytes = bytes.length - at;
        this.#neededBytes = part;
        return found;
      }
      this.#readBytes += part.end - at;
      at = part.end;
      const whole = part.value === undefined ? this.#begin(part.items) : this.#place(part.value);
      if (whole === undefined) continue;
      found.push(whole);
      this.#readBytes = 0;
    }
  }

  #begin(length: number): Reply | undefined {
    if (length < 0 || length > ITEMS_MAX || this.#open.length >= DEPTH_MAX)
      throw new RangeError(`an array of ${length}, ${this.#open.length} deep`);
    if (length === 0) return this.#place([]);
    this.#open.push({ length, items: [] });
    return undefined;
  }

  /** Puts a value into the array that it belongs to. Returns the outermost value as soon as it is whole. */
  #place(value: Reply): Reply | undefined {
    for (let whole = value; ;) {
      const array = this.#open.at(-1);
      if (array === undefined) return whole;
      array.items.push(whole);
      if (array.items.length < array.length) return undefined;
      whole = array.items;
      this.#open.pop();
    }
  }
}

/** A whole value, or the beginning of an array of so many items. */
type Part =
  | { readonly end: number; readonly value: Reply }
  | { readonly end: number; readonly value: undefined; readonly items: number };

/** A number: so many bytes are needed from `from` on. */
function partAt(bytes: Buffer, from: number): Part | number {
  const lineEnd = bytes.indexOf("\r\n", from);
  const isTooLong = (lineEnd < 0 ? bytes.length : lineEnd) - from > LINE_MAX;
  if (isTooLong) throw new RangeError("a line without an end");
  if (lineEnd < 0) return bytes.length - from + 1;
  const type = String.fromCharCode(bytes[from] ?? 0);
  const line = bytes.toString("utf8", from + 1, lineEnd);
  const end = lineEnd + 2;
  switch (type) {
    case "+":
      return { value: line, end };
    case "-":
      return { value: new ReplyError(line), end };
    case ":":
      return { value: wholeOf(line), end };
    case "$":
      return bulkAt(bytes, from, end, wholeOf(line));
    case "*":
      return line === "-1" ? { value: null, end } : { value: undefined, items: wholeOf(line), end };
    default:
      throw new RangeError(`${JSON.stringify(type)} begins no value of RESP 2`);
  }
}

function bulkAt(bytes: Buffer, from: number, begin: number, length: number): Part | number {
  if (length === -1) return { value: null, end: begin };
  if (length < 0 || length > BYTES_MAX) throw new RangeError(`a text of ${length} bytes`);
  const end = begin + length + 2;
  if (bytes.length < end) return end - from;
  if (bytes[end - 2] !== CARRIAGE_RETURN || bytes[end - 1] !== LINE_FEED)
    throw new RangeError("a text that goes on after its end");
  return { value: bytes.toString("utf8", begin, begin + length), end };
}

function wholeOf(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new RangeError(`${JSON.stringify(text)} is no whole number`);
  return Number(text);
}
