// The promises of `zookeeper:`, as data. Everything that is counted in ticks follows from `tickMs`, which a client is not told: it is an option. Where the server allows the
// command `conf`, the answer to it takes the place of the option with the opening of a session (`Met`).
//
// LAW 6, proof: only an answered renewal that proves something extends a term. A follower answers pings by itself. It tells the leader of the ensemble, which judges, the sessions that it has heard from: with its
//   answer to the leader's own ping, every half tick. So a keep here is a write to which a majority has agreed, and it proves the touch of the keep BEFORE it (`previous-send`).
//   Argument: keep k−1 was answered within half a tick, so the follower had it by then. The leader pings every half tick, and the follower's answer carries the touch of
//   k−1. Keep k leaves a tick or more after k−1 was sent (`proofApartMs`), over the same connection (`road`), and so through the same follower, behind that answer on its
//   one channel to the leader. A majority agreed to keep k, so the leader was still the leader, and had read everything before it. A later leader gives every session its full timeout.
//   This assumes of the ensemble: while it answers a write within half a tick (`proofWithinMs`), a ping inside it takes no longer than that.
import type { Guarantee } from "../../lease/guarantee.ts";
import { MEMOS } from "../memos.ts";
import type { ShapeName } from "./place.ts";

export const DEFAULT_TICK_MS = 2000;
/** With this many ticks, the usual time between two renewals is no shorter than a tick. */
export const LEAST_TICKS = 4;
/** A server lowers a timeout that it does not grant, and the session uses the granted one. */
const TTL_MAX_MS = 86_400_000;
/** A keep names at most this many holds, so that even a keep of ten thousand stays within what ZooKeeper takes in a request. */
const HOLDS_PER_KEEP = 512;

const STALLED_LEADER =
  "the leader of the ensemble stands still for longer than the session's timeout, or twice within one, while its connections stay open: when it goes on, it ends sessions whose pings it has not read yet";

export function guaranteeOf(tickMs: number, shape: ShapeName = "line"): Guarantee<"fenced"> {
  return {
    store: "zookeeper",
    scope: "network",
    quorum: true,
    ttl: {
      minMs: LEAST_TICKS * tickMs,
      maxMs: TTL_MAX_MS,
      stepMs: 1,
      why: `at least ${LEAST_TICKS} ticks of ${tickMs} ms, the server's tickTime and ?tickMs= in the URL; a server grants no more than its maxSessionTimeout, 20 ticks if nobody has set it`,
    },
    wakes: "watch",
    hintsUntilEnd: true,
    cap: "CP: with a majority of its servers one candidate leads, without one nobody does. Fit for whatever must not run twice.",
    fencing: "fenced",
    token: {
      source: "the number of the write that made the entry in the line, or the seat (czxid)",
      domain: "a random id in a node, made once below the chroot",
      survivesDeletion: true,
      survivesRestore: false,
    },
    shape,
    ...(shape === "race" ? { wakesAll: true } : {}),
    judge: "store-monotonic",
    keepProves: "previous-send",
    ...proofOf(tickMs),
    extraMarginMs: 0,
    earlyEnds: [STALLED_LEADER],
    keep: "one-request",
    holdsPerSession: Infinity,
    holdsPerKeep: HOLDS_PER_KEEP,
    memos: MEMOS,
    bans: true,
    under: faults(),
  };
}

export function proofOf(tickMs: number): { readonly proofWithinMs: number; readonly proofApartMs: number } {
  return { proofWithinMs: tickMs / 2, proofApartMs: tickMs };
}

function faults(): Guarantee["under"] {
  return {
    processPause:
      "A stopped leader is replaced when its session has run out at ZooKeeper, which takes its ttl and up to a tick more; when it wakes it finds its term over. A write that was under way is stopped by the token only.",
    partition:
      "A candidate that is cut off stops at its deadline, before ZooKeeper frees its seat. That holds for a cut inside the ensemble too: a server that is cut off from the others still answers pings, and those count for nothing here.",
    storeLeaderChange:
      "A new leader of the ensemble gives every session its full timeout again: the term goes on if the election takes less than what is left of it, and after a crash of the candidate the next one comes up to a ttl later. A leader of the ensemble that stands still for longer than the session's timeout may end sessions too early when it goes on: the holder learns of it within moments, by its watch, and at the latest at its next renewal; until then two may believe, and the greater token is the true one.",
    storeRestart:
      "What ZooKeeper has answered is on the disks of a majority (unless somebody has set forceSync=no). After a restart every session has its full timeout again.",
    clockJump: "ZooKeeper counts on monotonic clocks; setting the wall clock changes nothing.",
    clockDrift: "The margins of the deadline cover clocks that differ by up to rho.",
    recordDeleted:
      "An operator who deletes the leader's node takes over by force: the next in line may lead at once, with a greater token; the old leader learns of it within moments, by its watch, and at the latest at its next renewal, or the third one if its session has more than 512 names. An ensemble restored from a backup counts its writes from the past: tokens may repeat.",
    machineCloned:
      "Both copies have the same session. It belongs to the copy that connected last, and the other is thrown out: they take it from each other, and both may believe that they lead, with the same token. Stop the candidates before a machine is cloned, or restart them in the copy before it reaches the network.",
  };
}
