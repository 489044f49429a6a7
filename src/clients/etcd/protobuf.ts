// Protocol buffers, as far as etcd's messages need them: varints and length-prefixed bytes. They are written by hand because ten messages with plain fields do not need a compiler, a schema at run time,
// or a dependency (docs/adr/0009-etcd-without-a-client-library.md).
//
// Numbers are int64 unless said otherwise, so they come back as bigint. A field that a message does not carry reads as zero, as proto3 has it.
//
// Received bytes may be anything: every loop ends with the bytes, and the number of fields is bounded by `FIELDS_MAX`, over a message and all messages inside it. Bytes that are no message are refused
// with a RangeError, and with nothing else.

export type Field = readonly [number: number, value: FieldValue];
/** An array of fields is a message inside this one. */
type FieldValue = Uint8Array | string | bigint | number | boolean | readonly Field[] | undefined;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/**
 * Fields with no value, false or zero are left out: that is how proto3 writes them. An empty nested message is written. The buffer is filled from the end to the beginning: a message inside is preceded
 * by its length, which is known when the message has been written. So a transaction of hundreds of messages is one buffer, and nothing is copied.
 */
export function encode(fields: readonly Field[]): Buffer {
  const buffer = Buffer.allocUnsafe(lengthOf(fields));
  writeBefore(buffer, buffer.length, fields);
  return buffer;
}

function isLeftOut(value: FieldValue): value is undefined | false {
  return value === undefined || value === false || value === 0 || value === 0n || value === "";
}

function lengthOf(fields: readonly Field[]): number {
  let length = 0;
  for (const [number, value] of fields) length += sizeOf(number, value);
  return length;
}

function sizeOf(number: number, value: FieldValue): number {
  if (isLeftOut(value)) return 0;
  const tag = varintSize(number << 3);
  if (typeof value !== "object" && typeof value !== "string") return tag + varintSize(value === true ? 1 : value);
  const length = contentLength(value);
  return tag + varintSize(length) + length;
}

function contentLength(value: Uint8Array | string | readonly Field[]): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  return isBytes(value) ? value.length : lengthOf(value);
}

function isBytes(value: Uint8Array | readonly Field[]): value is Uint8Array {
  return value instanceof Uint8Array;
}

/** Writes the fields so that they end at `end`; returns where they begin. */
function writeBefore(buffer: Buffer, end: number, fields: readonly Field[]): number {
  let at = end;
  for (let index = fields.length - 1; index >= 0; index--) {
    const field = fields[index];
    if (field !== undefined && !isLeftOut(field[1])) at = writeField(buffer, at, field[0], field[1]);
  }
  return at;
}

function writeField(
  buffer: Buffer,
  end: number,
  number: number,
  value: Exclude<FieldValue, undefined | false>,
): number {
  if (typeof value !== "object" && typeof value !== "string")
    return varintBefore(buffer, varintBefore(buffer, end, value === true ? 1 : value), (number << 3) | VARINT);
  const start = writeContent(buffer, end, value);
  return varintBefore(buffer, varintBefore(buffer, start, end - start), (number << 3) | BYTES);
}

function writeContent(buffer: Buffer, end: number, value: Uint8Array | string | readonly Field[]): number {
  if (typeof value === "string") {
    const start = end - Buffer.byteLength(value);
    buffer.write(value, start);
    return start;
  }
  if (!isBytes(value)) return writeBefore(buffer, end, value);
  buffer.set(value, end - value.length);
  return end - value.length;
}

function varintBefore(buffer: Buffer, end: number, value: bigint | number): number {
  const start = end - varintSize(value);
  writeVarint(buffer, start, value);
  return start;
}

/** A varint has seven bits in each byte. A negative int64 is written as its two's complement, in ten bytes. */
function varintSize(value: bigint | number): number {
  let size = 1;
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
    for (let rest = Number(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
    return size;
  }
  for (let rest = BigInt.asUintN(64, BigInt(value)); rest >= 0x80n; rest >>= 7n) size++;
  return size;
}

function writeVarint(buffer: Buffer, start: number, value: bigint | number): void {
  let at = start;
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
    let rest = Number(value);
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) buffer[at++] = (rest % 0x80) | 0x80;
    buffer[at] = rest;
    return;
  }
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 0x80n; rest >>= 7n) buffer[at++] = Number(rest & 0x7fn) | 0x80;
  buffer[at] = Number(rest);
}

/** Each field costs about a hundred bytes of memory here, and may be two bytes on the wire. An answer of etcd with 100,000 keys has 600,000 fields. */
export const FIELDS_MAX = 1_000_000;
/** The limit for messages inside messages: a transaction's answer has four such levels, and one more for each transaction inside. */
const DEPTH_MAX = 32;
const TAG_END = 2 ** 32;

/** The number of fields that may still be read. A message and all messages inside it share it. */
interface Budget {
  fields: number;
}

/** A message that was received. The constructor throws on bytes that are no message. */
export class ProtobufMessage {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Buffer[]>();
  readonly #budget: Budget;
  readonly #depth: number;

  constructor(buffer: Buffer, budget: Budget = { fields: FIELDS_MAX }, depth = 0) {
    this.#budget = budget;
    this.#depth = depth;
    if (depth > DEPTH_MAX) throw new RangeError(`messages inside each other, more than ${DEPTH_MAX} deep`);
    const reader = new Reader(buffer);
    while (!reader.atEnd) this.#readField(reader);
  }

  #readField(reader: Reader): void {
    this.#budget.fields -= 1;
    if (this.#budget.fields < 0) throw new RangeError(`a message of more than ${FIELDS_MAX} fields`);
    const tag = Number(reader.varint());
    const number = Math.floor(tag / 8);
    if (tag >= TAG_END || number === 0) throw new RangeError("a field without a number is not protocol buffers");
    switch (tag & 7) {
      case VARINT:
        return void this.#numbers.set(number, reader.varint());
      case BYTES: {
        const value = reader.bytes(Number(reader.varint()));
        const present = this.#bytes.get(number);
        if (present === undefined) this.#bytes.set(number, [value]);
        else present.push(value);
        return undefined;
      }
      case FIXED64:
        return void reader.bytes(8);
      case FIXED32:
        return void reader.bytes(4);
      default:
        throw new RangeError(`a field of wire type ${tag & 7} is not protocol buffers`);
    }
  }

  int64(number: number): bigint {
    return BigInt.asIntN(64, this.#numbers.get(number) ?? 0n);
  }

  uint64(number: number): bigint {
    return this.#numbers.get(number) ?? 0n;
  }

  flag(number: number): boolean {
    return (this.#numbers.get(number) ?? 0n) !== 0n;
  }

  bytes(number: number): Buffer {
    return this.#bytes.get(number)?.at(-1) ?? Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString("utf8");
  }

  has(number: number): boolean {
    return this.#bytes.has(number);
  }

  message(number: number): ProtobufMessage {
    return this.#inside(this.bytes(number));
  }

  allBytes(number: number): readonly Buffer[] {
    return this.#bytes.get(number) ?? [];
  }

  all(number: number): readonly ProtobufMessage[] {
    return this.allBytes(number).map((buffer) => this.#inside(buffer));
  }

  #inside(buffer: Buffer): ProtobufMessage {
    return new ProtobufMessage(buffer, this.#budget, this.#depth + 1);
  }
}

const NUMBER_END = 2n ** 64n;

class Reader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  get atEnd(): boolean {
    return this.#at >= this.#buffer.length;
  }

  varint(): bigint {
    let small = 0;
    // Numbers below 2⁴⁹ are read without a bigint on the way.
    for (let count = 0, factor = 1; count < 7; count++, factor *= 0x80) {
      const byte = this.#byte();
      small += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(small);
    }
    let value = BigInt(small);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80 && value < NUMBER_END) return value;
    }
    throw new RangeError("a number of more than 64 bits is not protocol buffers");
  }

  bytes(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#buffer.length) throw new RangeError("a message that ends in the middle of a field");
    const bytes = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  #byte(): number {
    const byte = this.#buffer[this.#at++];
    if (byte === undefined) throw new RangeError("a message that ends in the middle of a number");
    return byte;
  }
}
