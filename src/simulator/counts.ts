// What a run has really exercised. A hunt that finds nothing because nothing happened is no hunt: scripts/hunt.mjs fails below stated minima.

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
  "missingSeats",
  "recordsDeleted",
  "sessionsEnded",
  "forgettings",
  "clockJumps",
  "writesAccepted",
  "staleWritesRefused",
  "equalWritesRefused",
  "manualTerms",
  "announcements",
  "successions",
] as const;

export type CountName = (typeof COUNT_NAMES)[number];
export type Counts = Record<CountName, number>;

export function emptyCounts(): Counts {
  return Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Counts;
}

export function addCounts(total: Counts, more: Readonly<Counts>): void {
  for (const name of COUNT_NAMES) total[name] += more[name];
}
