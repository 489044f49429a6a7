// What `postgres:` promises, as data: takers judge by silence, or, if the user asked for it, the database's clock judges.
import type { Guarantee } from "../../lease/guarantee.ts";
import { MEMOS } from "../memos.ts";

const TTL_MIN_MS = 200;
const TTL_MAX_MS = 86_400_000;

/** silence: a rival watches for the ttl. database-clock: database time says when a ttl is over. */
export type Expiry = "silence" | "database-clock";

export function guaranteeOf(expiry: Expiry): Guarantee<"fenced"> {
  const byClock = expiry === "database-clock";
  return {
    store: "postgres",
    scope: "network",
    quorum: false,
    ttl: {
      minMs: TTL_MIN_MS,
      maxMs: TTL_MAX_MS,
      stepMs: 1,
      why: "whole milliseconds, long enough for a few round trips and commits, up to a day",
    },
    wakes: "watch",
    cap: "CP as far as its failover is: one primary decides. While it is away nobody is elected; with asynchronous replication a failover may forget a grant. Fit for services that have a Postgres anyway.",
    fencing: "fenced",
    token: {
      source: "a counter per name, raised by the transaction that grants",
      domain: "a random id, made with the tables and kept in them; a promoted replica and a copy have the same",
      survivesDeletion: true,
      survivesRestore: false,
    },
    shape: "race",
    judge: byClock ? "store-wall" : "taker",
    keepProves: "this-send",
    proofWithinMs: Infinity,
    extraMarginMs: 0,
    earlyEnds: byClock ? ["the database's clock is set forward", "a failover to a server whose clock is ahead"] : [],
    keep: "one-request",
    holdsPerSession: Infinity,
    refusesClones: true,
    memos: MEMOS,
    bans: true,
    invites: true,
    under: { ...FAULTS, ...(byClock ? BY_CLOCK : {}) },
  };
}

const FAULTS: Guarantee["under"] = {
  processPause:
    "A stopped holder is waited for until a rival has watched it in silence for its ttl; when it wakes it finds its term over. A statement that was under way, also one of a process that was killed, may be committed after that: only a token stops its effect (postgresFence).",
  partition:
    "A holder that is cut off from the database ends its term at its own deadline; a rival takes over no earlier than a ttl of silence.",
  storeLeaderChange:
    "With synchronous replication a failover keeps every grant, and no two lead. With asynchronous replication the last commits may be forgotten: a grant, its token and the end of a session. Then two may lead until the older one's next renewal or deadline, the same number may be granted twice, and only the bid tells the two apart: guards refuse the second.",
  storeRestart:
    "Nobody is elected while it is down; every grant and renewal that was answered is there afterwards, as long as fsync and synchronous_commit are on. A holder whose deadline has not passed goes on. What was given back in the last moments may be held again, by somebody who no longer believes that: it is waited for, for a ttl at most.",
  clockJump: "No wall clock is used, neither of the candidates nor of the database.",
  clockDrift: "Rivals watch silence on their own monotonic clocks, with margins for drift up to rho.",
  recordDeleted:
    "A deleted seat or session is waited for as if it were held, and its holder loses the term within moments. A counter cannot be deleted or lowered. A restored backup brings old counters back: tokens may repeat.",
  machineCloned:
    "Both copies have the same session and the same tokens. The first to renew goes on; the second is refused at its next renewal, and loses its terms. Until then, for up to a third of the ttl, both may lead. Tables whose functions are older than this need `conclave schema postgres` first; until then both are renewed.",
};

const BY_CLOCK: Partial<Guarantee["under"]> = {
  storeLeaderChange: `${FAULTS.storeLeaderChange} And the new server's clock counts: if it is ahead, a live holder's seat is freed too early, by as much.`,
  clockJump:
    "The database's clock decides when a ttl is over. If it is set forward, the seat of a live holder is freed too early, and two may lead for up to a ttl; if it is set back, a dead holder is waited for longer, by as much. The token orders the two.",
  clockDrift: "The database counts a ttl from its receipt of a renewal; holders subtract margins for drift up to rho.",
};
