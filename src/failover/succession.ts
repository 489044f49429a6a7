// The facts that the record must contain before a server can become writable: the standbys that may confirm its commits, the number of what it writes, and the history that it begins from. Pure parts of machine.ts.
import type { Views } from "./choice.ts";
import { type FailoverRecord, type Step, withHistory } from "./record.ts";
import type { FailoverPlan } from "./state.ts";

/** SAFETY: before `to` can take a commit, the record says which servers may confirm one. The guard of `to` names those and no others to its server. A server that is never promoted confirms nothing. */
export function withSet({ confirmations, servers }: FailoverPlan, record: FailoverRecord, to: string): FailoverRecord {
  const others = record.sync?.sets.filter(({ primary }) => primary !== to) ?? [];
  const promotable = Object.keys(servers).filter((server) => server !== to && (servers[server] ?? 0) > 0);
  const own = confirmations === 0 ? [] : [{ primary: to, confirmations, promotable }];
  const sets = [...others, ...own];
  return { ...record, sync: sets.length === 0 ? undefined : { sets } };
}

/** If the first promotion fails, the history that it was begun from is known, and is not taken for other data. */
export function withFirstHistory(record: FailoverRecord, history: string | undefined): FailoverRecord {
  return history === undefined || record.histories.length > 0 ? record : withHistory(record, history);
}

/** SAFETY: no two promotions have the same number, so writes of one promotion are never taken for writes of another. */
export function withAttempt(record: FailoverRecord, views: Views): FailoverRecord {
  const shown = Object.values(views).map((view) => (view.is === "up" ? (view.generation ?? 0) : 0));
  const generation = 1 + Math.max(record.generation ?? 0, ...shown);
  return { ...record, generation, attempts: [...(record.attempts ?? []), generation] };
}

/** True if a server has the number of the promotion that is under way, so that the number is used up. */
export function isUsed({ generation }: FailoverRecord, shown: number | undefined): boolean {
  return shown !== undefined && shown === generation;
}

/** SAFETY: the server may have become writable just now. So it is fenced like any other before another server is chosen. */
export function afterVain(record: FailoverRecord, step: Extract<Step, { at: "promoting" }>): FailoverRecord {
  return {
    ...record,
    epoch: record.epoch + 1,
    tried: [...new Set([...record.tried, step.to])],
    step: { at: "fencing", why: step.why, from: step.to, wish: undefined },
  };
}
