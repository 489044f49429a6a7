// Counts the things that a run has really exercised. A hunt in which nothing happened finds nothing and proves nothing: it fails below stated minima (minima.ts).

import { isWished } from "../../base/errors.ts";
import type { ConclaveEvent } from "../../lease/events.ts";
import type { Token } from "../../lease/exchange.ts";
import { NO_DOMAIN } from "./guarantees.ts";
import type { CandidateSpec } from "./spec.ts";

/** The names of everything that worlds of leases count. */
export const COUNT_NAMES = [
  "events",
  "steps",
  "elected",
  "takeovers",
  "closeTakeovers",
  "driftNearMargin",
  "lateGrantsHandedBack",
  "unwantedGrantsHandedBack",
  "regressedGrantsHandedBack",
  "unknownsWhileHeld",
  "pausesAcrossDeadline",
  "suspendsAcrossDeadline",
  "freezesWhileHeld",
  "jeopardies",
  "endedByDeadline",
  "endedByStore",
  "overstays",
  "releases",
  "crashesWhileHeld",
  "lateCommits",
  "overtakenCommits",
  "staleLooks",
  "unsureKeeps",
  "weakKeeps",
  "confirmedKeeps",
  "unconfirmedGrants",
  "partKeeps",
  "missingSeats",
  "recordsDeleted",
  "sessionsEnded",
  "forgettings",
  "clockJumps",
  "writesAccepted",
  "staleWritesRefused",
  "equalWritesRefused",
  "manualTerms",
  "threadTerms",
  "repeats",
  "stalls",
  "blocksAcrossDeadline",
  "blocksSurvived",
  "unprovenKeeps",
  "movedRoads",
  "unfencedTerms",
  "foreignWritesRefused",
  "leftWritesRefused",
  "replacements",
  "movedLineGrants",
  "adoptions",
  "abandonedSeats",
  "heldUntilSeats",
  "refusalsForGood",
  "failures",
  "closesWhileHeld",
  "clonesWhileHeld",
  "lockDelays",
  "requests",
  "requestsTooLate",
  "requestsObeyed",
  "tenuresEnded",
  "invitations",
  "invitationsAnswered",
  "pleas",
  "outranked",
  "oneHoldLostOfMany",
  "announcements",
  "memosWanted",
  "memosWritten",
  "memosSentAgain",
  "memosReordered",
  "memosTooLate",
  "bansWritten",
  "bansLifted",
  "bannedOpenings",
  "bannedClaims",
  "successions",
] as const;

/** One of `COUNT_NAMES`. */
export type CountName = (typeof COUNT_NAMES)[number];
/** The number of times that each thing happened in a world of leases. */
export type Counts = Record<CountName, number>;

/** All counts at 0. */
export function emptyCounts(): Counts {
  return Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Counts;
}

/** Adds `more` to `total`, name by name. */
export function addCounts(total: Counts, more: Readonly<Counts>): void {
  for (const name of COUNT_NAMES) total[name] += more[name];
}

/** Counts a report of a process about its terms. */
export function countEvent(counts: Counts, event: ConclaveEvent): void {
  if (event.type === "state" && event.state === "jeopardy") counts.jeopardies++;
  if (event.type === "state" && event.reason === "asked") counts.requestsObeyed++;
  if (event.type === "state" && event.reason === "tenure") counts.tenuresEnded++;
  if (event.type === "state" && event.reason === "outranked") counts.outranked++;
  if (event.type === "overstayed") counts.overstays++;
  if (event.type === "released") counts.releases++;
  if (event.type === "lost")
    if (event.reason === "superseded" || event.reason === "session-lost") counts.endedByStore++;
    else if (!isWished(event.reason)) counts.endedByDeadline++;
  if (event.type === "handed-back") {
    if (event.why === "late") counts.lateGrantsHandedBack++;
    if (event.why === "unwanted") counts.unwantedGrantsHandedBack++;
    if (event.why === "regressed") counts.regressedGrantsHandedBack++;
  }
}

/** A term was announced. */
export function countTerm(counts: Counts, { clock, renewal }: CandidateSpec, rho: number, token: Token): void {
  counts.elected++;
  if (token.domain === NO_DOMAIN) counts.unfencedTerms++;
  if (Math.abs(clock.rate - 1) >= 0.9 * rho) counts.driftNearMargin++;
  if (renewal === "manual") counts.manualTerms++;
  if (renewal === "thread") counts.threadTerms++;
}
