// The shelf that a world's store is built on.
import { nextBetween, type Rng } from "../../base/rng.ts";
import { TOKEN_DOMAIN } from "./guarantees.ts";
import type { StoreSpec } from "./spec.ts";
import { LineShelf } from "../models/line-shelf.ts";
import { RaceShelf } from "../models/race-shelf.ts";
import type { Shelf } from "../models/shelf.ts";

export function createShelf(store: StoreSpec, rng: Rng): Shelf {
  const options = {
    domain: TOKEN_DOMAIN,
    judge: store.judge === "taker" || store.judge === "kernel" ? ("taker" as const) : ("store" as const),
    lateMs: store.lateMaxMs === 0 ? undefined : () => nextBetween(rng, 0, store.lateMaxMs),
    refusesClones: store.refusesClones,
    grant: (askedMs: number) => grantedMs(store, askedMs),
  };
  return store.shape === "line" ? new LineShelf(options) : new RaceShelf({ layout: store.layout, ...options });
}

export function grantedMs({ grantFactor, grantStepMs }: StoreSpec, askedMs: number): number {
  return Math.ceil((askedMs * grantFactor) / grantStepMs) * grantStepMs;
}
