// A connection to the process of one holder, kept for as long as somebody waits for that holder: says when there is news, and when it is dead.
// End of file alone is no death (the beacon may have been put out): the socket is asked again, and only a refusal counts (probe.ts). All who wait see the
// end at the same instant; each asks after a pause of its own, so that one of them is through before the others begin.
import { connect, type Socket } from "node:net";
import type { SocketFile } from "./place.ts";
import { type Life, meaningOf } from "./probe.ts";

/** unsure: the connection has ended, and that proves nothing; it is made again if it can be. */
export type News = "change" | "dead" | "unsure";

export class Vigil {
  readonly #socket: SocketFile;
  readonly #hear: (news: News) => void;
  readonly #pauseMs: () => number;
  #connection: Socket | undefined;
  /** alive: connected. unknown: not connected, and that proves nothing. */
  #life: Life = "unknown";
  #isOver = false;

  constructor(socket: SocketFile, hear: (news: News) => void, pauseMs: () => number) {
    this.#socket = socket;
    this.#hear = hear;
    this.#pauseMs = pauseMs;
    this.renew();
  }

  get life(): Life {
    return this.#life;
  }

  /** Tries again where the last try proved nothing. */
  renew(): void {
    if (this.#connection !== undefined || this.#life === "dead" || this.#isOver) return;
    const connection = connect(this.#socket.path).unref();
    this.#connection = connection;
    let failed: Error | undefined;
    connection.on("connect", () => (this.#life = "alive"));
    connection.on("data", () => this.#hear("change"));
    connection.on("error", (error) => (failed = error));
    connection.on("close", () => {
      if (this.#connection === connection) this.#ended(failed);
    });
  }

  #ended(failed: Error | undefined): void {
    const wasAlive = this.#life === "alive";
    this.#connection = undefined;
    this.#life = wasAlive || failed === undefined ? "unknown" : meaningOf(failed, this.#socket);
    if (this.#life === "dead") return this.#hear("dead");
    if (!wasAlive) return;
    const pauseMs = this.#pauseMs();
    if (pauseMs === 0) this.renew();
    else setTimeout(() => this.renew(), pauseMs).unref();
    this.#hear("unsure");
  }

  end(): void {
    this.#isOver = true;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.destroy();
  }
}
