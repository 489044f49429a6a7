// Who becomes the primary: a pure function of what was read after the fence. Nothing is writable then, so that positions stand still.
//
//   1. History first. A server whose history is no history of a primary is never chosen: it was restored, emptied, or wrote by itself. Of two histories the later one wins.
//   2. Then the greatest received position.
//   3. Priority, and an order's wish, decide only between servers whose positions are within `lagMax` of the greatest. Where commits wait for standbys that is 0.
//
// Why no acknowledged commit is lost under `ANY k` of n promotable standbys: it is on k of them. Of n − k + 1 that were seen at least one has it, positions of one history are prefixes of each other,
// and the greatest of those seen has everything that any of them has. With fewer seen, nobody is chosen. The primary that took the commits has all of them: if that one is seen, it stands for its whole set.
// A server whose history is unknown is not seen: it may have a commit that the others lack, and is never chosen.
//
// Where nothing was fenced, a server that is the primary already is adopted: a running group that is watched from now on keeps its primary.
//
// A server that was promoted in this very change, without anybody confirming it, has everything that it was chosen for, and may be chosen again, as may one that has followed it: otherwise a commit that only they have
// would be lost. Of two such promotions the later one wins, whatever the positions: it was chosen when everything before was known, and its writes are not those of the other. In a later change another has been the
// primary since, and none of them counts.
import type { FailoverRecord, Position } from "./record.ts";

/** What one server said of itself. `down`: it certainly does not serve; `unknown`: nobody knows. */
export type View =
  | {
      readonly is: "up";
      readonly role: "primary" | "replica";
      readonly history: string;
      /** Received, not only applied. */
      readonly position: Position;
      /** The server that it replicates from, if it is one of ours. */
      readonly follows: string | undefined;
      /** It is connected to whom it follows. */
      readonly isLinked: boolean;
      /** It holds no data. */
      readonly isEmpty: boolean;
      /** The histories with which its own begins, the last one first, where that is known. */
      readonly ancestors?: readonly string[] | undefined;
      /** PostgreSQL: the timeline. */
      readonly generation?: number | undefined;
    }
  | { readonly is: "down" | "unknown" };

/** What every server said of itself, by name. */
export type Views = Readonly<Record<string, View>>;

/** What of the configuration decides. */
export interface ChoiceRule {
  /** All servers, with their priorities; 0: never chosen. */
  readonly servers: Readonly<Record<string, number>>;
  readonly lagMax: Position;
}

/** What came of a choice, and why. */
export type Choice =
  | {
      readonly is: "chosen";
      readonly server: string;
      readonly position: Position;
      /** What it is chosen for, if that has a number. A failed promotion leaves it behind. */
      readonly history?: string | undefined;
      readonly reason: string;
    }
  /** Nobody yet: more servers may answer. */
  | { readonly is: "wait"; readonly reason: string }
  /** Waiting cures nothing: somebody has to say who. */
  | { readonly is: "refused"; readonly reason: string };

interface Runner {
  readonly server: string;
  readonly view: Extract<View, { is: "up" }>;
  readonly rank: number;
}

/** `hasSettled`: it was waited long enough for those that do not answer. */
export function choose(rule: ChoiceRule, record: FailoverRecord, views: Views, hasSettled: boolean): Choice {
  const { step } = record;
  const why = step.at === "choosing" ? step.why : "down";
  const wish = step.at === "choosing" ? step.wish : undefined;
  const wished = wish === undefined ? undefined : views[wish.server];
  if (wish?.isForced === true)
    return wished?.is === "up"
      ? { is: "chosen", server: wish.server, position: wished.position, reason: "an operator has said so" }
      : { is: "wait", reason: `${wish.server}, which an operator wants, does not answer` };
  const missing = missingOf(rule, record, views, why, hasSettled);
  if (missing !== undefined) return missing;
  const adopted = adoptedOf(record, views);
  if (adopted !== undefined) return adopted;
  const runners = runnersOf(rule, record, views);
  if ("is" in runners) return runners;
  const best = Math.min(...runners.map(({ rank }) => rank));
  const sameHistory = runners.filter(({ rank }) => rank === best);
  const greatest = Math.max(...sameHistory.map(({ view }) => view.position));
  const lagMax = record.sync === undefined && why === "down" ? rule.lagMax : 0;
  const near = sameHistory.filter(({ view }) => view.position >= greatest - lagMax);
  const [first] = near.toSorted((a, b) => compare(rule, record, wish?.server, a, b));
  if (first === undefined) return { is: "wait", reason: "no server that could be promoted answers" };
  const { server, view } = first;
  const history = view.generation === undefined ? undefined : view.history;
  return { is: "chosen", server, position: view.position, history, reason: reasonOf(first, sameHistory, greatest) };
}

/**
 * SAFETY: where nothing was fenced (before there was a record, and without any fence), a server that says that it is the primary takes writes now. To promote another would make two, so it is chosen, whatever its
 * priority and position are. Of two that write already, a human has to say which one is right.
 */
function adoptedOf({ step }: FailoverRecord, views: Views): Choice | undefined {
  if (step.at !== "choosing" || step.fencedBy !== "nothing") return undefined;
  const primaries = Object.entries(views).flatMap(([server, view]) =>
    view.is === "up" && view.role === "primary" ? [{ server, view }] : [],
  );
  const [first] = primaries;
  if (first === undefined) return undefined;
  if (primaries.length > 1) {
    const names = primaries.map(({ server }) => server).join(" and ");
    return {
      is: "refused",
      reason: `${names} all say that they are the primary: stop all but one, or make them replicas of that one`,
    };
  }
  const { server, view } = first;
  const history = view.generation === undefined ? undefined : view.history;
  return { is: "chosen", server, position: view.position, history, reason: "it is the primary already" };
}

const UNKNOWN = Infinity;

/** How old the history of a server is: 0 is the latest of a primary. UNKNOWN: it does not answer, or has another. */
function rankOf({ histories, attempts = [] }: FailoverRecord, view: View | undefined): number {
  if (view?.is !== "up") return UNKNOWN;
  const rank = histories.indexOf(view.history);
  if (rank >= 0) return rank;
  const { generation = 0, ancestors = [] } = view;
  const before = ancestors.map((history) => histories.indexOf(history)).find((index) => index >= 0);
  // Before the history that it begins with; the later of two attempts first.
  return before === undefined || !attempts.includes(generation) ? UNKNOWN : before - 1 + 1 / (1 + generation);
}

/** Undefined: enough were seen. */
function missingOf(
  { servers }: ChoiceRule,
  record: FailoverRecord,
  views: Views,
  why: string,
  hasSettled: boolean,
): Choice | undefined {
  const unseen = Object.keys(servers).filter((server) => views[server]?.is !== "up");
  if (why === "first" && unseen.length > 0)
    return {
      is: "wait",
      reason: `the first primary is chosen when every server answers; missing: ${unseen.join(", ")}`,
    };
  // SAFETY: one that is never chosen proves nothing by what it has.
  const rankIn = (server: string): number => ((servers[server] ?? 0) > 0 ? rankOf(record, views[server]) : UNKNOWN);
  const best = Math.min(...Object.keys(servers).map(rankIn));
  for (const { primary, confirmations, promotable } of record.sync?.sets ?? []) {
    const needed = promotable.length - confirmations + 1;
    const seen = promotable.filter((server) => rankIn(server) < UNKNOWN).length;
    const isPrimarySeen = rankIn(primary) < UNKNOWN && rankIn(primary) === best;
    if (seen < needed && !isPrimarySeen)
      return {
        is: "wait",
        reason: `of the ${promotable.length} synchronous standbys of ${primary} ${seen} answer, and ${needed} are needed: one of the others may have a commit that nobody else has`,
      };
  }
  if (!hasSettled && unseen.length > 0) return { is: "wait", reason: `waiting for ${unseen.join(", ")}` };
  return undefined;
}

function runnersOf({ servers }: ChoiceRule, record: FailoverRecord, views: Views): readonly Runner[] | Choice {
  const up = Object.entries(views).flatMap(([server, view]) => (view.is === "up" ? [{ server, view }] : []));
  const isAllowed = ({ server }: { readonly server: string }): boolean => (servers[server] ?? 0) > 0;
  if (record.histories.length > 0)
    return up
      .map(({ server, view }) => ({ server, view, rank: rankOf(record, view) }))
      .filter((runner) => runner.rank < UNKNOWN && isAllowed(runner));
  // There has been no primary. Servers that hold data must agree whose data it is: a wrong choice would empty the others.
  const full = up.filter(({ view }) => !view.isEmpty);
  const histories = new Set(full.map(({ view }) => view.history));
  if (histories.size > 1)
    return {
      is: "refused",
      reason: `${full.map(({ server }) => server).join(" and ")} hold different data: say which one is right, conclave failover switchover --to SERVER --force`,
    };
  return (full.length > 0 ? full : up).filter(isAllowed).map((each) => ({ ...each, rank: 0 }));
}

function compare(
  { servers }: ChoiceRule,
  { tried }: FailoverRecord,
  wish: string | undefined,
  a: Runner,
  b: Runner,
): number {
  const score = ({ server }: Runner): number =>
    (server === wish ? 1_000_000 : 0) + (tried.includes(server) ? -1_000_000 : 0) + (servers[server] ?? 0);
  return score(b) - score(a) || b.view.position - a.view.position || (a.server < b.server ? -1 : 1);
}

function reasonOf({ server, view }: Runner, others: readonly Runner[], greatest: Position): string {
  const rest = others
    .filter((other) => other.server !== server)
    .map((other) => `${other.server} ${other.view.position}`);
  const beside = rest.length === 0 ? "alone in its history" : `beside ${rest.join(", ")}`;
  return view.position === greatest
    ? `position ${view.position}, ${beside}`
    : `position ${view.position}, ${beside}; preferred within the lag limit`;
}
