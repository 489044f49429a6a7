// The texts that failover keeps in the store: the record, orders, votes, what a guard says in its seat. JSON, for those who read the store by hand. What cannot be read is refused: nothing is decided on a guess.
import { ConclaveError } from "../base/errors.ts";
import { fieldsOf } from "../base/fields.ts";
import { show } from "../base/show.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord } from "./record.ts";
import type { MonitorVote } from "./words.ts";

const VERSION = 1;

/** The election that the monitors' leader wins. The names do not lie inside each other: on etcd a name is a prefix. */
export const leaderOf = (name: string): string => `failover/${name}`;
export const ordersOf = (name: string): string => `failover-orders/${name}`;
export const seatOf = (name: string): string => `primary/${name}`;
export const monitorOf = (name: string, monitor: string): string => `failover-monitor/${name}/${monitor}`;

/** Within the reserved keys. */
export const RECORD_KEY = "failover/record";
export const ORDER_KEY = "failover/order";

export function formatRecord(record: FailoverRecord): string {
  return JSON.stringify({ version: VERSION, ...record });
}

/** Throws STORE_FOREIGN_DATA. */
export function parseRecord(text: string): FailoverRecord {
  const found = fieldsOf(text);
  const step = found["step"] as { readonly at?: unknown } | undefined;
  const isRecord =
    found["version"] === VERSION &&
    Number.isSafeInteger(found["epoch"]) &&
    typeof step?.at === "string" &&
    STEPS.has(step.at) &&
    ["histories", "recentMs", "tried"].every((field) => Array.isArray(found[field]));
  if (!isRecord)
    throw new ConclaveError(
      "STORE_FOREIGN_DATA",
      `${show(text)} is not a record of failover that this version can read. Nothing is decided on it. Is an older or newer conclave among the monitors?`,
    );
  return found as unknown as FailoverRecord;
}

const STEPS: ReadonlySet<string> = new Set<FailoverRecord["step"]["at"]>([
  "steady",
  "fencing",
  "handing-over",
  "choosing",
  "promoting",
  "repointing",
]);

export function formatOrder(order: Order): string {
  return JSON.stringify(order);
}

/** Undefined: none that can be read; it is as if there were none. */
export function parseOrder(text: string | undefined): Order | undefined {
  const found = fieldsOf(text ?? "");
  const isKnown = ["pause", "resume", "switchover", "confirm"].includes(String(found["kind"]));
  return isKnown && typeof found["id"] === "string" ? (found as unknown as Order) : undefined;
}

/** What a monitor says in its seat; `null` where it sees nothing wrong. */
export function formatVote(vote: Omit<MonitorVote, "monitor"> | undefined): string {
  return JSON.stringify(vote ?? null);
}

export function parseVote(monitor: string, text: string | undefined): MonitorVote | undefined {
  const { primary, epoch } = fieldsOf(text ?? "");
  return typeof primary === "string" && Number.isSafeInteger(epoch)
    ? { monitor, primary, epoch: epoch as number }
    : undefined;
}

/** What a guard says in the seat: whose primary this is, and since which change. */
export interface Seated {
  readonly server: string;
  readonly epoch: number;
}

export function formatSeated(seated: Seated): string {
  return JSON.stringify(seated);
}

export function parseSeated(text: string | undefined): Seated | undefined {
  const { server, epoch } = fieldsOf(text ?? "");
  return typeof server === "string" && Number.isSafeInteger(epoch) ? { server, epoch: epoch as number } : undefined;
}
