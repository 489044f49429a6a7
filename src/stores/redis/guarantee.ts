// What `redis:` promises, as data: for one server, and for several by Redlock. It gives no tokens: a number that a server may forget could come twice, and a number that may go
// back is worse than none. So every term of it is unfenced, by its type.
import type { Guarantee } from "../../lease/guarantee.ts";

const TTL_MIN_MS = 200;
const TTL_MAX_MS = 86_400_000;
/** How many holds one keep of our own layout checks; the others take turns. */
const HOLDS_PER_KEEP = 256;
/** While the server works on so many claims, this process reads the answer to those before them. */
const CLAIMS_PER_REQUEST = 32;

/** ours: a session, and seats that point to it. redlock: one key with an expiry for each name, as the libraries that go by that name write it. */
export type Layout = "ours" | "redlock";

const CLOCK = "the wall clock of the server is set forward";
const EARLY_ENDS = {
  one: [
    "a replica is promoted that has not heard of the grant",
    "the server is started again without the writes of its last moments",
    "a key is evicted, or removed with FLUSHALL or DEL",
    CLOCK,
  ],
  several: [
    "more than half of the servers forget the grant: they are replaced, restored, flushed, or start again while their wall clocks hide it",
    `${CLOCK}, at one of those that make up the majority`,
  ],
} as const;

export interface RedisShape {
  readonly layout: Layout;
  /** How many servers: more than one is Redlock. */
  readonly servers: number;
  /** The longest ttl of the fleet, where it is known. */
  readonly maxTtlMs: number | undefined;
  /** Connections are our own: nothing between us and the server sends a request twice. */
  readonly isOwn: boolean;
}

export function guaranteeOf({ layout, servers, maxTtlMs, isOwn }: RedisShape): Guarantee<"unfenced"> {
  const isOne = servers === 1;
  return {
    store: isOne ? "redis" : `redis (Redlock over ${servers} servers)`,
    scope: "network",
    quorum: !isOne,
    ttl: {
      minMs: TTL_MIN_MS,
      maxMs: maxTtlMs ?? TTL_MAX_MS,
      stepMs: 1,
      why: `whole milliseconds, long enough for a few round trips, up to ${maxTtlMs === undefined ? "a day" : `the ${maxTtlMs} ms of maxTtlMs`}`,
    },
    wakes: "watch",
    cap: isOne
      ? "Neither: one server decides, and a failover may forget what it decided. Fit for work that is only wasteful when it is done twice (warming a cache, sending a metric), where a Redis is there anyway."
      : "Neither: a majority of servers decides, and what they have forgotten is granted again. Fit for work that is only wasteful when it is done twice, and that goes on while one server is away.",
    fencing: "unfenced",
    token: {
      source: "none: Redis has no number that survives a failover",
      domain: "none",
      survivesDeletion: false,
      survivesRestore: false,
    },
    shape: "race",
    judge: "store-wall",
    keepProves: "this-send",
    proofWithinMs: Infinity,
    extraMarginMs: 0,
    earlyEnds: isOne ? EARLY_ENDS.one : EARLY_ENDS.several,
    keep: isOne ? "one-request" : "per-hold",
    holdsPerSession: Infinity,
    ...(layout === "ours" && isOne ? { holdsPerKeep: HOLDS_PER_KEEP } : {}),
    claimsPerRequest: CLAIMS_PER_REQUEST,
    refusesClones: isOwn && isOne,
    under: { ...(isOne ? ONE : SEVERAL), ...(isOwn && isOne ? {} : { machineCloned: NO_BEATS }) },
  };
}

const NO_BEATS =
  "Both copies have the same session, and both go on to renew it: two lead for as long as both run, and nothing tells them apart.";

const PAUSE =
  "A stopped holder is waited for until its ttl has run out; when it wakes it finds its term over, but a write that it had begun lands after its successor's, and nothing can refuse it.";

const ONE: Guarantee["under"] = {
  processPause: PAUSE,
  partition:
    "A holder that is cut off from the server ends its term at its own deadline; the server frees the seat no earlier than a ttl after the last renewal that it received.",
  storeLeaderChange:
    "Replication is asynchronous, also with WAIT and with Sentinel: a promoted replica may not know the holder. Then two lead until the older one's next renewal or deadline.",
  storeRestart:
    "Without appendfsync always, a server that starts again may have forgotten the last grants and renewals: two may lead for up to a ttl. With maxTtlMs it grants nothing until it has run for that long, and no two lead, as long as its wall clock does not jump.",
  clockJump:
    "The server's wall clock says when a ttl is over. If it is set forward, the seat of a live holder is freed too early, and two may lead for up to a ttl; if it is set back, a dead holder is waited for longer, by as much. Clocks of candidates do not matter.",
  clockDrift: "The server counts a ttl from its receipt of a renewal; holders subtract margins for drift up to rho.",
  recordDeleted:
    "A deleted key looks as if it had never been: the name is granted at once, and its old holder learns of it by its next renewal. Until then two lead. Eviction is a deletion: set maxmemory-policy noeviction.",
  machineCloned:
    "Both copies have the same session. The first to renew goes on; the second is refused at its next renewal, and loses its terms. Until then, for up to a third of the ttl, both may lead.",
};

const SEVERAL: Guarantee["under"] = {
  ...ONE,
  partition:
    "A holder that reaches less than a majority of the servers ends its term at its own deadline, which is counted from before its first request; the servers free the seat no earlier than a ttl after they received it.",
  storeLeaderChange:
    "The servers must be independent: none has a replica that may be promoted in its place. If one has, the promoted replica may not know the holder, and one such server can be the one that gives a second candidate its majority.",
  storeRestart:
    "A server that has run for less than maxTtlMs grants nothing, so that what it has forgotten has run out before it votes again. It counts that by its wall clock.",
  clockJump:
    "The wall clock of each server says when its own key is over. One server whose clock is set forward can give a second candidate its majority, if it was one of the majority of the first.",
  recordDeleted:
    "Keys that are deleted, flushed or evicted on more than half of the servers let a second candidate lead until the first one's next renewal.",
};
