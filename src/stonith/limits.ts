// The rules that forbid a shot, in words. The machine decides by them, and `conclave stonith fence --dry-run` prints them. Pure.
//
// STONITH that runs wild is an outage of its own. So there is a limit to how many nodes are off at one time, and a limit to how often a shot is decided. A node is never shot if the store
// would lose its quorum with it: without the store nobody could be elected, and no ban could be lifted.
import { intentAgainst, type StonithRecord } from "./record.ts";
import type { StonithMoment, StonithPlan } from "./state.ts";

/** So many nodes may be off that a majority of the configured nodes stays on; one in a cluster of two. */
export function defaultMaxOff(members: readonly string[]): number {
  return Math.max(1, Math.floor((members.length - 1) / 2));
}

export interface ShotCircumstances {
  readonly now: StonithMoment;
  readonly isOrdered: boolean;
}

/** Why no intent may be opened against the node; empty if one may. */
export function problemsOfShot(
  plan: StonithPlan,
  record: StonithRecord,
  node: string,
  { now, isOrdered }: ShotCircumstances,
): readonly string[] {
  const { members, devices } = plan;
  const problems: string[] = [];
  // SAFETY: a leader that powers itself off ends the work that it has just taken over, and nobody is left to verify it.
  if (node === plan.node) problems.push(`${node} is the node of this leader: it never powers itself off`);
  if (!members.includes(node)) problems.push(`${node} is not configured: the members are ${members.join(", ")}`);
  else if (!devices.includes(node) && (isOrdered || !hasWatchdog(record, node)))
    problems.push(
      `no device is configured that powers ${node} off${isOrdered ? "" : ", and it had no hardware watchdog"}`,
    );
  const down = new Set([...nodesDown(record), node]);
  if (down.size > plan.maxOff)
    problems.push(
      `at most ${plan.maxOff} may be off at one time (maxOff): ${[...down].toSorted().join(", ")} would be`,
    );
  problems.push(...problemOfStore(plan, down, node));
  const recent = recentOf(plan, record, now);
  if (!isOrdered && recent.length >= plan.shotsMax)
    problems.push(
      `there were ${recent.length} shots within ${Math.round(plan.windowMs / 1000)} s, and ${plan.shotsMax} are allowed`,
    );
  return problems;
}

/** SAFETY: never so many that a store which is hosted on them loses its quorum. */
function problemOfStore({ storeMembers }: StonithPlan, down: ReadonlySet<string>, node: string): readonly string[] {
  if (!storeMembers.includes(node)) return [];
  const left = storeMembers.filter((member) => !down.has(member)).length;
  const needed = Math.floor(storeMembers.length / 2) + 1;
  if (left >= needed) return [];
  return [`the store would have ${left} of its ${storeMembers.length} servers left, and needs ${needed}`];
}

/** The nodes that are off, or are to be off. */
export function nodesDown({ intents, off }: StonithRecord): readonly string[] {
  return [...new Set([...intents.map(({ node }) => node), ...off.map(({ node }) => node)])];
}

/** An instant in the future counts too: the clock of another leader may be ahead. */
export function recentOf(
  { windowMs }: StonithPlan,
  { recentMs }: StonithRecord,
  { wallMs }: StonithMoment,
): readonly number[] {
  return recentMs.filter((atMs) => Math.abs(wallMs - atMs) < windowMs);
}

/** True if every term of the node that has acted had an armed watchdog: then the machine will have been reset. */
export function hasWatchdog({ acting }: StonithRecord, node: string): boolean {
  const there = acting.filter((stint) => stint.node === node);
  return there.length > 0 && there.every(({ watchdog }) => watchdog !== undefined);
}

/**
 * SAFETY: counted on the clock of the shooter, from the answer to its own ban. From then on the session of the node is not renewed, so its term is
 * over after its ttl. Then the watchdog is not fed any more, and resets the machine. Twice its timeout, because a watchdog may count to its timeout
 * in two stages.
 */
export function watchdogDoneAtMs(record: StonithRecord, node: string, bannedAtMs: number): number {
  if (!hasWatchdog(record, node)) return Infinity;
  const waits = record.acting
    .filter((stint) => stint.node === node)
    .map(({ watchdog }) => (watchdog === undefined ? Infinity : watchdog.ttlMs + 2 * watchdog.timeoutMs));
  return bannedAtMs + Math.max(...waits);
}

/** What `--dry-run` prints for a node. */
export function wouldShoot(
  plan: StonithPlan,
  record: StonithRecord,
  node: string,
  circumstances: ShotCircumstances,
): { readonly isAllowed: boolean; readonly reasons: readonly string[] } {
  const open = intentAgainst(record, node);
  if (open !== undefined)
    return { isAllowed: true, reasons: [`an intent against ${node} is open already: ${open.why}`] };
  const problems = problemsOfShot(plan, record, node, circumstances);
  if (problems.length > 0) return { isAllowed: false, reasons: problems };
  const acted = record.acting.filter((stint) => stint.node === node).map(({ token }) => token);
  const why =
    acted.length === 0
      ? `${node} has not acted, as far as is known: it would be shot because you ask for it`
      : `${node} has acted in term ${acted.join(", ")}, and nobody has proved that it has stopped`;
  return { isAllowed: true, reasons: [why] };
}
