// One connection to one server, with one request at a time: no request is written before the answer to the one before it is whole. So an answer belongs to the request that waits.
//
// ARGUMENT that no request gets the answer to another: nothing in HTTP/1.1 joins the two but their order. A connection takes another request only after an answer that was whole, by the rules of
// answer-reader.ts, and behind which nothing came. A request that is given up, or whose answer is malformed or cut off, ends its connection, so that a late answer finds nobody. What a server writes while
// no request waits ends the connection as well. One case is left, as with every client of HTTP/1.1: what a server wrote by itself is on its way when a request is sent, and is taken for its answer. Servers
// do so when they close an idle connection (408), which says nothing about the request, and is unknown. Who must not be deceived by anything else compares what an answer shows with what was asked.
import type { Socket } from "node:net";
import type { AnswerHead } from "./answer-head.ts";
import { type AnswerEars, HttpAnswerReader } from "./answer-reader.ts";
import { type HttpDialer, whenOpen } from "./dial.ts";
import { HttpError } from "./errors.ts";
import type { RequestText } from "./request-text.ts";

/** It waits for one answer. After `whole` or `failed` it hears nothing more. */
export interface Asker extends AnswerEars {
  failed(error: HttpError): void;
}

export interface ConnectionOwner {
  /** It can take another request. */
  free(connection: HttpConnection): void;
  /** It takes none any more. Called once. */
  gone(connection: HttpConnection): void;
}

export class HttpConnection {
  readonly #socket: Socket;
  readonly #idleMs: number;
  readonly #owner: ConnectionOwner;
  readonly #reader: HttpAnswerReader;
  #asker: Asker | undefined;
  /** It waits until the connection is open. */
  #request: RequestText | undefined;
  #keptMs = 0;
  #isHeld = true;
  #isOpen = false;
  #isOver = false;
  #isWhole = false;
  #closes = false;

  /** After `idleMs` without a request the connection is ended. Throws an HttpError if it cannot even be tried. */
  constructor(dialer: HttpDialer, idleMs: number, owner: ConnectionOwner) {
    const socket = dialer.dial((bytes) => this.#take(bytes));
    this.#socket = socket;
    this.#idleMs = idleMs;
    this.#owner = owner;
    this.#reader = new HttpAnswerReader({
      head: (head) => this.#hearHead(head),
      part: (bytes) => this.#asker?.part(bytes),
      whole: () => (this.#isWhole = true),
    });
    whenOpen(socket, () => this.#opened());
    socket.on("end", () => this.#finish());
    socket.on("error", (error) => this.end(error));
    socket.on("close", () => this.end(CLOSED));
    socket.on("timeout", () => void (this.#asker === undefined && this.end(CLOSED)));
    this.#keepFor(idleMs);
  }

  /** No other request may wait. */
  ask(request: RequestText, asker: Asker): void {
    if (this.#isOver) return asker.failed(new HttpError("unsent", "the connection has ended"));
    this.#asker = asker;
    if (this.#isOpen) this.#send(request);
    else this.#request = request;
    return undefined;
  }

  /** While it is held, the process stays alive. */
  hold(): void {
    this.#isHeld = true;
    this.#socket.ref();
  }

  letGo(): void {
    this.#isHeld = false;
    this.#socket.unref();
  }

  /** Ends it from this side. A request that waits has failed. */
  end(cause: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const asker = this.#asker;
    this.#asker = undefined;
    this.#socket.destroy();
    this.#owner.gone(this);
    asker?.failed(this.#failure(cause));
  }

  /** What is written to a connection that is open may have been carried out, whatever became of the connection then. */
  #failure(cause: Error): HttpError {
    if (!this.#isOpen) return new HttpError("unconnected", cause.message, cause);
    if (cause instanceof HttpError) return cause;
    return new HttpError("unanswered", "the connection was lost, or given up, before an answer came", cause);
  }

  #opened(): void {
    this.#isOpen = true;
    // Node forgets it when the second address of a name is tried.
    if (!this.#isHeld) this.#socket.unref();
    const request = this.#request;
    this.#request = undefined;
    if (request !== undefined) this.#send(request);
  }

  #send({ text, encoding }: RequestText): void {
    this.#reader.expect();
    this.#socket.write(text, encoding);
  }

  #hearHead(head: AnswerHead): void {
    this.#closes = head.closes;
    if (head.keepsSeconds !== undefined) this.#keepFor(idleTime(this.#idleMs, head.keepsSeconds));
    this.#asker?.head(head);
  }

  /** A server says it with every answer. */
  #keepFor(ms: number): void {
    if (ms === this.#keptMs) return;
    this.#keptMs = ms;
    this.#socket.setTimeout(ms);
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#reader.take(bytes);
    } catch (error) {
      this.end(error as Error);
      // Any other error is a mistake of ours, and not the server's.
      if (!(error instanceof HttpError)) throw error;
    }
    // Not before everything is read: bytes behind the answer make it malformed.
    if (this.#isWhole && !this.#isOver) this.#answered();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#reader.finish();
    if (this.#isWhole) this.#answered();
    this.end(CLOSED);
  }

  #answered(): void {
    const asker = this.#asker;
    this.#asker = undefined;
    this.#isWhole = false;
    // A server that answers before it has read the whole request may take what is left of it for another request.
    if (this.#closes || this.#socket.writableLength > 0) this.end(CLOSED);
    else this.#owner.free(this);
    asker?.whole();
  }
}

const CLOSED = new Error("closed");

/** A second less than the server says, so that it is ended from this side, and no request meets its end on the way. */
function idleTime(most: number, keepsSeconds: number): number {
  return Math.max(1, Math.min(most, keepsSeconds * 1000 - 1000));
}
