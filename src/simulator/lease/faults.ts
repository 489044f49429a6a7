// Faults as data: they are drawn up front from the seed, each with a beginning and an end, so that a schedule can be printed, shrunk and replayed. Unexpected acts of a user or an operator are in the
// schedule too.
import { nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";

export const FAULT_KINDS = [
  "cut-up", // requests are lost, answers arrive
  "cut-down", // requests arrive, answers are lost
  "cut", // neither requests nor answers arrive
  "stall", // requests wait, and arrive all at once at the end: after their caller gave up
  "pause", // the process stands still, but its clocks run
  "suspend", // the host sleeps: the monotonic clock stops
  "freeze", // the virtual machine is paused: every clock stops
  "crash", // the process dies, and restarts after the duration with a new nonce
  "store-pause", // requests queue at the store
  "store-freeze", // the store's clock stops as well
  "store-cut", // nobody reaches the store
  "jump", // the store's wall clock jumps by `amountMs`
  "delete-record", // an operator deletes the record of a name
  "end-session", // an operator ends a session
  "forget", // a failover loses the last writes
  "resign", // the leader gives up the term, and stays a candidate
  "withdraw", // a candidate stops wanting to lead, and stands again after the duration
  "finish", // the work ends by itself
  "block", // the main loop stands still, but a renewal thread does not
  "lose-thread", // the renewal thread ends
  "clone", // a copy of the process goes on beside it, for the duration
  "close", // the candidate closes, and a new life begins after the duration
  "ask", // somebody asks the leader of a term to hand over; the request arrives after the duration, or at once
  "invite", // somebody wants a candidate to lead after a term; the invitation arrives after the duration, or at once
  "replace", // an empty store takes the place of this one, with tokens of another domain
] as const;

/** The kinds of faults in a world of leases. */
export type LeaseFaultKind = (typeof FAULT_KINDS)[number];

/** One fault of a world of leases: its kind, its time, and its victim. */
export interface Fault {
  /** Its number in the schedule as drawn; it stays when others are taken out. */
  readonly index: number;
  readonly kind: LeaseFaultKind;
  readonly atMs: number;
  readonly durationMs: number;
  readonly amountMs: number;
  readonly election: number;
  /** The process that it hits, unless it aims at the leader of `election` at that moment. */
  readonly slot: number;
  readonly aimsAtLeader: boolean;
  /** It waits from `atMs` on, and strikes when a candidate is next elected in `election`. */
  readonly waitsForElection: boolean;
}

export interface LeaseFaultPlan {
  readonly kinds: readonly LeaseFaultKind[];
  readonly count: number;
  readonly untilMs: number;
  readonly durationMinMs: number;
  readonly durationMaxMs: number;
  readonly slots: number;
  readonly elections: number;
}

export function drawFaults(rng: Rng, plan: LeaseFaultPlan): readonly Fault[] {
  if (plan.kinds.length === 0) return [];
  const drawn = Array.from({ length: plan.count }, () => ({
    kind: nextOf(rng, plan.kinds),
    atMs: nextBetween(rng, 0, plan.untilMs),
    durationMs: nextBetween(rng, plan.durationMinMs, plan.durationMaxMs),
    amountMs: nextBetween(rng, -plan.durationMaxMs, plan.durationMaxMs),
    election: nextInteger(rng, 0, plan.elections - 1),
    slot: nextInteger(rng, 0, plan.slots - 1),
    aimsAtLeader: nextChance(rng, 0.75),
    waitsForElection: nextChance(rng, 0.3),
  }));
  return drawn.toSorted((a, b) => a.atMs - b.atMs).map((fault, index) => ({ index, ...fault }));
}

/** The schedule of a world with more faults in it, numbered after those that it has. */
export function withMore(faults: readonly Fault[], more: readonly Fault[]): readonly Fault[] {
  const first = Math.max(-1, ...faults.map(({ index }) => index)) + 1;
  return [...faults, ...more.map((fault) => ({ ...fault, index: first + fault.index }))];
}

/** A fault in words. */
export function describeFault(fault: Fault): string {
  const { index, kind, atMs, durationMs, amountMs, election, slot } = fault;
  const whom = fault.aimsAtLeader ? `the leader of election ${election}, else candidate ${slot}` : `candidate ${slot}`;
  const amount = kind === "jump" ? ` by ${amountMs.toFixed(0)} ms` : "";
  const when = fault.waitsForElection
    ? `at the first election ${election} after ${atMs.toFixed(0)} ms`
    : `at ${atMs.toFixed(0)} ms`;
  return `fault ${index}: ${kind}${amount} ${when} for ${durationMs.toFixed(0)} ms, ${whom}`;
}
