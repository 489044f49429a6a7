// Jute, the encoding of ZooKeeper's messages: big-endian numbers, texts and bytes with their length before them, −1 for none, and vectors with their count. Only the parts that a client needs are here.
// Reads are strict: a value that runs past the end of its message, or has a negative length, is an error and never a guess.
//
// INVARIANT  a reader allocates no more than the message has bytes: every count is compared with the bytes that are left before anything is made of it
import { ZooKeeperError } from "./errors.ts";

/** Most requests are shorter. */
const FIRST_BYTES = 256;

export class JuteWriter {
  /** What is written stands before `#at`. */
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  int(value: number): this {
    const at = this.#take(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  long(value: bigint): this {
    const at = this.#take(8);
    this.#bytes.writeBigInt64BE(value, at);
    return this;
  }

  bool(value: boolean): this {
    const at = this.#take(1);
    this.#bytes[at] = value ? 1 : 0;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.int(value.byteLength);
    const at = this.#take(value.byteLength);
    this.#bytes.set(value, at);
    return this;
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.int(length);
    const at = this.#take(length);
    this.#bytes.write(value, at);
    return this;
  }

  vector<T>(items: readonly T[], write: (item: T) => void): this {
    this.int(items.length);
    for (const item of items) write(item);
    return this;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Returns where the next `length` bytes stand, and makes room for them: `#bytes` may be another buffer afterwards. */
  #take(length: number): number {
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) {
      const wider = Buffer.allocUnsafe(2 * this.#at);
      this.#bytes.copy(wider, 0, 0, at);
      this.#bytes = wider;
    }
    return at;
  }
}

export class JuteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(4));
  }

  long(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8));
  }

  bool(): boolean {
    return this.#bytes[this.#take(1)] !== 0;
  }

  /** Returns a view, not a copy. It is empty for a length of −1. */
  bytes(): Buffer {
    const length = this.int();
    if (length === -1) return Buffer.alloc(0);
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    const length = this.int();
    if (length === -1) return "";
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  /** Passes over what is not used here. */
  skip(length: number): void {
    this.#take(length);
  }

  /** `leastBytes`: no item is shorter, so that an impossible count is refused at once. */
  vector<T>(leastBytes: number, read: () => T): T[] {
    const count = this.int();
    if (count === -1) return [];
    if (count < 0 || count * leastBytes > this.left) throw malformed(`a vector of ${count} items`);
    const items: T[] = [];
    for (let index = 0; index < count; index++) items.push(read());
    return items;
  }

  #take(length: number): number {
    if (length < 0 || length > this.left) throw malformed(`${length} bytes where ${this.left} are left`);
    const at = this.#at;
    this.#at += length;
    return at;
  }
}

function malformed(what: string): ZooKeeperError {
  return new ZooKeeperError("malformed", "unknown", `the answer is not one of ZooKeeper: it announces ${what}`);
}
