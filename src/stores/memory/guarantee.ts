// What `memory:` promises, as data, for each shape and judge.
import type { Guarantee } from "../../lease/guarantee.ts";
import { MODEL_MEMOS } from "../../simulator/models/memo-rack.ts";

const TTL_MAX_MS = 86_400_000;

export type MemoryShape = "line" | "race";
export type JudgedBy = "store" | "taker";
export type MemoryLayout = "model" | "swap";

export function guaranteeOf(shape: MemoryShape, judge: JudgedBy, domain: string): Guarantee<"fenced"> {
  return {
    store: "memory",
    scope: "process",
    quorum: false,
    ttl: { minMs: 1, maxMs: TTL_MAX_MS, stepMs: 1, why: "whole milliseconds, up to a day" },
    wakes: "watch",
    cap: "Neither: one process has no partitions. Fit for tests, demonstrations, and for taking turns inside one process.",
    fencing: "fenced",
    token: {
      source:
        shape === "line"
          ? "a revision of the whole store, taken by joining the line"
          : "a counter per name, taken by the swap that wins",
      domain,
      survivesDeletion: true,
      survivesRestore: false,
    },
    shape,
    judge: judge === "store" ? "store-monotonic" : "taker",
    keepProves: "this-send",
    proofWithinMs: Infinity,
    extraMarginMs: 0,
    earlyEnds: [],
    keep: "one-request",
    holdsPerSession: Infinity,
    refusesClones: true,
    memos: MODEL_MEMOS,
    bans: true,
    ...(shape === "race" ? { invites: true } : {}),
    under: {
      processPause:
        judge === "store"
          ? "A pause stops the holder, its rivals and this store together; the first request afterwards finds the holder's session over if the pause outlasted its ttl, and the old holder's token is then older than the next one."
          : "A pause stops the holder, its rivals and this store together; a rival that had watched the holder in silence may take over as soon as all run again, with a greater token.",
      partition: "There is no network: store and candidates are one process.",
      storeLeaderChange: "There are no servers, so none is followed by another.",
      storeRestart:
        "Everything is forgotten with the process. The next one has a new token domain, so that old and new tokens are never compared.",
      clockJump: "Only the monotonic clock is read; setting the wall clock changes nothing.",
      clockDrift: "Store and candidates read the same clock, so that it cannot drift between them.",
      recordDeleted: "Nobody but the candidates can reach the records; there is no way to delete one.",
      machineCloned: "The store is inside the process, so that it is copied with it: each copy has a store of its own.",
    },
  };
}
