// Protocol buffers, as far as etcd's messages need them: varints and length-prefixed bytes. Written by hand because ten messages with plain fields do
// not need a compiler, a schema at run time, or a dependency (docs/adr/0009-etcd-without-a-client-library.md).
//
// Numbers are int64 unless said otherwise, so they come back as bigint. What a message does not carry reads as zero, as proto3 has it.

export type Field = readonly [number: number, value: FieldValue];
type FieldValue = Uint8Array | string | bigint | number | boolean | undefined;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Fields with no value, false or zero are left out: that is how proto3 writes them. An empty nested message is written. */
export function encode(fields: readonly Field[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (value === undefined || value === false || value === 0 || value === 0n || value === "") continue;
    if (typeof value === "object") parts.push(varint((number << 3) | BYTES), varint(value.length), value);
    else if (typeof value === "string") {
      const text = Buffer.from(value);
      parts.push(varint((number << 3) | BYTES), varint(text.length), text);
    } else parts.push(varint((number << 3) | VARINT), varint(value === true ? 1 : value));
  }
  return Buffer.concat(parts);
}

function varint(value: bigint | number): Uint8Array {
  if (typeof value === "number" && value >= 0 && value < 0x80) return Uint8Array.of(value);
  const bytes: number[] = [];
  // A negative int64 is written as its two's complement.
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 0x80n) return Uint8Array.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}

/** A message that was received. Throws on bytes that are none. */
export class Message {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Buffer[]>();

  constructor(buffer: Buffer) {
    const reader = new Reader(buffer);
    while (!reader.atEnd) this.#readField(reader);
  }

  #readField(reader: Reader): void {
    const tag = Number(reader.varint());
    const number = tag >>> 3;
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

  message(number: number): Message {
    return new Message(this.bytes(number));
  }

  allBytes(number: number): readonly Buffer[] {
    return this.#bytes.get(number) ?? [];
  }

  all(number: number): readonly Message[] {
    return this.allBytes(number).map((buffer) => new Message(buffer));
  }
}

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
    // Numbers below 2⁴⁹ without a bigint on the way.
    for (let count = 0, factor = 1; count < 7; count++, factor *= 0x80) {
      const byte = this.#byte();
      small += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(small);
    }
    let value = BigInt(small);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError("a number of more than ten bytes is not protocol buffers");
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
