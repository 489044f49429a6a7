// The headers of HTTP/2 as bytes (HPACK, RFC 7541), without the table that a connection may build up while it goes on: this side says that its table has no room (connection.ts), and uses none of the
// server's. So a block of headers means the same wherever it stands, and none can be read wrongly because another one was.
import { readHuffman } from "./huffman.ts";

export type Fields = ReadonlyMap<string, string>;

/** Names and values that have a number (appendix A). Number 1 is first. */
const NUMBERED: readonly (readonly [name: string, value: string])[] = (
  ":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|:status=206|:status=304|:status=400|:status=404|:status=500|" +
  "accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|" +
  "content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|" +
  "if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|" +
  "strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
)
  .split("|")
  .map((entry) => {
    const equals = entry.indexOf("=");
    return equals < 0 ? [entry, ""] : [entry.slice(0, equals), entry.slice(equals + 1)];
  });

/** A literal whose value no proxy may remember either, because it may be a secret. */
const NEVER_INDEXED = 0x10;
const NUMBER_MAX = 1 << 28;

/** At the beginning of a block: nothing in it or after it refers to a table. */
export const NO_TABLE: Buffer = Buffer.of(0x20);

/** Names are in lower case. Every value is sent as it is, and is not to be kept in a table by anybody. */
export function writeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(NEVER_INDEXED), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([number(bytes.length, 7), bytes]);
}

/** A number whose first byte has only so many bits for it; the others are 0. */
function number(value: number, bits: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.of(value);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}

/** A longer block is hardly one that comes again and again. */
const REMEMBERED_LENGTH = 128;
const REMEMBERED_MAX = 16;

/** Reads blocks, and remembers the last few short ones: nearly every answer begins and ends with the same headers. */
export class FieldsReader {
  readonly #known = new Map<string, Fields>();

  /** Throws on bytes that are no block of headers. */
  read(block: Buffer): Fields {
    if (block.length > REMEMBERED_LENGTH) return readFields(block);
    const key = block.toString("latin1");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const fields = readFields(block);
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    this.#known.set(key, fields);
    return fields;
  }
}

/** Of a name that comes twice, the last value is kept. */
export function readFields(block: Buffer): Fields {
  const fields = new Map<string, string>();
  const reader = new BlockReader(block);
  while (!reader.isAtEnd) {
    const field = reader.next();
    if (field !== undefined) fields.set(field[0], field[1]);
  }
  return fields;
}

class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#block.length;
  }

  /** Undefined for an entry that is no field. */
  next(): readonly [name: string, value: string] | undefined {
    const head = this.#block[this.#at] ?? 0;
    if (head >= 0x80) return numbered(this.#number(7));
    if (head >= 0x40) return this.#literal(6);
    if (head >= 0x20) return this.#tableSize();
    return this.#literal(4);
  }

  #literal(bits: number): readonly [name: string, value: string] {
    const index = this.#number(bits);
    const name = index === 0 ? this.#text() : numbered(index)[0];
    return [name, this.#text()];
  }

  #tableSize(): undefined {
    if (this.#number(5) !== 0) throw new RangeError("a table of headers that was not allowed");
  }

  #text(): string {
    const isCoded = (this.#byte(this.#at) & 0x80) !== 0;
    const length = this.#number(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new RangeError("a header that is cut off");
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isCoded ? readHuffman(bytes) : bytes.toString("latin1");
  }

  #number(bits: number): number {
    const most = (1 << bits) - 1;
    const low = this.#byte(this.#at++) & most;
    if (low < most) return low;
    let value = most;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte(this.#at++);
      value += (byte & 127) * factor;
      if (value > NUMBER_MAX || factor > NUMBER_MAX) throw new RangeError("a number in a header that is too large");
      if (byte < 128) return value;
    }
  }

  #byte(at: number): number {
    const byte = this.#block[at];
    if (byte === undefined) throw new RangeError("a header that is cut off");
    return byte;
  }
}

function numbered(index: number): readonly [name: string, value: string] {
  const field = NUMBERED[index - 1];
  if (field === undefined) throw new RangeError(`header ${index} of a table that was not allowed`);
  return field;
}
