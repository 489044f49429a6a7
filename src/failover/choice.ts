// Chooses the new primary: a pure function of what was read after the fence. No server is writable then, so the positions do not change any more.
//
//   1. The history decides first. A server whose history is not that of a primary is never chosen: it was restored or emptied, or it wrote by itself. Of two histories the later one wins.
//   2. Then the greatest received position wins.
//   3. The priority, and the wish of an order, decide only between servers whose positions are within `lagMax` of the greatest. Where commits wait for standbys, this limit is 0.
//
// Why no acknowledged commit is lost under `ANY k` of n promotable standbys: the commit is on k of them. If n − k + 1 of them were seen, at least one of those has it. Positions of one history are prefixes of each other,
// so the server with the greatest position has everything that any of the others has. If fewer were seen, no server is chosen. The primary that took the commits has all of them: if it is seen, it stands for its whole set.
// A server whose history is unknown counts as not seen: it may have a commit that the others lack, and it is never chosen.
//
// Where nothing was fenced, a server that already is the primary is adopted: a running group that is watched from now on keeps its primary.
//
// A server that was promoted in this very change, without a confirmation, has everything that it was chosen for. It may be chosen again, and so may a server that has followed it: otherwise a commit that only they have
// would be lost. Of two such promotions the later one wins, whatever the positions are: it was chosen when everything before it was known, and its writes are not those of the other one. In a later change another server has
// been the primary since, and none of these promotions counts.
import type { FailoverRecord, Position } from "./record.ts";

/** The answer of one server about itself. `down` means that it certainly does not serve; `unknown` means that nobody knows. */
export type View =
  | {
      readonly is: "up";
      readonly role: "primary" | "replica";
      readonly history: string;
      /** How much it has received, not only how much it has applied. */
      readonly position: Position;
      /** The server that it replicates from, if it is one of ours. */
      readonly follows: string | undefined;
      /** It is connected to the server that it follows. */
      readonly isLinked: boolean;
      /** It holds no data. */
      readonly isEmpty: boolean;
      /** The histories that its own history descends from, the last one first, where they are known. */
      readonly ancestors?: readonly string[] | undefined;
      /** With PostgreSQL this is the timeline. */
      readonly generation?: number | undefined;
    }
  | { readonly is: "down" | "unknown" };

/** The answers of all servers about themselves, by name. */
export type Views = Readonly<Record<string, View>>;

/** The part of the configuration that decides the choice. */
export interface ChoiceRule {
  /** All servers, with their priorities. A server with priority 0 is never chosen. */
  readonly servers: Readonly<Record<string, number>>;
  readonly lagMax: Position;
}

/** The result of a choice, and the reason. */
export type Choice =
  | {
      readonly is: "chosen";
      readonly server: string;
      readonly position: Position;
      /** The history that the server has when it is chosen, if histories have numbers. A server whose promotion failed may have left it. */
      readonly history?: string | undefined;
      readonly reason: string;
    }
  /** No server is chosen yet, because more servers may answer. */
  | { readonly is: "wait"; readonly reason: string }
  /** Waiting does not help: a human has to name the server. */
  | { readonly is: "refused"; readonly reason: string };

interface Runner {
  readonly server: string;
  readonly view: Extract<View, { is: "up" }>;
  readonly rank: number;
}

/** `hasSettled`: the servers that do not answer were waited for long enough. */
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
 * SAFETY: where nothing was fenced (before there was a record, and without any fence), a server that says that it is the primary takes writes now. Promoting another server would make two primaries, so this server is
 * chosen, whatever its priority and position are. If two servers write already, a human has to say which one is right.
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

/** The age of a server's history: 0 is the latest history of a primary. UNKNOWN means that the server does not answer, or has another history. */
function rankOf({ histories, attempts = [] }: FailoverRecord, view: View | undefined): number {
  if (view?.is !== "up") return UNKNOWN;
  const rank = histories.indexOf(view.history);
  if (rank >= 0) return rank;
  const { generation = 0, ancestors = [] } = view;
  const before = ancestors.map((history) => histories.indexOf(history)).find((index) => index >= 0);
  // It ranks before the history that it descends from. Of two attempts the later one ranks first.
  return before === undefined || !attempts.includes(generation) ? UNKNOWN : before - 1 + 1 / (1 + generation);
}

/** Returns undefined if enough servers were seen. */
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
  // SAFETY: a server that is never chosen proves nothing by the data that it has.
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
  // There has been no primary. All servers that hold data must have the same history, because a wrong choice would empty the others.
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
