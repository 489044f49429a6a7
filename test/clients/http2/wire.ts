// What the tests of HTTP/2 share: frames and headers made byte for byte without the code that they test, a listener that keeps what it hears, a socket that a test holds both ends of, and a real server
// that says only what a test tells it.
import { EventEmitter } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect } from "vitest";
import { Http2Connection } from "../../../src/clients/http2/connection.ts";
import type { Fields } from "../../../src/clients/http2/fields.ts";
import type { StreamEnd, StreamListener } from "../../../src/clients/http2/stream.ts";

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RESET = 3;
export const SETTINGS = 4;
export const PUSH = 5;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW = 8;
export const CONTINUATION = 9;
export const END = 1;
export const ACK = 1;
export const END_HEADERS = 4;
export const PADDED = 8;
export const WITH_PRIORITY = 0x20;

export interface Sent {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly content: Buffer;
}

export function frame(type: number, flags: number, stream: number, content: Uint8Array | string = ""): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
  const head = Buffer.alloc(9);
  head.writeUIntBE(bytes.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
}

/** Literals that enter no table, with texts as they are. */
export function block(...fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => Buffer.from(String.fromCharCode(value.length) + value, "latin1");
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

export const OK: Buffer = block([":status", "200"]);
export const TRAILERS: Buffer = block(["grpc-status", "0"]);

export const int32 = (...values: readonly number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.of(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255)));

export const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.of(0, id), int32(value)]);

export const GREETING: Buffer = frame(SETTINGS, 0, 0);

/** A whole answer. */
export function answer(stream: number, body: string): Buffer {
  return Buffer.concat([
    frame(HEADERS, END_HEADERS, stream, OK),
    frame(DATA, 0, stream, body),
    frame(HEADERS, END_HEADERS | END, stream, TRAILERS),
  ]);
}

/** The frames in what the client has sent, after its preface. What is no frame yet is left out. */
export function framesIn(bytes: Buffer): Sent[] {
  const frames: Sent[] = [];
  const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  if (bytes.length < preface.length) return frames;
  expect(bytes.subarray(0, preface.length).toString("latin1")).toBe(preface);
  for (let at = preface.length; at + 9 <= bytes.length;) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
    frames.push({ type, flags, stream: bytes.readUInt32BE(at + 5), content: bytes.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}

/** On a busy machine, too. */
const PATIENCE_MS = 10_000;

/** What does not come is a failure by an expectation, and no test that hangs. */
export async function soon<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const nothing = Symbol("nothing");
  const came = await Promise.race([
    promise,
    new Promise<symbol>((resolve) => (timer = setTimeout(() => resolve(nothing), PATIENCE_MS))),
  ]);
  clearTimeout(timer);
  expect(came === nothing ? "nothing" : what).toBe(what);
  return came as T;
}

/** One request's listener: it keeps what it hears. */
export class Heard implements StreamListener {
  readonly fields: Fields[] = [];
  readonly chunks: Buffer[] = [];
  readonly ends: StreamEnd[] = [];
  readonly #ended: Promise<void>;
  #tellEnd: () => void = () => {};

  constructor() {
    this.#ended = new Promise((resolve) => (this.#tellEnd = resolve));
  }

  hearFields(fields: Fields): void {
    this.fields.push(fields);
  }

  hearData(bytes: Buffer): void {
    this.chunks.push(Buffer.from(bytes));
  }

  hearEnd(end: StreamEnd): void {
    this.ends.push(end);
    this.#tellEnd();
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString("latin1");
  }

  /** Undefined while it has not ended. A stream that ends twice has an end that no other has. */
  get end(): string | undefined {
    if (this.ends.length > 1) return `${this.ends.length} ends`;
    const [end] = this.ends;
    return end === undefined || typeof end === "string" ? end : "code" in end ? `code ${end.code}` : "lost";
  }

  async untilEnd(): Promise<string | undefined> {
    await soon("the end of a stream", this.#ended);
    return this.end;
  }

  /** All that can be said of it. */
  get story(): unknown {
    return { end: this.end, body: this.body, fields: this.fields.map((each) => Object.fromEntries(each)) };
  }
}

/** What a connection has told. */
export class Told {
  readonly all: string[] = [];
  cause: unknown;
  readonly greeted: Promise<void>;
  readonly closed: Promise<void>;
  readonly handlers: ConstructorParameters<typeof Http2Connection>[2];

  constructor() {
    const tell: Record<string, () => void> = {};
    this.greeted = new Promise((resolve) => (tell["greeted"] = resolve));
    this.closed = new Promise((resolve) => (tell["closed"] = resolve));
    const hear = (what: string): void => {
      this.all.push(what);
      tell[what]?.();
    };
    this.handlers = {
      greeted: () => hear("greeted"),
      goesAway: () => hear("goes away"),
      closed: (cause) => {
        this.cause = cause;
        hear("closed");
      },
    };
  }
}

export const WINDOW_SIZE = 256 * 1024;

/** A socket whose other end is the test: what the test says comes at once, and what the client sends is kept. */
export class Wire extends EventEmitter {
  readonly told: Told = new Told();
  readonly connection: Http2Connection;
  destroyed = false;
  writable = true;
  writableNeedDrain = false;
  /** The socket ends when all is sent. */
  isLetEnd = false;
  /** How often the client has written. */
  writes = 0;
  refs: string[] = [];
  #sent = Buffer.alloc(0);

  constructor(window = WINDOW_SIZE) {
    super();
    this.connection = new Http2Connection(this as unknown as Socket, window, this.told.handlers);
  }

  /** The server says it, in one chunk each, of which nothing is left after it was heard: a socket may read all chunks into one buffer. */
  say(...chunks: readonly Buffer[]): void {
    for (const chunk of chunks) {
      const lent = Buffer.from(chunk);
      if (!this.destroyed) this.emit("data", lent);
      lent.fill(0xee);
    }
  }

  write(bytes: Buffer): boolean {
    this.writes++;
    this.#sent = Buffer.concat([this.#sent, bytes]);
    return true;
  }

  destroy(): this {
    this.writable = false;
    if (this.destroyed) return this;
    this.destroyed = true;
    process.nextTick(() => this.emit("close"));
    return this;
  }

  destroySoon(): void {
    this.isLetEnd = true;
    this.destroy();
  }

  ref(): this {
    this.refs.push("ref");
    return this;
  }

  unref(): this {
    this.refs.push("unref");
    return this;
  }

  get sent(): readonly Sent[] {
    return framesIn(this.#sent);
  }

  /** What the client sent of one type. */
  sentOf(type: number, stream?: number): readonly Sent[] {
    return this.sent.filter((each) => each.type === type && (stream === undefined || each.stream === stream));
  }

  /** A request whose body is sent at once, or may be written later. */
  ask(body: Buffer | undefined = Buffer.from("ask")): Heard {
    const heard = new Heard();
    this.connection.request(block([":method", "POST"]), body, heard);
    return heard;
  }
}

/** The client has sent what it has to send. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A real server for one connection, which says nothing by itself. */
export interface RawServer {
  readonly port: number;
  readonly socket: Promise<Socket>;
  /** Waits until the client has sent a frame like this. */
  untilSent(type: number, stream: number): Promise<Sent>;
  stop(): Promise<void>;
}

export async function rawServer(): Promise<RawServer> {
  let bytes = Buffer.alloc(0);
  const waiting = new Set<() => void>();
  const server = createServer();
  const socket = new Promise<Socket>((resolve) =>
    server.once("connection", (each) => {
      each.on("error", () => {});
      each.on("data", (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (const look of waiting) look();
      });
      resolve(each);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const untilSent = (type: number, stream: number): Promise<Sent> =>
    soon(
      `a frame of type ${type} in stream ${stream}`,
      new Promise((resolve) => {
        const look = (): void => {
          const found = framesIn(bytes).find((each) => each.type === type && each.stream === stream);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    );
  return {
    port: (server.address() as AddressInfo).port,
    socket,
    untilSent,
    stop: async () => {
      server.close();
      (await socket).destroy();
    },
  };
}

/** A connection over a real socket, which reads all that comes into one buffer. */
export async function connected(
  port: number,
  window = WINDOW_SIZE,
): Promise<{ readonly told: Told; readonly connection: Http2Connection; readonly socket: Socket }> {
  const buffer = Buffer.alloc(64 * 1024);
  const callback = (length: number): boolean => socket.emit("data", buffer.subarray(0, length));
  const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer, callback } });
  await new Promise((resolve) => socket.once("connect", resolve));
  const told = new Told();
  return { told, connection: new Http2Connection(socket, window, told.handlers), socket };
}
