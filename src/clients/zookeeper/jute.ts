// Jute, the encoding of ZooKeeper's messages: big-endian numbers, texts and bytes with their length before them, −1 for none, and vectors with their count. Only the parts that a client needs are here.
// Reads are strict: a value that runs past the end of its message, or has a negative length, is an error and never a guess.
//
// INVARIANT  a reader allocates no more than the message has bytes: every count is compared with the bytes that are left before anything is made of it
import { ZooKeeperError } from "./errors.ts";

export class JuteWriter {
  readonly #parts: Buffer[] = [];

  int(value: number): this {
    const part = Buffer.allocUnsafe(4);
    part.writeInt32BE(value);
    return this.#add(part);
  }

  long(value: bigint): this {
    const part = Buffer.allocUnsafe(8);
    part.writeBigInt64BE(value);
    return this.#add(part);
  }

  bool(value: boolean): this {
    return this.#add(Buffer.of(value ? 1 : 0));
  }

  bytes(value: Uint8Array): this {
    this.int(value.byteLength);
    return this.#add(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value, "utf8"));
  }

  vector<T>(items: readonly T[], write: (item: T) => void): this {
    this.int(items.length);
    for (const item of items) write(item);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(part: Buffer): this {
    this.#parts.push(part);
    return this;
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
    return this.bytes().toString("utf8");
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
