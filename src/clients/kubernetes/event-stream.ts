// One watch: lines of JSON, each an event, until the server ends the stream. A connection can stay open for hours after the other side has gone, and no byte says so; a client that waits for one would
// hang. So a stream that has been silent for too long is ended from this side: a live server sends bookmarks.
import type { AnswerHead } from "../http/answer-head.ts";
import type { Asker, ConnectionOwner, HttpConnection } from "../http/connection.ts";
import type { HttpError } from "../http/errors.ts";
import type { RequestText } from "../http/request-text.ts";
import { KubernetesError } from "./errors.ts";

export interface KubernetesEvent {
  /** ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
  readonly type: string;
  readonly object: unknown;
}

export interface WatchEars {
  /** The server has accepted the watch. */
  begun(): void;
  hear(event: KubernetesEvent): void;
  /** Called once. */
  over(error: unknown): void;
}

/** A Lease has at most 1.5 MB. */
const LONGEST_LINE = 4_000_000;

/** How the stream says what went wrong. */
export interface WatchErrors {
  /** Before the server has accepted the watch. */
  readonly of: (error: HttpError) => unknown;
  /** The server's answer to a watch that it does not accept. */
  readonly ofStatus: (status: number) => unknown;
}

export class EventStream implements Asker {
  readonly #ears: WatchEars;
  readonly #errors: WatchErrors;
  readonly #silence: NodeJS.Timeout;
  /** A character may have bytes in two parts. */
  readonly #decoder = new TextDecoder();
  #connection: HttpConnection | undefined;
  #rest = "";
  #hasBegun = false;
  #isOver = false;

  constructor(silenceMs: number, ears: WatchEars, errors: WatchErrors) {
    this.#ears = ears;
    this.#errors = errors;
    const silent = (): void =>
      this.end(new KubernetesError("unreachable", "not-applied", `a watch was silent for ${silenceMs} ms`));
    this.#silence = setTimeout(silent, silenceMs).unref();
  }

  /** Opens a connection of its own, which does not keep the process alive. */
  follow(dial: (owner: ConnectionOwner) => HttpConnection, request: RequestText): void {
    if (this.#isOver) return;
    const connection = dial({ free: () => this.#connection?.end(OVER), gone: () => {} });
    this.#connection = connection;
    connection.letGo();
    connection.ask(request, this);
  }

  end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#silence);
    this.#connection?.end(OVER);
    this.#ears.over(error);
  }

  // ---- what the connection says

  head({ status }: AnswerHead): void {
    if (this.#isOver) return;
    if (status !== 200) return this.end(this.#errors.ofStatus(status));
    this.#hasBegun = true;
    this.#silence.refresh();
    this.#ears.begun();
  }

  part(bytes: Buffer): void {
    if (!this.#isOver) this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  whole(): void {
    this.end(undefined);
  }

  failed(error: HttpError): void {
    this.end(this.#hasBegun ? error : this.#errors.of(error));
  }

  #take(text: string): void {
    this.#silence.refresh();
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > LONGEST_LINE) return this.end(new Error("a line of a watch has no end"));
    for (const line of lines) {
      if (this.#isOver || line.trim() === "") continue;
      const event = eventOf(line);
      if (event === undefined) return this.end(new Error("a line of a watch is no event"));
      this.#ears.hear(event);
    }
    return undefined;
  }
}

const OVER = new Error("the watch is over");

function eventOf(line: string): KubernetesEvent | undefined {
  try {
    const event = JSON.parse(line) as Partial<KubernetesEvent> | null;
    return typeof event?.type === "string" ? { type: event.type, object: event.object } : undefined;
  } catch {
    return undefined;
  }
}
