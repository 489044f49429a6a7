// One watch: lines of JSON, each an event, until the server ends the stream. A connection can stay open for hours after the other side has gone, and no byte says so; a client that waits for one would
// hang. So a stream that has been silent for too long is ended from this side: a live server sends bookmarks.
import type { ClientRequest, IncomingMessage } from "node:http";
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

export class EventStream {
  readonly #ears: WatchEars;
  readonly #silence: NodeJS.Timeout;
  #request: ClientRequest | undefined;
  #rest = "";
  #isOver = false;

  constructor(silenceMs: number, ears: WatchEars) {
    this.#ears = ears;
    const silent = (): void =>
      this.end(new KubernetesError("unreachable", "not-applied", `a watch was silent for ${silenceMs} ms`));
    this.#silence = setTimeout(silent, silenceMs).unref();
  }

  follow(request: ClientRequest): void {
    this.#request = request;
    request.on("socket", (socket) => socket.unref());
    if (this.#isOver) request.destroy();
  }

  read(response: IncomingMessage): void {
    if (this.#isOver) return;
    this.#silence.refresh();
    response.setEncoding("utf8");
    response.on("data", (text: string) => this.#take(text));
    response.on("end", () => this.end(undefined));
    response.on("error", (error) => this.end(error));
    response.on("close", () => this.end(undefined));
    this.#ears.begun();
  }

  end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#silence);
    this.#request?.destroy();
    this.#ears.over(error);
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

function eventOf(line: string): KubernetesEvent | undefined {
  try {
    const event = JSON.parse(line) as Partial<KubernetesEvent> | null;
    return typeof event?.type === "string" ? { type: event.type, object: event.object } : undefined;
  } catch {
    return undefined;
  }
}
