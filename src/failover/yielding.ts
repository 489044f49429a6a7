// Decides when a leader of the monitors that cannot choose a primary lets another monitor lead: a pure part of machine.ts.
//
// A choice may have to wait for a server that this leader does not reach. Another monitor may reach it. Each monitor says in its seat which servers answer it. If a monitor is answered by enough servers for the choice,
// this leader gives its term up after `yieldAfterMs`. This is no rule of safety: a leader that follows needs the same answers before it chooses, and what a monitor says about its servers is never used for a choice.
//
// Why leadership is not passed around without end: it is given up only for a monitor that is answered by enough servers. Two monitors of which each sees another half do not give up for each other. But a monitor may be
// answered by a server and still not be able to choose, for example because that server has the data of another history. So each leader writes into the record that it gives up before it does, and when every
// monitor has had its turn, the next leaders wait for twice as long, then for four times as long, up to 32 times.
import { choose, type Views } from "./choice.ts";
import type { FailoverRecord } from "./record.ts";
import { ignored, tell, writeAndYield } from "./stepping.ts";
import type { Acting, FailoverPlan, FailoverMoment, FailoverStepped } from "./state.ts";

/** The pause is doubled at most this many times. */
const DOUBLINGS_MAX = 5;

/** For each monitor other than this leader, the servers that it says answer it. */
export type SightReports = Readonly<Record<string, readonly string[]>>;

/** Too few servers answer this leader, and another monitor says that enough answer it. */
export function yieldTerm(
  plan: FailoverPlan,
  acting: Acting,
  reports: SightReports,
  now: FailoverMoment,
): FailoverStepped {
  const { record, errand, missed, sinceMs } = acting;
  if (missed === undefined || now.nowMs - sinceMs < pauseOf(plan, record)) return ignored(acting);
  const to = betterPlaced(plan, record, missed, reports);
  if (to === undefined) return ignored(acting);
  const given: FailoverRecord = { ...record, yields: (record.yields ?? 0) + 1 };
  const unseen = Object.keys(plan.servers).filter((server) => missed[server]?.is !== "up");
  const seen = unseen.filter((server) => reports[to]?.includes(server));
  const pauseMs = pauseOf(plan, given);
  const why = `${seen.join(" and ")} does not answer this monitor, and answers ${to}, which should lead. The leadership was given up ${given.yields} times in this change; the next leader waits for ${pauseMs} ms before it gives it up`;
  return tell(writeAndYield(given, errand), { is: "yields", to, why, pauseMs });
}

/** How long a leader that cannot choose waits before it lets another monitor lead. */
function pauseOf({ monitors, yieldAfterMs: firstMs }: FailoverPlan, { yields = 0 }: FailoverRecord): number {
  return firstMs * 2 ** Math.min(DOUBLINGS_MAX, Math.floor(yields / monitors.length));
}

/** Names a configured monitor that is answered by enough servers for a choice, as far as this leader can know. `views`: what this leader was answered. */
function betterPlaced(
  plan: FailoverPlan,
  record: FailoverRecord,
  views: Views,
  reports: SightReports,
): string | undefined {
  return plan.monitors.find((monitor) => {
    const seen = reports[monitor] ?? [];
    const there = Object.fromEntries(seen.map((server) => [server, seenThere(record, views, server)]));
    return choose(plan, record, there, true).is === "chosen";
  });
}

/** A server that answers this leader has said what data it has. A server that answers only the other monitor is taken to have the right data. */
function seenThere({ histories }: FailoverRecord, views: Views, server: string): Views[string] {
  const view = views[server];
  if (view?.is === "up") return view;
  const history = histories[0] ?? "";
  return { is: "up", role: "replica", history, position: 0, follows: undefined, isLinked: false, isEmpty: true };
}
