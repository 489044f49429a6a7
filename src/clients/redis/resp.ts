// The protocol of Redis (RESP 2) as values: requests of a client, answers of a server, and how both are read from pieces of a stream. It is bounded: an answer that is longer, or deeper, than any that is
// asked for is an error, and the connection is given up.

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
  let text = `*${words.length}\r\n`;
  for (const word of words) text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
  return text;
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
  readonly #bytesMax: number;
  /** The arrays around the place where the reading stands, the outermost first. */
  readonly #open: OpenArray[] = [];
  #pieces: Buffer[] = [];
  #unreadBytes = 0;
  /** Nothing more can be read before so many bytes are there. */
  #neededBytes = 1;
  /** How much of the present value has been read. */
  #readBytes = 0;

  constructor(bytesMax: number = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** The bytes of the piece may be overwritten afterwards: what is needed later is copied. */
  push(piece: Buffer): readonly Reply[] {
    this.#unreadBytes += piece.length;
    const found = this.#unreadBytes < this.#neededBytes ? this.#later(piece) : this.#readOn(piece);
    if (this.#readBytes + this.#unreadBytes > this.#bytesMax)
      throw new RangeError(`more than ${this.#bytesMax} bytes without an end`);
    return found;
  }

  #later(piece: Buffer): Reply[] {
    this.#pieces.push(Buffer.from(piece));
    return [];
  }

  #readOn(piece: Buffer): Reply[] {
    const found: Reply[] = [];
    const bytes = this.#pieces.length === 0 ? piece : Buffer.concat([...this.#pieces, piece]);
    let at = 0;
    for (;;) {
      const part = partAt(bytes, at, this.#bytesMax);
      if (typeof part === "number") {
        this.#pieces = at < bytes.length ? [Buffer.from(bytes.subarray(at))] : [];
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
function partAt(bytes: Buffer, from: number, bytesMax: number): Part | number {
  const lineEnd = lineEndAt(bytes, from);
  const isTooLong = (lineEnd < 0 ? bytes.length : lineEnd) - from > LINE_MAX;
  if (isTooLong) throw new RangeError("a line without an end");
  if (lineEnd < 0) return bytes.length - from + 1;
  const end = lineEnd + 2;
  const type = String.fromCharCode(bytes[from] ?? 0);
  switch (type) {
    case "$":
      return bulkAt(bytes, from, end, wholeAt(bytes, from + 1, lineEnd), bytesMax);
    case "+":
      return { value: bytes.toString("utf8", from + 1, lineEnd), end };
    case "-":
      return { value: new ReplyError(bytes.toString("utf8", from + 1, lineEnd)), end };
    case ":":
      return { value: wholeAt(bytes, from + 1, lineEnd), end };
    case "*":
      return arrayAt(end, wholeAt(bytes, from + 1, lineEnd));
    default:
      throw new RangeError(`${JSON.stringify(type)} begins no value of RESP 2`);
  }
}

/** Less than 0: the end of the line has not come yet. */
function lineEndAt(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(CARRIAGE_RETURN, from); at >= 0; at = bytes.indexOf(CARRIAGE_RETURN, at + 1))
    if (bytes[at + 1] === LINE_FEED) return at;
  return -1;
}

function arrayAt(end: number, items: number): Part {
  return items === -1 ? { value: null, end } : { value: undefined, items, end };
}

function bulkAt(bytes: Buffer, from: number, begin: number, length: number, bytesMax: number): Part | number {
  if (length === -1) return { value: null, end: begin };
  if (length < 0 || length > bytesMax) throw new RangeError(`a text of ${length} bytes`);
  const end = begin + length + 2;
  if (bytes.length < end) return end - from;
  if (bytes[end - 2] !== CARRIAGE_RETURN || bytes[end - 1] !== LINE_FEED)
    throw new RangeError("a text that goes on after its end");
  return { value: bytes.toString("utf8", begin, begin + length), end };
}

const DIGITS_MAX = 15;
const [MINUS, ZERO, NINE] = [45, 48, 57];

/** A whole number that stands between these two places, with nothing beside it. */
function wholeAt(bytes: Buffer, from: number, to: number): number {
  const begin = bytes[from] === MINUS ? from + 1 : from;
  if (to <= begin || to - begin > DIGITS_MAX) throw noWholeNumber(bytes, from, to);
  let value = 0;
  for (let at = begin; at < to; at++) {
    const sign = bytes[at] as number;
    if (sign < ZERO || sign > NINE) throw noWholeNumber(bytes, from, to);
    value = value * 10 + (sign - ZERO);
  }
  return begin === from || value === 0 ? value : -value;
}

function noWholeNumber(bytes: Buffer, from: number, to: number): RangeError {
  return new RangeError(`${JSON.stringify(bytes.toString("utf8", from, Math.min(to, from + 40)))} is no whole number`);
}
