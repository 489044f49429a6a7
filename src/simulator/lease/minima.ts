// The counts that a hunt of leases must reach, for every thousand seeds: about half of the usual ones. A hunt below them has become useless, and if it finds nothing, that proves nothing.
import type { CountName, Counts } from "./counts.ts";

const MINIMA_PER_THOUSAND: Partial<Record<CountName, number>> = {
  events: 500_000,
  elected: 5000,
  takeovers: 3500,
  closeTakeovers: 60,
  driftNearMargin: 1000,
  lateGrantsHandedBack: 25,
  unwantedGrantsHandedBack: 3,
  regressedGrantsHandedBack: 60,
  unknownsWhileHeld: 2000,
  pausesAcrossDeadline: 200,
  suspendsAcrossDeadline: 200,
  freezesWhileHeld: 50,
  jeopardies: 4000,
  endedByDeadline: 1000,
  endedByStore: 250,
  overstays: 800,
  releases: 2500,
  crashesWhileHeld: 150,
  lateCommits: 8000,
  overtakenCommits: 8000,
  staleLooks: 5000,
  unsureKeeps: 400,
  weakKeeps: 1000,
  confirmedKeeps: 50,
  unconfirmedGrants: 20,
  partKeeps: 200,
  missingSeats: 1000,
  recordsDeleted: 80,
  sessionsEnded: 70,
  forgettings: 180,
  clockJumps: 50,
  writesAccepted: 12_000,
  staleWritesRefused: 300,
  equalWritesRefused: 20,
  manualTerms: 400,
  threadTerms: 450,
  repeats: 250,
  stalls: 18,
  blocksAcrossDeadline: 110,
  blocksSurvived: 50,
  unprovenKeeps: 300,
  movedRoads: 780,
  unfencedTerms: 600,
  foreignWritesRefused: 250,
  leftWritesRefused: 10,
  replacements: 70,
  movedLineGrants: 300,
  adoptions: 120,
  abandonedSeats: 80,
  heldUntilSeats: 8000,
  refusalsForGood: 350,
  failures: 20,
  closesWhileHeld: 80,
  clonesWhileHeld: 15,
  lockDelays: 120,
  requests: 330,
  requestsTooLate: 170,
  requestsObeyed: 85,
  tenuresEnded: 100,
  invitations: 380,
  invitationsAnswered: 80,
  pleas: 1000,
  outranked: 40,
  oneHoldLostOfMany: 45,
  announcements: 2000,
  memosWritten: 6500,
  memosSentAgain: 230,
  memosReordered: 35,
  memosTooLate: 80,
  bansWritten: 130,
  bansLifted: 240,
  bannedOpenings: 900,
  bannedClaims: 9,
  successions: 2000,
};

/** At least one in this many control seeds must show an overlap. */
export const CONTROL_ONE_IN = 25;

/** Returns the counts that were missed, in words. */
export function missedMinima(counts: Readonly<Counts>, seeds: number, distinctHashes: number): readonly string[] {
  const missed = Object.entries(MINIMA_PER_THOUSAND).flatMap(([name, perThousand]) => {
    const least = Math.floor((perThousand * seeds) / 1000 - 3 * Math.sqrt((perThousand * seeds) / 1000));
    const count = counts[name as CountName];
    return count < least ? [`${name}: ${count}, and at least ${least} were expected of ${seeds} seeds`] : [];
  });
  return distinctHashes < seeds ? [...missed, `distinct traces: ${distinctHashes} of ${seeds} seeds`] : missed;
}
