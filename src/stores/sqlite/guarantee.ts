// The promises of `sqlite:`, as data: on a file, and on a database in memory (for tests).
import type { Guarantee } from "../../lease/guarantee.ts";
import { MEMOS } from "../memos.ts";

const TTL_MIN_MS = 100;
const TTL_MAX_MS = 86_400_000;

/** kernel: Linux says when a holder's time is up and whether its process lives. silence: rivals watch for silence, as with other stores. memory: there is one process. */
export type Evidence = "kernel" | "silence" | "memory";

export function guaranteeOf(evidence: Evidence): Guarantee<"fenced"> {
  return {
    store: "sqlite",
    scope: evidence === "memory" ? "process" : "host",
    quorum: false,
    ttl: {
      minMs: TTL_MIN_MS,
      maxMs: TTL_MAX_MS,
      stepMs: 1,
      why: "whole milliseconds, long enough for a few commits to disk, up to a day",
    },
    wakes: "watch",
    cap: "Neither: one host has no partitions. If the host or its disk is down, nobody leads. Fit for many processes on one host, with nothing else installed.",
    fencing: "fenced",
    token: {
      source:
        "a counter per name, raised by the transaction that grants, or by an earlier one that reserves 64 tokens for a session",
      domain: "a random id, made with the file and kept in it",
      survivesDeletion: true,
      survivesRestore: false,
    },
    shape: "race",
    judge: evidence === "kernel" ? "kernel" : "taker",
    keepProves: "this-send",
    proofWithinMs: Infinity,
    extraMarginMs: 0,
    earlyEnds: [],
    keep: "one-request",
    holdsPerSession: Infinity,
    refusesClones: true,
    memos: MEMOS,
    bans: true,
    invites: true,
    under: faults(evidence),
  };
}

function faults(evidence: Evidence): Guarantee["under"] {
  return {
    processPause:
      evidence === "kernel"
        ? "A stopped process is not dead: its seat is waited for until its ttl has run out on the clock that all processes of this host read, and a process that wakes later finds its term over. A killed process is noticed at once. Stopped in the very middle of a commit, a process keeps SQLite's lock, and nobody can be elected until it goes on or is killed. A write that was under way is stopped by the token only."
        : "A stopped process is waited for until a rival has watched it in silence for its ttl; a process that wakes later finds its term over. Stopped in the very middle of a commit, it keeps SQLite's lock, and nobody can be elected until it goes on or is killed. A write that was under way is stopped by the token only.",
    partition: "There is no network: the candidates of one host meet in one file. Network file systems are refused.",
    storeLeaderChange: "There are no servers, so none is followed by another.",
    storeRestart:
      evidence === "memory"
        ? "Everything is forgotten with the process, and the next one has a new token domain."
        : "After a restart of the host no token that was told is granted again, as far as the disk keeps what it has acknowledged. Every grant that was answered is still there, except for the last ones of a lock that was taken again and again; their holders ended with the host. A seat that was held before the restart is waited for in silence for its ttl, and so is one whose release or last grants a power cut may have undone.",
    clockJump: "Only the monotonic clock is read; setting the wall clock changes nothing.",
    clockDrift:
      evidence === "kernel"
        ? "All processes of a host read one clock, so that it cannot drift between them. In another time namespace, or after a restart, silence is watched with the usual margins."
        : "Rivals watch silence with margins for drift up to rho.",
    recordDeleted:
      evidence === "memory"
        ? "Nobody but this process can reach the records."
        : "A deleted seat or session is waited for as if it were held, and its holder loses the term within moments; a counter cannot be deleted. If the file is deleted or replaced, its holders lose their terms within moments, but a process that opens the new file may lead meanwhile; a new file has a new token domain, so that guards refuse the old tokens until told otherwise. A restored backup brings old counters back: tokens may repeat.",
    machineCloned:
      "The file is copied with the machine, so that each copy of the machine has a leader of its own, with the same tokens; nothing in the file can tell. Of two copies of one process on one host (a checkpoint that was restored twice), the second to renew is refused, and loses its terms.",
  };
}
