// The promises of `etcd:`, as data. They hold for any supported version, since no version is known before a member was met. The version that was met may add to them,
// and this is told with every opened session.
//
// Before 3.4.31 and 3.5.13, an old leader whose disk had stalled could revoke leases that had just been renewed elsewhere (etcd#15247): a term may end before
// its deadline. A client cannot prevent that. But its own key is watched, so the holder learns of it within moments, and the token orders the two.
// Two other mistakes of older versions do no harm here: a renewal answered by a leader that had been replaced (before 3.4.34, 3.5.16), and a renewal of a lease that was gone
// (before 3.4.38, 3.5.23). A keep counts only if a read through the same member confirms it (keep.ts).
import { MEMOS } from "../memos.ts";
import { atLeast } from "../../clients/etcd/version.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import type { Met } from "../contract.ts";
import { READS_PER_TXN } from "./keep.ts";

export const TTL_STEP_MS = 1000;
/** etcd raises a shorter ttl to one and a half election timeouts, in whole seconds: 2 with its defaults. */
const TTL_MIN_MS = 2000;
const TTL_MAX_MS = 86_400_000;

const EARLY_REVOKE =
  "etcd before 3.4.31 and 3.5.13: after its leader's disk has stalled, that old leader may revoke leases that were renewed with the new one (etcd#15247)";

function revokesEarly(version: string): boolean {
  return !(atLeast(version, "3.5.13") || (atLeast(version, "3.4.31") && !atLeast(version, "3.5.0-0")));
}

/** The oldest version of a member that was met so far decides. An older one may still be met, and is told with the next session. */
export function metAt(version: string | undefined): Met | undefined {
  return version === undefined
    ? undefined
    : { server: `etcd ${version}`, earlyEnds: revokesEarly(version) ? [EARLY_REVOKE] : [] };
}

/** The guarantee of every version from 3.4 on. */
export function anyVersion(): Guarantee<"fenced"> {
  return {
    store: "etcd",
    scope: "network",
    quorum: true,
    ttl: {
      minMs: TTL_MIN_MS,
      maxMs: TTL_MAX_MS,
      stepMs: TTL_STEP_MS,
      why: "whole seconds, at least one and a half of etcd's election timeouts, up to a day",
    },
    wakes: "watch",
    hintsUntilEnd: true,
    cap: "CP: with a majority of its members one candidate leads, without one nobody does. Fit for whatever must not run twice.",
    fencing: "fenced",
    token: {
      source: "the revision of the whole store at which the entry in the line was made",
      domain: "the cluster's id, in hexadecimal",
      survivesDeletion: true,
      survivesRestore: false,
    },
    shape: "line",
    judge: "store-monotonic",
    keepProves: "this-send",
    proofWithinMs: Infinity,
    extraMarginMs: 0,
    earlyEnds: [EARLY_REVOKE],
    keep: "one-request",
    holdsPerSession: Infinity,
    holdsPerKeep: READS_PER_TXN,
    memos: MEMOS,
    bans: true,
    under: faults(),
  };
}

function faults(): Guarantee["under"] {
  return {
    processPause:
      "A stopped leader is replaced when its ttl has run out at etcd, plus half a second; when it wakes it finds its term over. A write that was under way is stopped by the token only.",
    partition:
      "A candidate that is cut off stops at its deadline, before etcd frees its seat. Members of etcd without a majority answer nothing that counts.",
    storeLeaderChange:
      "A new leader of etcd gives every lease its full ttl again: the term goes on, and after a crash of the candidate the next one comes up to a ttl later. But before 3.4.31 and 3.5.13 an old leader whose disk had stalled may end a term too early: the holder learns of it within moments, by its watch, and at the latest at its next renewal; until then two may believe, and the greater token is the true one. The event `session` says which version was met. Upgrade etcd.",
    storeRestart:
      "What etcd has answered is on the disks of a majority. After a restart every lease has its full ttl again.",
    clockJump: "etcd counts on monotonic clocks; setting the wall clock changes nothing.",
    clockDrift: "The margins of the deadline cover clocks that differ by up to rho.",
    recordDeleted:
      "An operator who deletes the leader's key or revokes its lease takes over by force: the next in line may lead at once, with a greater token; the old leader learns of it within moments, by its watch, and at the latest at its next renewal, or the third one if its session has more than 128 keys. A cluster restored from a backup, or set up anew with the same members and token, counts revisions from the past: tokens may repeat.",
    machineCloned:
      "Both copies have the same lease and the same key, and etcd renews for both: both may lead, with the same token. Nothing can tell them apart, because the keys are those of Go's candidates. Stop the candidates before a machine is cloned, or restart them in the copy before it reaches the network.",
  };
}
