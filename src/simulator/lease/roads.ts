// The connections by which sessions reach a store that relays touches (`previous-send`). The server at the other end of a connection tells the judge of a touch with the
// next keep that comes the same way. A session that moves to another connection leaves its last touch behind: the judge never hears of it.
import { nextChance } from "../../base/rng.ts";
import type { Kept } from "../../lease/exchange.ts";
import type { StoreSpec } from "./spec.ts";
import type { LeaseSurroundings } from "./surroundings.ts";

interface Way {
  readonly road: number;
  /** The time from which the judge counts. */
  readonly heardAt: number;
}

export class Roads {
  readonly #world: LeaseSurroundings;
  readonly #relays: boolean;
  /** The chance that a keep comes by another connection than the one before it. */
  readonly #chance: number;
  readonly #ways = new Map<string, Way>();

  constructor(world: LeaseSurroundings, { keepProves, movesRoads = 0 }: StoreSpec) {
    this.#world = world;
    this.#relays = keepProves === "previous-send";
    this.#chance = movesRoads;
  }

  /** Returns the time from which the judge counts. `touchedAt`: the time when the keep before this one came. `nowAt`: the time from which the judge would count if it heard of this one now. */
  hear(id: string, touchedAt: number | undefined, nowAt: number, isCalm: boolean): number {
    const relayedAt = this.#relays && touchedAt !== undefined ? Math.min(touchedAt, nowAt) : nowAt;
    if (this.#chance === 0 || isCalm) return relayedAt;
    const way = this.#ways.get(id);
    const moves = way !== undefined && nextChance(this.#world.rng, this.#chance);
    if (moves) this.#world.counts.movedRoads++;
    const heardAt = moves ? way.heardAt : relayedAt;
    this.#ways.set(id, { road: (way?.road ?? 0) + (moves ? 1 : 0), heardAt });
    return heardAt;
  }

  /** Adds the road to the answer. */
  named(kept: Kept): Kept {
    const way = kept.kind === "kept" ? this.#ways.get(kept.session.id) : undefined;
    return way === undefined ? kept : ({ ...kept, road: `${way.road}` } as Kept);
  }
}
