// All watches over one connection, in one stream. Each has a number that we choose. A watch ends when this side or the server cancels it, or with the stream.
import type { EtcdConnection, Metadata, Stream } from "./connection.ts";
import { readWatch, watchCancelRequest, watchCreateRequest, type WatchEvent, type WatchRequest } from "./messages.ts";
import { ProtobufMessage } from "./protobuf.ts";

export interface WatchListener {
  hear(events: readonly WatchEvent[]): void;
  /** The stream broke: nothing more is heard. It is not called after `cancel`. */
  end(): void;
}

export class WatchStream {
  readonly #stream: Stream;
  readonly #listeners = new Map<bigint, WatchListener>();
  #last = 0n;
  #isOver = false;

  constructor(connection: EtcdConnection, metadata: Metadata) {
    this.#stream = connection.stream(
      "/etcdserverpb.Watch/Watch",
      metadata,
      (message) => this.#hear(message),
      () => this.#end(),
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns a function that cancels the watch. */
  add(request: WatchRequest, listener: WatchListener): () => void {
    const id = ++this.#last;
    this.#listeners.set(id, listener);
    this.#stream.send(watchCreateRequest(id, request));
    return () => {
      if (!this.#listeners.delete(id) || this.#isOver) return;
      this.#stream.send(watchCancelRequest(id));
      if (this.#listeners.size === 0) this.#finish();
    };
  }

  /** No watch is left, so the stream ends: an idle stream would be pinged for ever. */
  #finish(): void {
    this.#isOver = true;
    this.#stream.cancel();
  }

  #hear(bytes: Buffer): void {
    const { id, canceled, events } = readWatch(new ProtobufMessage(bytes));
    const listener = this.#listeners.get(id);
    if (events.length > 0) listener?.hear(events);
    if (!canceled) return;
    this.#listeners.delete(id);
    listener?.end();
  }

  #end(): void {
    this.#isOver = true;
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.end();
  }
}
