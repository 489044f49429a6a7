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

/** Takes pieces of a stream, and gives whole values. Throws a RangeError on bytes that are no RESP, or on a value that is too large. */
export class RespReader {
  #bytes: Buffer = Buffer.alloc(0);

  push(piece: Buffer): readonly Reply[] {
    this.#bytes = this.#bytes.length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    if (this.#bytes.length > BYTES_MAX) throw new RangeError(`more than ${BYTES_MAX} bytes without an end`);
    const found: Reply[] = [];
    for (;;) {
      const read = readAt(this.#bytes, 0, 0);
      if (read === undefined) return found;
      found.push(read.value);
      this.#bytes = this.#bytes.subarray(read.end);
    }
  }
}

interface Read {
  readonly value: Reply;
  readonly end: number;
}

/** Undefined: the value is not complete yet. */
function readAt(bytes: Buffer, from: number, depth: number): Read | undefined {
  const lineEnd = bytes.indexOf("\r\n", from);
  if (lineEnd < 0) {
    if (bytes.length - from > LINE_MAX) throw new RangeError("a line without an end");
    return undefined;
  }
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
      return readBulk(bytes, wholeOf(line), end);
    case "*":
      return readArray(bytes, wholeOf(line), end, depth);
    default:
      throw new RangeError(`${JSON.stringify(type)} begins no value of RESP 2`);
  }
}

function readBulk(bytes: Buffer, length: number, from: number): Read | undefined {
  if (length === -1) return { value: null, end: from };
  if (length < 0 || length > BYTES_MAX) throw new RangeError(`a text of ${length} bytes`);
  if (bytes.length < from + length + 2) return undefined;
  return { value: bytes.toString("utf8", from, from + length), end: from + length + 2 };
}

function readArray(bytes: Buffer, length: number, from: number, depth: number): Read | undefined {
  if (length === -1) return { value: null, end: from };
  if (length < 0 || length > ITEMS_MAX || depth >= DEPTH_MAX)
    throw new RangeError(`an array of ${length}, ${depth} deep`);
  const value: Reply[] = [];
  let end = from;
  for (let index = 0; index < length; index++) {
    const read = readAt(bytes, end, depth + 1);
    if (read === undefined) return undefined;
    value.push(read.value);
    ({ end } = read);
  }
  return { value, end };
}

function wholeOf(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new RangeError(`${JSON.stringify(text)} is no whole number`);
  return Number(text);
}
