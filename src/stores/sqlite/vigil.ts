// A connection to the process of one holder, kept for as long as somebody waits for that holder: says when there is news, and when it is dead.
// End of file alone is no death (the beacon may have been put out): the socket is asked again, and only a refusal counts (probe.ts).
import { connect, type Socket } from "node:net";
import type { SocketFile } from "./place.ts";
import { type Life, meaningOf } from "./probe.ts";

export class Vigil {
  readonly #socket: SocketFile;
  readonly #hear: (news: "change" | "dead") => void;
  #connection: Socket | undefined;
  /** alive: connected. unknown: not connected, and that proves nothing. */
  #life: Life = "unknown";

  constructor(socket: SocketFile, hear: (news: "change" | "dead") => void) {
    this.#socket = socket;
    this.#hear = hear;
    this.renew();
  }

  get life(): Life {
    return this.#life;
  }

  /** Tries again where the last try proved nothing. */
  renew(): void {
    if (this.#connection !== undefined || this.#life === "dead") return;
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
    if (this.#life === "dead") this.#hear("dead");
    else if (wasAlive) this.renew();
  }

  end(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.destroy();
  }
}
