// A second reading of the protocol, as short as it can be: what becomes of requests that wait when these bytes have come from a server that has greeted. It takes whole bytes and keeps no time, so that
// nothing of chunks, queues or windows that are told can go wrong in it. Only what a block of headers says it takes from readFields, which has tests of its own.
import { readFields } from "../../../src/clients/http2/fields.ts";
import { CONTINUATION, DATA, GOAWAY, HEADERS, PING, PUSH, RESET, type Sent, SETTINGS, WINDOW } from "./wire.ts";

interface Outcome {
  readonly isBroken: boolean;
  readonly streams: readonly { readonly end: string | undefined; readonly body: string; readonly blocks: number }[];
}

const LONGEST = 16_384;
const MOST = 0x7fff_ffff;

class Broken extends Error {}

function must(isAllowed: boolean): void {
  if (!isAllowed) throw new Broken();
}

/** Streams 1, 3, 5 and so on have each sent a request of three bytes. */
export function modelOf(count: number, bytes: Buffer): Outcome {
  const model = new Model(count);
  let isBroken = false;
  try {
    for (let at = 0; at + 9 <= bytes.length;) {
      const length = bytes.readUIntBE(at, 3);
      must(length <= LONGEST);
      const end = at + 9 + length;
      if (end > bytes.length) break;
      const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
      model.hear({ type, flags, stream: bytes.readUInt32BE(at + 5) & MOST, content: bytes.subarray(at + 9, end) });
      if (model.isOver) break;
      at = end;
    }
  } catch (error) {
    if (!(error instanceof Broken || error instanceof RangeError)) throw error;
    isBroken = true;
    for (const stream of model.streams) stream.end ??= "lost";
  }
  return { isBroken, streams: model.streams.map(({ end, body, blocks }) => ({ end, body, blocks })) };
}

class Model {
  readonly streams: { end: string | undefined; body: string; blocks: number; window: number }[];
  isOver = false;
  #window: number;
  #setWindow = 65_535;
  #block: { stream: number; flags: number; content: Buffer; pieces: number } | undefined;
  #isGoing = false;

  constructor(count: number) {
    this.streams = Array.from({ length: count }, () => ({ end: undefined, body: "", blocks: 0, window: 65_532 }));
    this.#window = 65_535 - 3 * count;
  }

  hear({ type, flags, stream, content }: Sent): void {
    if (this.#block !== undefined) must(type === CONTINUATION && stream === this.#block.stream);
    if ([DATA, HEADERS, RESET].includes(type) || (type === WINDOW && stream !== 0)) must(this.#exists(stream));
    if ([SETTINGS, PING, GOAWAY].includes(type)) must(stream === 0);
    must(type !== PUSH);
    if (type === DATA) this.#data(stream, flags, unpadded(flags, content));
    if (type === HEADERS) {
      const piece = unpadded(flags, content);
      must((flags & 0x20) === 0 || piece.length >= 5);
      this.#block = { stream, flags, content: (flags & 0x20) === 0 ? piece : piece.subarray(5), pieces: 1 };
    }
    if (type === CONTINUATION) {
      must(this.#block !== undefined);
      if (this.#block === undefined) return;
      this.#block.content = Buffer.concat([this.#block.content, content]);
      must(++this.#block.pieces <= 64 && this.#block.content.length <= 65_536);
    }
    if ((type === HEADERS || type === CONTINUATION) && (flags & 4) !== 0) this.#headers();
    if (type === RESET) {
      must(content.length === 4);
      this.#end(stream, `code ${content.readUInt32BE(0)}`);
    }
    if (type === SETTINGS) this.#settings(flags, content);
    if (type === PING) must(content.length === 8);
    if (type === GOAWAY) this.#goAway(content);
    if (type === WINDOW) this.#grow(stream, content);
    this.isOver = this.#isGoing && this.streams.every(({ end }) => end !== undefined);
  }

  #exists(number: number): boolean {
    return number % 2 === 1 && number < 2 * this.streams.length;
  }

  /** Undefined: it is over. */
  #open(number: number) {
    const stream = this.streams[(number - 1) / 2];
    return stream?.end === undefined ? stream : undefined;
  }

  #end(number: number, end: string): void {
    const stream = this.#open(number);
    if (stream === undefined) return;
    stream.end = end;
  }

  #data(number: number, flags: number, content: Buffer): void {
    const stream = this.#open(number);
    if (stream === undefined) return;
    if (stream.blocks === 0) return this.#end(number, "code 1");
    stream.body += content.toString("latin1");
    if ((flags & 1) !== 0) this.#end(number, "whole");
  }

  #headers(): void {
    const { stream: number, flags, content } = this.#block ?? { stream: 0, flags: 0, content: Buffer.alloc(0) };
    this.#block = undefined;
    const status = readFields(content).get(":status");
    const stream = this.#open(number);
    if (stream === undefined) return;
    const isLast = (flags & 1) !== 0;
    const isFirst = stream.blocks === 0;
    if (isFirst && !isLast && status?.startsWith("1") === true) return;
    const isGood = isFirst ? status !== undefined && !status.startsWith("1") : isLast && status === undefined;
    if (!isGood) return this.#end(number, "code 1");
    stream.blocks++;
    if (isLast) this.#end(number, "whole");
  }

  #settings(flags: number, content: Buffer): void {
    must(content.length % 6 === 0);
    if ((flags & 1) !== 0) return must(content.length === 0);
    for (let at = 0; at < content.length; at += 6) {
      const [id, value] = [content.readUInt16BE(at), content.readUInt32BE(at + 2)];
      if (id === 5) must(value >= LONGEST && value <= 0xff_ffff);
      if (id !== 4) continue;
      must(value <= MOST);
      for (const stream of this.streams) if (stream.end === undefined) stream.window += value - this.#setWindow;
      this.#setWindow = value;
    }
  }

  #goAway(content: Buffer): void {
    must(content.length >= 8);
    const last = content.readUInt32BE(0) & MOST;
    this.#isGoing = true;
    for (let index = 0; index < this.streams.length; index++)
      if (2 * index + 1 > last) this.#end(2 * index + 1, "code 7");
  }

  #grow(number: number, content: Buffer): void {
    must(content.length === 4);
    const more = content.readUInt32BE(0) & MOST;
    must(more > 0);
    const stream = this.#open(number);
    if (number === 0) must((this.#window += more) <= MOST);
    else if (stream !== undefined) must((stream.window += more) <= MOST);
  }
}

function unpadded(flags: number, content: Buffer): Buffer {
  if ((flags & 8) === 0) return content;
  const [padding = 0] = content;
  must(content.length > padding);
  return content.subarray(1, content.length - padding);
}
