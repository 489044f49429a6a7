// What `kubernetes:` promises, as data.
import type { Guarantee, MemoBounds } from "../../lease/guarantee.ts";

const TTL_STEP_MS = 1000;
const TTL_MAX_MS = 86_400_000;
/** All annotations of an object have 256 KiB together; the leader's value may take 64 KiB of them. */
export const LEASE_MEMOS: MemoBounds = { keys: 16, bytes: 8_192 };

export const KUBERNETES: Guarantee<"fenced"> = {
  store: "kubernetes",
  scope: "network",
  quorum: true,
  ttl: {
    minMs: TTL_STEP_MS,
    maxMs: TTL_MAX_MS,
    stepMs: TTL_STEP_MS,
    why: "whole seconds, as leaseDurationSeconds is, up to a day",
  },
  wakes: "watch",
  cap: "CP: while the API server can write, one candidate leads; otherwise nobody does. Fit for whatever must not run twice and lives in that cluster.",
  fencing: "fenced",
  token: {
    source: "the resourceVersion of the write that granted the Lease",
    domain: "kubernetes- and the uid of the namespace",
    survivesDeletion: true,
    survivesRestore: false,
  },
  shape: "race",
  judge: "taker",
  keepProves: "this-send",
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  earlyEnds: [],
  keep: "per-hold",
  holdsPerSession: Infinity,
  // Each name is a request of its own: claims that are sent together would wait for the slowest of them.
  claimsPerRequest: 1,
  memos: LEASE_MEMOS,
  invites: true,
  under: {
    processPause:
      "A stopped leader is replaced after its ttl of silence; when it wakes it finds its term over. A write that was under way is stopped by the token only.",
    partition:
      "A candidate that is cut off from the API server stops at its deadline, before anybody who has watched its Lease in silence takes it.",
    storeLeaderChange:
      "Renewals fail while the database behind the API server elects; the term goes on if one succeeds before its deadline.",
    storeRestart: "What the API server has answered is on disk. The term goes on if it is back before the deadline.",
    clockJump:
      "Silence is measured on the taker's own monotonic clock, never by renewTime. Setting a wall clock changes what kubectl shows, and nothing else.",
    clockDrift: "The margins of the deadline cover clocks that differ by up to rho.",
    recordDeleted:
      "An operator who deletes the Lease takes over by force. Candidates that had seen it held wait for its ttl; one that starts just then, or a Go candidate, takes it at once, with a greater token. The old leader learns of it within moments, by its watch, and at the latest at its next renewal, and never makes the Lease anew. A cluster restored from a backup counts versions from the past: tokens may repeat.",
    machineCloned:
      "Both copies have the same session and renew the same Lease: both may lead, with the same token. Stop the candidates before a machine is cloned. Pods are not cloned.",
  },
};
