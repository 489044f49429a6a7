// Strays: servers that take writes although the record names another primary. Pure.
//
// With guards a stray has been started or promoted beside its guard: by an enabled unit after a boot, or by hand. Without guards it is an old primary that is back. A stray is told of once (`two-writable`), and it is told to
// follow the primary, which ends its writes. What only a stray has is lost then.
//
// Why the rightful primary is never told to follow another server. The leader does the following on one connection, which leads to one process (conductor.ts):
//   1. the process says that it takes writes;
//   2. after that answer the record is read. It must name another primary, and no change may be under way (`mayTakeBack`);
//   3. the term must be held by the clock, and then the order is sent.
// A server becomes the primary only after `promoting` was written for it, and that record is replaced by the name of another primary only after a fence. So the process of step 1 is not the rightful primary when the
// record is read in step 2. It may become that later, while the order is still on its way: a leader may stand still, and a network may be slow. A process that no guard has started is never promoted. One that a guard
// has started closes all other connections right before it is promoted (redis.ts), so that an order which was sent before never arrives. A connection that is opened after that shows in step 1 what the process is by then.
import type { View } from "./choice.ts";
import type { FailoverRecord } from "./record.ts";
import type { Acting, FailoverEffect, FailoverPlan, Sight, FailoverStepped } from "./state.ts";

/** True if the record names a primary that was seen, and no change is under way. */
export function isSettled({ primary, step }: FailoverRecord): boolean {
  return primary !== undefined && (step.at === "steady" || step.at === "repointing");
}

/** Servers that take writes although the record names another primary, if the record was in force before and after they were asked. */
export function straysIn(record: FailoverRecord | undefined, views: Readonly<Record<string, View>>): readonly string[] {
  if (record === undefined || !isSettled(record)) return [];
  return Object.entries(views).flatMap(([server, view]) =>
    server !== record.primary && view.is === "up" && view.role === "primary" ? [server] : [],
  );
}

/** SAFETY: this is asked with a record that was read after the server had said that it takes writes. */
export function mayTakeBack(
  { hasGuards }: FailoverPlan,
  record: FailoverRecord | undefined,
  server: string,
  primary: string,
): boolean {
  if (record === undefined || !isSettled(record) || (hasGuards && record.isPaused)) return false;
  return record.primary === primary && primary !== server;
}

/** Adds what is to be told of strays, and what they are to be told, to a step that leaves the record as it is. */
export function heedStrays(plan: FailoverPlan, stepped: FailoverStepped, sight: Sight): FailoverStepped {
  const { state: acting } = stepped;
  if (acting.at !== "acting" || !isSettled(acting.record)) return stepped;
  const strays = freshStrays(acting, sight);
  const orders = plan.isDryRun ? [] : ordersTo(plan, acting, sight, strays);
  const names = strays.map((server) => nameOf(server, sight.views[server]));
  const isKept = (name: string): boolean => sight.views[name.split(" ")[0] ?? ""]?.is !== "up";
  const known = acting.strays ?? [];
  const state: Acting = { ...acting, strays: [...known.filter(isKept), ...names] };
  const isNew = strays.filter((_, index) => !known.includes(names[index] ?? ""));
  if (isNew.length === 0) return { state, effects: [...stepped.effects, ...orders] };
  const servers = [acting.record.primary ?? "", ...strays];
  const lost = Object.fromEntries(isNew.flatMap((server) => lostBy(acting.record, server, sight.views[server])));
  const told: FailoverEffect = { type: "tell", news: { is: "two-writable", servers, lost } };
  return { state, effects: [...stepped.effects, told, ...orders] };
}

/** An answer to a question from before this step may be that of the primary that was replaced. It does not count. */
function freshStrays({ record, sinceMs }: Acting, { views, askedAtMs }: Sight): readonly string[] {
  return straysIn(record, views).filter((server) => (askedAtMs[server] ?? -Infinity) >= sinceMs);
}

/** A server that was started or promoted anew has another history. That is another occurrence, and is told of again. */
function nameOf(server: string, view: View | undefined): string {
  return `${server} ${view?.is === "up" ? view.history : ""}`;
}

/** Guards tell replicas which server to follow, so with them only strays are told. While it is paused, an operator may be at work at such a server. Without guards, every server that follows another one, or none, is told. */
function ordersTo(
  { hasGuards }: FailoverPlan,
  { record }: Acting,
  { views }: Sight,
  strays: readonly string[],
): readonly FailoverEffect[] {
  const primary = record.primary ?? "";
  const follow = (server: string): FailoverEffect => ({ type: "follow", server, primary });
  if (hasGuards) return record.isPaused ? [] : strays.map(follow);
  const lost = Object.entries(views).filter(
    ([server, view]) => server !== primary && view.is === "up" && view.role === "replica" && view.follows !== primary,
  );
  return [...strays, ...lost.map(([server]) => server)].toSorted().map(follow);
}

/** Data that only the primary before has. Its history is an earlier one, and the present primary was chosen for a position in that history. */
function lostBy({ histories, begunAt }: FailoverRecord, server: string, view: View | undefined): [string, number][] {
  if (view?.is !== "up" || begunAt === undefined || !histories.slice(1).includes(view.history)) return [];
  return [[server, Math.max(0, view.position - begunAt)]];
}
