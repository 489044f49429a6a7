// Cuts the chunks of a stream into messages of gRPC. A message is a byte that says whether it is compressed (it never is: we do not ask for it), four bytes of length, and the content.
//
// Input from the wire is bounded. A length of four gigabytes is refused when it is read. A message in many chunks is gathered in one buffer that grows with the bytes that have come, so that chunks of
// one byte cost neither more memory nor more time than they carry. It throws on bytes that are no message; the stream is of no use after that.

/** No answer to a request of ours comes near this size: a value has at most 1.5 MB, and ranges have limits. */
export const MESSAGE_MAX: number = 64 * 1024 * 1024;
const HEAD = 5;
const FIRST = 64 * 1024;

export class EtcdFrames {
  readonly #hear: (message: Buffer) => void;
  readonly #head: Buffer = Buffer.alloc(HEAD);
  #headFilled = 0;
  #message: Buffer = Buffer.alloc(0);
  #filled = 0;

  constructor(hear: (message: Buffer) => void) {
    this.#hear = hear;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) at = this.#takeWhole(chunk, at) ?? this.#takePart(chunk, at);
  }

  /** The usual case: all of a message is in this chunk, and nothing is copied. Returns where the next message begins. */
  #takeWhole(chunk: Buffer, at: number): number | undefined {
    const start = at + HEAD;
    if (this.#headFilled > 0 || chunk.length < start) return undefined;
    const end = start + lengthIn(chunk, at);
    if (chunk.length < end) return undefined;
    this.#hear(chunk.subarray(start, end));
    return end;
  }

  #takePart(chunk: Buffer, at: number): number {
    if (this.#headFilled < HEAD) {
      const copied = chunk.copy(this.#head, this.#headFilled, at);
      this.#headFilled += copied;
      if (this.#headFilled === HEAD && lengthIn(this.#head, 0) === 0) this.#gather(Buffer.alloc(0), 0);
      return at + copied;
    }
    const length = lengthIn(this.#head, 0);
    const taken = chunk.subarray(at, at + length - this.#filled);
    this.#gather(taken, length);
    return at + taken.length;
  }

  #gather(bytes: Buffer, length: number): void {
    const filled = this.#filled + bytes.length;
    if (filled > this.#message.length) {
      const grown = Buffer.allocUnsafe(Math.min(length, Math.max(FIRST, 2 * filled)));
      this.#message.copy(grown, 0, 0, this.#filled);
      this.#message = grown;
    }
    bytes.copy(this.#message, this.#filled);
    this.#filled = filled;
    if (filled < length) return;
    const message = this.#message.subarray(0, length);
    this.#message = Buffer.alloc(0);
    this.#filled = 0;
    this.#headFilled = 0;
    this.#hear(message);
  }
}

/** Returns the length of the message whose head begins at `at`. */
function lengthIn(head: Buffer, at: number): number {
  if (head[at] !== 0) throw new RangeError("a message that is compressed, which nobody asked for");
  const length = head.readUInt32BE(at + 1);
  if (length > MESSAGE_MAX) throw new RangeError(`a message of ${length} bytes`);
  return length;
}
