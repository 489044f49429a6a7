// What one side of a connection of HTTP/2 sends: frames that go out together, and as much of each request as the other side takes. That side opens two windows, one for the whole connection and one
// for each stream (RFC 9113, section 5.2), and content waits while either is shut.
import type { Socket } from "node:net";
import { NO_TABLE } from "./fields.ts";
import { CONTENT_MAX, FLAG, frameOf, TYPE } from "./frames.ts";
import type { Http2Stream } from "./stream.ts";

export const FIRST_WINDOW = 65_535;

export class Http2Sender {
  readonly #socket: Socket;
  #out: Buffer[] = [];
  /** What the whole connection may still send, and what a stream may that begins now. */
  #window: number = FIRST_WINDOW;
  #streamWindow: number = FIRST_WINDOW;
  /** Streams that have more to send than the other side takes now. */
  readonly #blocked = new Set<Http2Stream>();
  #hasBegun = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** All that is sent in one turn of the event loop goes out together. */
  send(frame: Buffer): void {
    this.#out.push(frame);
    if (this.#out.length === 1) process.nextTick(() => this.sendNow());
  }

  sendNow(): void {
    const out = this.#out;
    this.#out = [];
    if (out.length > 0 && !this.#socket.destroyed && this.#socket.writable) this.#socket.write(Buffer.concat(out));
  }

  begin(stream: Http2Stream): void {
    stream.window = this.#streamWindow;
    // A server whose own table is smaller than usual must be told that our blocks keep to that (RFC 7541, section 4.2), and may refuse the first block that does not begin so.
    const block = this.#hasBegun ? stream.block : Buffer.concat([NO_TABLE, stream.block]);
    this.#hasBegun = true;
    for (let at = 0, type: number = TYPE.headers; at === 0 || at < block.length; type = TYPE.continuation) {
      const piece = block.subarray(at, at + CONTENT_MAX);
      at += piece.length;
      this.send(frameOf(type, at === block.length ? FLAG.endHeaders : 0, stream.number, piece));
    }
    this.flush(stream);
  }

  /** Sends what the stream has to send, as far as the other side takes it. */
  flush(stream: Http2Stream): void {
    if (stream.number === 0 || stream.isOver) return;
    for (let next = stream.next; next !== undefined; next = stream.next) {
      // A window is negative when the other side has made it smaller. An end without content needs none.
      const length = Math.max(0, Math.min(next.bytes.length, CONTENT_MAX, stream.window, this.#window));
      if (length === 0 && next.bytes.length > 0) return void this.#blocked.add(stream);
      stream.window -= length;
      this.#window -= length;
      const piece = next.bytes.subarray(0, length);
      this.send(frameOf(TYPE.data, stream.take(length) ? FLAG.endStream : 0, stream.number, piece));
    }
    this.#blocked.delete(stream);
  }

  /** Nothing more of it is sent. */
  forget(stream: Http2Stream): void {
    this.#blocked.delete(stream);
  }

  /** The other side takes so much more on the whole connection. Returns what it takes now. */
  grow(more: number): number {
    this.#window += more;
    for (const stream of this.#blocked) this.flush(stream);
    return this.#window;
  }

  growStream(stream: Http2Stream, more: number): number {
    stream.window += more;
    if (this.#blocked.has(stream)) this.flush(stream);
    return stream.window;
  }

  /** The other side takes so much in each stream, and in those that have begun as much more or less. */
  resize(window: number, streams: Iterable<Http2Stream>): void {
    for (const stream of streams) stream.window += window - this.#streamWindow;
    this.#streamWindow = window;
    for (const stream of this.#blocked) this.flush(stream);
  }
}
