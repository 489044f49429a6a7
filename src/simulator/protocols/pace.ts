// Checks that time passes: timeouts of nothing, or nearly nothing, can keep a world busy for ever within one millisecond, and no end in simulated time would ever be reached. A program that runs a world
// which somebody else has described checks this after every event; more events than any election needs are a RangeError.
import type { ProtocolWorld } from "./world.ts";

const WINDOW_MS = 1;

export class PaceCheck {
  readonly #world: ProtocolWorld;
  /** This is enough for every member to talk to every other, several times over. */
  readonly #eventsMax: number;
  #fromMs = 0;
  #events = 0;

  constructor(world: ProtocolWorld) {
    this.#world = world;
    this.#eventsMax = 300_000 + 20 * world.nodes ** 2;
  }

  look(): void {
    const { nowMs } = this.#world;
    if (nowMs >= this.#fromMs + WINDOW_MS) {
      this.#fromMs = nowMs;
      this.#events = 0;
    } else if (++this.#events > this.#eventsMax)
      throw new RangeError(
        `more than ${this.#eventsMax} events within ${WINDOW_MS} ms, at ${nowMs.toFixed(3)} ms: time does not pass. Is a timeout or an interval 0?`,
      );
  }
}
