// Decides what the leader does with an order of an operator. Pure. An order comes by a memo of its own election (`failover-orders/NAME`), is handled once, and is answered in the record.
import type { ChoiceRule, Views } from "./choice.ts";
import type { FailoverRecord } from "./record.ts";

export type Order =
  | { readonly id: string; readonly kind: "pause" | "resume" }
  | {
      readonly id: string;
      readonly kind: "switchover";
      /** If undefined, the best server is taken. */
      readonly to: string | undefined;
      /** The server is taken whatever its data is. */
      readonly isForced: boolean;
    }
  | {
      readonly id: string;
      /** A human has seen that the machine of `server` is off, and was shown that it is being fenced in this epoch. */
      readonly kind: "confirm";
      readonly server: string;
      readonly epoch: number;
    };

/** The facts that decide about an order. */
export interface OrderRule extends ChoiceRule {
  /** There are no guards, and devices power machines off. */
  readonly isDeviceAlone: boolean;
}

/** Returns the record that answers the order: it is refused with a reason, done, or begun. */
export function decideOrder(rule: OrderRule, record: FailoverRecord, order: Order, views: Views): FailoverRecord {
  if (order.kind === "confirm") {
    const said = `${order.server} is not being fenced in epoch ${order.epoch}: conclave failover status`;
    return { ...record, order: { id: order.id, said, isDone: false } };
  }
  if (order.kind !== "switchover") {
    const isPaused = order.kind === "pause";
    const said = isPaused ? "failover is paused: orders are obeyed, failures are not" : "failover goes on";
    return { ...record, isPaused, order: { id: order.id, said, isDone: true } };
  }
  const refuse = (said: string): FailoverRecord => ({ ...record, order: { id: order.id, said, isDone: false } });
  const from = record.primary;
  const to = order.to ?? bestOf(rule, record, views);
  if (to === undefined) return refuse("no server could take over: none follows the primary");
  if (rule.servers[to] === undefined)
    return refuse(`there is no server ${to}: ${Object.keys(rule.servers).join(", ")}`);
  if (to === from) return refuse(`${to} is the primary`);
  const flaw = flawOf(rule, record, views, to);
  if (flaw !== undefined && !order.isForced) return refuse(flaw);
  // SAFETY: without a guard, nothing prevents that a server that has handed over is promoted again, by a late command of an earlier leader. A machine that was powered off receives no command.
  if (rule.isDeviceAlone && from !== undefined && !order.isForced)
    return refuse(
      `without guards ${from} cannot hand over: --force powers its machine off first, and its last writes may be lost`,
    );
  const begun = { ...record, epoch: record.epoch + 1, tried: [] };
  const said =
    rule.isDeviceAlone && from !== undefined
      ? `${to} takes over when the machine of ${from} is off`
      : `${from ?? "nobody"} hands over to ${to}`;
  const answer = { id: order.id, said, isDone: true };
  if (from !== undefined && views[from]?.is === "up" && flaw === undefined && !rule.isDeviceAlone)
    return { ...begun, order: answer, step: { at: "handing-over", from, to } };
  // Without guards, --force may mean only that the machine is powered off.
  const wish = { server: to, isForced: order.isForced && (flaw !== undefined || !rule.isDeviceAlone) };
  return { ...begun, order: answer, step: { at: "fencing", why: "order", from, wish } };
}

function flawOf({ servers }: ChoiceRule, record: FailoverRecord, views: Views, to: string): string | undefined {
  const view = views[to];
  if (view?.is !== "up") return `${to} does not answer`;
  if ((servers[to] ?? 0) === 0) return `${to} has priority 0: it is never promoted`;
  if (view.history !== record.histories[0]) return `${to} does not have the history of the primary`;
  if (record.primary !== undefined && (view.follows !== record.primary || !view.isLinked))
    return `${to} does not follow ${record.primary} now`;
  return undefined;
}

function bestOf(rule: ChoiceRule, record: FailoverRecord, views: Views): string | undefined {
  return Object.keys(rule.servers)
    .filter((server) => server !== record.primary && flawOf(rule, record, views, server) === undefined)
    .toSorted((a, b) => (rule.servers[b] ?? 0) - (rule.servers[a] ?? 0))[0];
}
