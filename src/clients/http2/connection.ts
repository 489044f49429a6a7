// The client's side of one connection of HTTP/2 (RFC 9113): streams of which each carries one request and its answer, pings, and windows that say how much the other side may send.
//
// SAFETY  an answer that is taken for the answer to another request can make two leaders. So:
//   - a stream has a number that this connection gives out once, and what the server sends is told only to the stream whose number it bears;
//   - the end of an answer is the end of its stream. A stream is forgotten with its end, and what still comes for it is read and dropped;
//   - a block of headers means the same wherever it stands, because neither side keeps a table of headers (fields.ts);
//   - whatever the protocol does not allow ends the whole connection, and all that wait for an answer learn that there is none.
//
// What a server can make this side keep is bounded: one frame, one block of headers, what it asked for and does not read, and nothing for streams that are over. Data is told as soon as it has come.
import type { Socket } from "node:net";
import { renewed } from "../../base/worn-map.ts";
import { CODE, Http2Error } from "./errors.ts";
import { FieldsReader } from "./fields.ts";
import { CONTENT_MAX, FLAG, type Frame, frameOf, FrameReader, goAway, numberOf, TYPE } from "./frames.ts";
import { FIRST_WINDOW, Http2Sender } from "./sender.ts";
import { Http2Stream, type StreamEnd, type StreamListener } from "./stream.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTING = { tableSize: 1, push: 2, streams: 3, window: 4, contentMax: 5 } as const;
const NUMBER_MAX = 0x7fff_ffff;
const LONGEST_CONTENT = 0xff_ffff;
/** A block of headers that is longer is nothing that we asked for. */
const BLOCK_MAX = 64 * 1024;
const BLOCK_PIECES_MAX = 64;
/** How many of its pings and settings are accepted while the server reads nothing. */
const UNREAD_MAX = 1000;

export interface Http2Handlers {
  /** The server has sent its settings: it speaks HTTP/2. */
  greeted(): void;
  /** The server takes no further requests. */
  goesAway(): void;
  /** Called once, when all streams have been told. */
  closed(cause: unknown): void;
}

export class Http2Connection {
  readonly #socket: Socket;
  readonly #sender: Http2Sender;
  readonly #handlers: Http2Handlers;
  #streams = new Map<number, Http2Stream>();
  /** Streams for which the server has no room yet. */
  #queued: Http2Stream[] = [];
  readonly #window: number;
  #nextNumber = 1;
  #isGreeted = false;
  #isClosing = false;
  #isOver = false;
  #cause: unknown;

  /** How many streams the server takes at once. */
  #streamsMax: number = NUMBER_MAX;

  /** What has come on the whole connection since the server was told that it was read. */
  #received = 0;
  readonly #fields = new FieldsReader();
  /** A block of headers of which a part has come. */
  #block: { readonly stream: number; readonly flags: number; readonly pieces: Buffer[]; length: number } | undefined;
  #pings: { readonly content: Buffer; readonly answered: () => void }[] = [];
  #lastPing = 0;
  #unread = 0;

  /** `window`: how many bytes the server may send before they are read, in all and in each stream. */
  constructor(socket: Socket, window: number, handlers: Http2Handlers) {
    this.#socket = socket;
    this.#sender = new Http2Sender(socket);
    this.#handlers = handlers;
    this.#window = window;
    const reader = new FrameReader((frame) => this.#hear(frame));
    socket.on("data", (chunk: Buffer) => {
      if (this.#isOver) return;
      try {
        reader.push(chunk);
      } catch (error) {
        this.#fail(error);
      }
    });
    socket.on("error", (error) => (this.#cause ??= error));
    // Nothing more will be heard. Left to itself, Node would first wait until the server has taken what is still to be sent, which it may never do.
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#end());
    this.#greet();
  }

  /** Further requests can be sent. */
  get isFit(): boolean {
    return !this.#isClosing && !this.#isOver && this.#nextNumber < NUMBER_MAX;
  }

  /** `body`: the whole of what is sent; without it the stream can be written to until it is ended. */
  request(block: Buffer, body: Buffer | undefined, listener: StreamListener): Http2Stream {
    const stream = new Http2Stream(block, listener, {
      write: (each) => this.#sender.flush(each),
      reset: (each) => this.#reset(each, CODE.cancel),
    });
    if (body !== undefined) stream.finish(body);
    if (!this.isFit) process.nextTick(() => this.#finish(stream, "unsent"));
    else if (this.#streams.size < this.#streamsMax) this.#begin(stream);
    else this.#queued.push(stream);
    return stream;
  }

  ping(answered: () => void): void {
    const content = Buffer.alloc(8);
    content.writeUInt32BE(++this.#lastPing, 4);
    this.#pings.push({ content, answered });
    this.#sender.send(frameOf(TYPE.ping, 0, 0, content));
  }

  /** Whether this connection keeps the process alive. */
  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  /** Lets the streams end, and takes no further ones. */
  close(): void {
    if (this.#isClosing || this.#isOver) return;
    this.#isClosing = true;
    this.#refuseQueued();
    this.#endIfIdle();
  }

  destroy(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  // ---- what is sent

  #greet(): void {
    const settings = [
      [SETTING.tableSize, 0],
      [SETTING.push, 0],
      [SETTING.window, this.#window],
    ] as const;
    const content = Buffer.alloc(6 * settings.length);
    for (const [index, [setting, value]] of settings.entries()) {
      content.writeUInt16BE(setting, 6 * index);
      content.writeUInt32BE(value, 6 * index + 2);
    }
    this.#sender.send(Buffer.from(PREFACE, "latin1"));
    this.#sender.send(frameOf(TYPE.settings, 0, 0, content));
    this.#sender.send(frameOf(TYPE.windowUpdate, 0, 0, numberOf(this.#window - FIRST_WINDOW)));
  }

  #begin(stream: Http2Stream): void {
    stream.number = this.#nextNumber;
    this.#nextNumber += 2;
    this.#streams = renewed(this.#streams, this.#nextNumber >> 1).set(stream.number, stream);
    this.#sender.begin(stream);
  }

  #reset(stream: Http2Stream, code: number): void {
    if (stream.isOver) return;
    if (stream.number !== 0) this.#sender.send(frameOf(TYPE.resetStream, 0, stream.number, numberOf(code)));
    this.#finish(stream, { code });
  }

  // ---- what is heard

  #hear(frame: Frame): void {
    if (this.#isOver) return;
    const { type, stream } = frame;
    if (!this.#isGreeted && (type !== TYPE.settings || (frame.flags & FLAG.ack) !== 0))
      throw new Http2Error(CODE.protocol, "it does not speak HTTP/2");
    if (this.#block !== undefined && (type !== TYPE.continuation || stream !== this.#block.stream))
      throw new Http2Error(CODE.protocol, "headers that are cut off");
    if (type === TYPE.data) this.#hearData(frame);
    else if (type === TYPE.headers) this.#hearHeaders(frame);
    else if (type === TYPE.continuation) this.#hearContinuation(frame);
    else if (type === TYPE.resetStream) this.#hearReset(frame);
    else if (type === TYPE.settings) this.#hearSettings(frame);
    else if (type === TYPE.pushPromise) throw new Http2Error(CODE.protocol, "a push, which was not allowed");
    else if (type === TYPE.ping) this.#hearPing(frame);
    else if (type === TYPE.goAway) this.#hearGoAway(frame);
    else if (type === TYPE.windowUpdate) this.#hearWindow(frame);
    // Every other type is to be ignored, and priority is only for servers.
  }

  /** Undefined if the stream is over. A number that was never given out ends the connection. */
  #streamOf(number: number): Http2Stream | undefined {
    if (number % 2 === 0 || number >= this.#nextNumber)
      throw new Http2Error(CODE.protocol, `a frame of stream ${number}, which does not exist`);
    return this.#streams.get(number);
  }

  #hearData(frame: Frame): void {
    const { length } = frame.content;
    const stream = this.#streamOf(frame.stream);
    const content = withoutPadding(frame);
    const isEnd = (frame.flags & FLAG.endStream) !== 0;
    this.#received = this.#read(0, this.#received + length);
    if (stream === undefined) return;
    if (!stream.isAnswered) return this.#reset(stream, CODE.protocol);
    if (!isEnd) stream.received = this.#read(stream.number, stream.received + length);
    if (content.length > 0) stream.listener.hearData(content);
    if (isEnd) this.#hearEnd(stream);
  }

  /** Tells the server from time to time that what came was read. Returns what it has not been told. */
  #read(stream: number, received: number): number {
    if (received < this.#window / 2) return received;
    this.#sender.send(frameOf(TYPE.windowUpdate, 0, stream, numberOf(received)));
    return 0;
  }

  #hearHeaders(frame: Frame): void {
    this.#streamOf(frame.stream);
    const { flags, stream } = frame;
    const content = withoutPadding(frame);
    if ((flags & FLAG.priority) !== 0 && content.length < 5)
      throw new Http2Error(CODE.frameSize, "headers without a priority");
    const piece = (flags & FLAG.priority) === 0 ? content : content.subarray(5);
    if ((flags & FLAG.endHeaders) !== 0) this.#hearBlock(stream, flags, piece);
    else this.#block = { stream, flags, pieces: [Buffer.from(piece)], length: piece.length };
  }

  #hearContinuation({ flags, content }: Frame): void {
    const block = this.#block;
    if (block === undefined) throw new Http2Error(CODE.protocol, "headers without a beginning");
    block.pieces.push(Buffer.from(content));
    block.length += content.length;
    if (block.length > BLOCK_MAX || block.pieces.length > BLOCK_PIECES_MAX)
      throw new Http2Error(CODE.protocol, "headers without an end");
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#block = undefined;
    this.#hearBlock(block.stream, block.flags, Buffer.concat(block.pieces));
  }

  #hearBlock(number: number, flags: number, block: Buffer): void {
    const stream = this.#streams.get(number);
    const fields = this.#fields.read(block);
    if (stream === undefined) return;
    const isEnd = (flags & FLAG.endStream) !== 0;
    const status = fields.get(":status");
    // The first block has a status and may be the only one; the second one is the last; and before the first there may be some that say that the server is still at it.
    const isPassing = status?.startsWith("1") === true;
    if (isPassing && !isEnd && !stream.isAnswered) return;
    if (stream.isAnswered ? status !== undefined || !isEnd : status === undefined || isPassing)
      return this.#reset(stream, CODE.protocol);
    stream.isAnswered = true;
    stream.listener.hearFields(fields);
    if (isEnd) this.#hearEnd(stream);
  }

  /** The answer is whole. What is still to be sent, nobody reads. */
  #hearEnd(stream: Http2Stream): void {
    if (stream.isOver) return;
    if (!stream.isSent) this.#sender.send(frameOf(TYPE.resetStream, 0, stream.number, numberOf(CODE.cancel)));
    this.#finish(stream, "whole");
  }

  #hearReset({ stream: number, content }: Frame): void {
    const stream = this.#streamOf(number);
    if (content.length !== 4) throw new Http2Error(CODE.frameSize, "the end of a stream without a reason");
    if (stream !== undefined) this.#finish(stream, { code: content.readUInt32BE(0) });
  }

  #hearSettings({ flags, stream, content }: Frame): void {
    if (stream !== 0) throw new Http2Error(CODE.protocol, "settings of a stream");
    if (content.length % 6 !== 0 || ((flags & FLAG.ack) !== 0 && content.length > 0))
      throw new Http2Error(CODE.frameSize, "settings that are cut off");
    if ((flags & FLAG.ack) !== 0) return;
    // A server may count with a larger window only once it has read this, and a larger window lets content go out.
    this.#accept(frameOf(TYPE.settings, FLAG.ack, 0, Buffer.alloc(0)));
    for (let at = 0; at < content.length; at += 6) this.#set(content.readUInt16BE(at), content.readUInt32BE(at + 2));
    if (!this.#isGreeted) {
      this.#isGreeted = true;
      this.#handlers.greeted();
    }
    this.#beginQueued();
  }

  #set(setting: number, value: number): void {
    if (setting === SETTING.streams) this.#streamsMax = value;
    // Frames that are longer than those that every server takes are of no use here.
    if (setting === SETTING.contentMax && (value < CONTENT_MAX || value > LONGEST_CONTENT))
      throw new Http2Error(CODE.protocol, `frames of ${value} bytes`);
    if (setting !== SETTING.window) return;
    if (value > NUMBER_MAX) throw new Http2Error(CODE.flowControl, `a window of ${value} bytes`);
    this.#sender.resize(value, this.#streams.values());
  }

  #hearPing({ flags, stream, content }: Frame): void {
    if (stream !== 0) throw new Http2Error(CODE.protocol, "a ping of a stream");
    if (content.length !== 8) throw new Http2Error(CODE.frameSize, "a ping that is cut off");
    if ((flags & FLAG.ack) === 0) return this.#accept(frameOf(TYPE.ping, FLAG.ack, 0, content));
    const answered = this.#pings.find((ping) => ping.content.equals(content));
    this.#pings = this.#pings.filter((ping) => ping !== answered);
    answered?.answered();
  }

  #accept(frame: Buffer): void {
    this.#unread = this.#socket.writableNeedDrain ? this.#unread + 1 : 0;
    if (this.#unread > UNREAD_MAX) throw new Http2Error(CODE.calm, "it asks and asks, and does not read");
    this.#sender.send(frame);
  }

  #hearGoAway({ stream: number, content }: Frame): void {
    if (number !== 0) throw new Http2Error(CODE.protocol, "the end of the connection, of a stream");
    if (content.length < 8) throw new Http2Error(CODE.frameSize, "the end of the connection without a reason");
    const last = content.readUInt32BE(0) & NUMBER_MAX;
    this.#isClosing = true;
    this.#refuseQueued();
    // No answer will come to these.
    const refused = [...this.#streams.values()].filter((stream) => stream.number > last);
    for (const stream of refused) this.#finish(stream, { code: CODE.refused });
    this.#handlers.goesAway();
    this.#endIfIdle();
  }

  #hearWindow({ stream: number, content }: Frame): void {
    if (content.length !== 4) throw new Http2Error(CODE.frameSize, "a window that is cut off");
    const more = content.readUInt32BE(0) & NUMBER_MAX;
    if (more === 0) throw new Http2Error(CODE.protocol, "a window that does not grow");
    const stream = number === 0 ? undefined : this.#streamOf(number);
    if (number !== 0 && stream === undefined) return;
    const window = stream === undefined ? this.#sender.grow(more) : this.#sender.growStream(stream, more);
    if (window > NUMBER_MAX) throw new Http2Error(CODE.flowControl, "a window without an end");
  }

  // ---- ends

  #finish(stream: Http2Stream, end: StreamEnd): void {
    if (stream.isOver) return;
    stream.isOver = true;
    this.#streams.delete(stream.number);
    this.#sender.forget(stream);
    if (stream.number === 0) this.#queued = this.#queued.filter((each) => each !== stream);
    stream.listener.hearEnd(end);
    this.#beginQueued();
    this.#endIfIdle();
  }

  #beginQueued(): void {
    while (this.isFit && this.#streams.size < this.#streamsMax) {
      const next = this.#queued.shift();
      if (next === undefined) return;
      this.#begin(next);
    }
  }

  /** Nothing of them was sent, and nothing will be. */
  #refuseQueued(): void {
    const queued = this.#queued;
    this.#queued = [];
    for (const stream of queued) this.#finish(stream, "unsent");
  }

  #endIfIdle(): void {
    if (this.#isClosing && !this.#isOver && this.#streams.size === 0) this.#leave(CODE.none);
  }

  #leave(code: number): void {
    this.#sender.send(goAway(code));
    this.#sender.sendNow();
    // A socket whose other end reads nothing would never end by itself.
    if (this.#socket.writableNeedDrain) this.#socket.destroy();
    else this.#socket.destroySoon();
  }

  /** Nothing that comes on this connection can be believed any more. */
  #fail(error: unknown): void {
    const told = error instanceof Http2Error ? error : new Http2Error(CODE.protocol, messageOf(error));
    this.#cause ??= told;
    this.#leave(told.reason);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isClosing = true;
    this.#refuseQueued();
    for (const stream of this.#streams.values()) this.#finish(stream, { lost: this.#cause });
    this.#handlers.closed(this.#cause);
  }
}

function withoutPadding({ flags, content }: Frame): Buffer {
  if ((flags & FLAG.padded) === 0) return content;
  const end = content.length - (content[0] ?? 0);
  if (end < 1) throw new Http2Error(CODE.protocol, "a frame of nothing but padding");
  return content.subarray(1, end);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
