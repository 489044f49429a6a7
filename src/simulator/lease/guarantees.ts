// The guarantee that the modelled store of a world declares. The machine reads it like that of a real driver; `under` is for people, and no code reads it here.
import type { Guarantee } from "../../lease/guarantee.ts";
import type { StoreSpec } from "./spec.ts";

export const TOKEN_DOMAIN = "simulated";
/** Stands for the token of a term that has none. */
export const NO_DOMAIN = "";

export function guaranteeOf(store: StoreSpec): Guarantee {
  const sentence = "See src/simulator/lease/store-host.ts.";
  return {
    store: "simulated",
    scope: "network",
    quorum: store.forgetMs === 0,
    ttl: { minMs: 1, maxMs: 3_600_000, stepMs: 1, why: "any whole number of milliseconds" },
    wakes: store.wakes,
    cap: "CP",
    fencing: store.isFenced ? "fenced" : "unfenced",
    token: { source: "a counter", domain: TOKEN_DOMAIN, survivesDeletion: true, survivesRestore: store.forgetMs === 0 },
    shape: store.shape,
    judge: store.judge,
    keepProves: store.keepProves,
    proofWithinMs: store.proofWithinMs,
    extraMarginMs: store.declaresWhenMet === true ? 0 : store.extraMarginMs,
    earlyEnds: store.forgetMs === 0 && store.judge !== "store-wall" ? [] : ["failover", "clock jump"],
    keep: store.shape === "race" && store.layout === "record" ? "per-hold" : "one-request",
    holdsPerSession: Infinity,
    holdsPerKeep: store.holdsPerKeep,
    refusesClones: store.refusesClones ?? false,
    bans: true,
    ...(store.shape === "race" && store.wakes === "watch" && store.isFenced ? { invites: true } : {}),
    under: {
      processPause: sentence,
      partition: sentence,
      storeLeaderChange: sentence,
      storeRestart: sentence,
      clockJump: sentence,
      clockDrift: sentence,
      recordDeleted: sentence,
      machineCloned: sentence,
    },
  };
}
