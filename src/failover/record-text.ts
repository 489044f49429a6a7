// The texts that failover keeps in the store: the record, orders, votes, and the words of a guard in its seat. They are JSON, for people who read the store by hand. A text that cannot be read is refused, so that nothing is decided by a guess.
import { ConclaveError } from "../base/errors.ts";
import { fieldsOf } from "../base/fields.ts";
import { show } from "../base/show.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord } from "./record.ts";
import type { MonitorVote } from "./state.ts";

const VERSION = 1;

/** The election that the leader of the monitors wins. None of these names is a prefix of another, because on etcd a name is a prefix. */
export const leaderOf = (name: string): string => `failover/${name}`;
export const ordersOf = (name: string): string => `failover-orders/${name}`;
export const seatOf = (name: string): string => `primary/${name}`;
/** In place of both, where a monitor only says what it would do: it leads this one alone, and live monitors do not count what it says there. */
export const dryRunOf = (name: string, monitor: string): string => `failover-dry-run/${name}/${monitor}`;
export const monitorOf = (name: string, monitor: string): string => `failover-monitor/${name}/${monitor}`;

/** These keys are among the reserved keys. */
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

/** Returns undefined if the order cannot be read; it is then treated as if there were none. */
export function parseOrder(text: string | undefined): Order | undefined {
  const found = fieldsOf(text ?? "");
  const isKnown = ["pause", "resume", "switchover", "confirm"].includes(String(found["kind"]));
  return isKnown && typeof found["id"] === "string" ? (found as unknown as Order) : undefined;
}

/** The text that a monitor writes in its seat: its vote, if it sees the primary down, and the servers that answer it. */
export function formatVote(vote: Omit<MonitorVote, "monitor"> | undefined, sees: readonly string[]): string {
  return JSON.stringify({ ...vote, sees });
}

export function parseVote(monitor: string, text: string | undefined): MonitorVote | undefined {
  const { primary, epoch } = fieldsOf(text ?? "");
  return typeof primary === "string" && Number.isSafeInteger(epoch)
    ? { monitor, primary, epoch: epoch as number }
    : undefined;
}

/** The servers that answer the monitor which has written this text. A monitor of an earlier version does not say it. */
export function parseSees(text: string | undefined): readonly string[] {
  const { sees } = fieldsOf(text ?? "");
  return Array.isArray(sees) ? sees.filter((server) => typeof server === "string") : [];
}

/** The value that a guard writes in the seat: which server is the primary, and since which change. */
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
