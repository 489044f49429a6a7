// One request over HTTP/2 and its answer, with what of the request is still to be sent.
import type { Fields } from "./fields.ts";

export interface StreamListener {
  /** The headers of the answer, and then its trailers. An answer without content may have only the first. */
  hearFields(fields: Fields): void;
  /** The bytes are lent for this call: what is kept has to be copied. */
  hearData(bytes: Buffer): void;
  /** Called once, and nothing after it. */
  hearEnd(end: StreamEnd): void;
}

/**
 * `whole`: the answer has come up to its end. `unsent`: nothing of the request was sent. Otherwise one side has given up the stream (RFC 9113, section 7, has the codes), or the connection is lost.
 *
 * SAFETY  what a server refuses is not `unsent`, although the RFC says that such a request was not looked at. HAProxy refuses whatever it has no answer for when the server behind it has gone, and that
 * server may have carried it out. A proxy that names the last stream at the end of a connection may err in the same way.
 */
export type StreamEnd = "whole" | "unsent" | { readonly code: number } | { readonly lost: unknown };

/** What a stream wants of its connection. */
interface Host {
  write(stream: Http2Stream): void;
  reset(stream: Http2Stream): void;
}

export class Http2Stream {
  readonly block: Buffer;
  readonly listener: StreamListener;
  readonly #host: Host;
  /** 0: it has not begun. */
  number = 0;
  /** How many bytes the server takes in this stream. */
  window = 0;
  /** What has come since the server was told that it was read. */
  received = 0;
  /** The headers of the answer have come. */
  isAnswered = false;
  isOver = false;
  readonly #waiting: { bytes: Buffer; readonly isLast: boolean }[] = [];
  #isSent = false;

  constructor(block: Buffer, listener: StreamListener, host: Host) {
    this.block = block;
    this.listener = listener;
    this.#host = host;
  }

  /** All of the request has been sent. */
  get isSent(): boolean {
    return this.#isSent;
  }

  write(bytes: Buffer): void {
    if (this.isOver) return;
    this.#waiting.push({ bytes, isLast: false });
    this.#host.write(this);
  }

  /** Nothing is written after it. */
  finish(bytes: Buffer): void {
    this.#waiting.push({ bytes, isLast: true });
    this.#host.write(this);
  }

  /** Neither side has more to say in this stream. */
  cancel(): void {
    this.#host.reset(this);
  }

  get next(): { readonly bytes: Buffer } | undefined {
    return this.#waiting[0];
  }

  /** So many bytes of the next piece are sent. Returns whether they end the request. */
  take(length: number): boolean {
    const [next] = this.#waiting;
    if (next === undefined) return false;
    next.bytes = next.bytes.subarray(length);
    if (next.bytes.length > 0) return false;
    this.#waiting.shift();
    this.#isSent = next.isLast;
    return next.isLast;
  }
}
