// The texts that STONITH keeps in the store: the record, orders, notes. They are JSON, for people who read the store by hand. A text that cannot be
// read is refused: nothing is decided on a guess.
import { ConclaveError } from "../base/errors.ts";
import { fieldsOf } from "../base/fields.ts";
import { show } from "../base/show.ts";
import type { StonithOrder } from "./orders.ts";
import type { Stint, StonithRecord } from "./record.ts";
import type { Notes } from "./state.ts";

const VERSION = 1;

/** The election in which operators leave orders for the guarded election. The names do not lie inside each other: on etcd a name is a prefix. */
export const ordersOf = (election: string): string => `stonith-orders/${encodeURIComponent(election)}`;
/** The election in which the processes of one node leave notes. */
export const notesOf = (election: string, node: string): string =>
  `stonith-notes/${encodeURIComponent(election)}/${encodeURIComponent(node)}`;

/** The prefix within the reserved keys. The record is a memo of the guarded election itself. */
export const RECORD_KEY = "stonith/record";
export const ORDER_KEY = "stonith/order";
export const NOTES_KEY = "stonith/notes";

export function formatRecord(record: StonithRecord): string {
  return JSON.stringify({ version: VERSION, ...record });
}

/** Throws STORE_FOREIGN_DATA. */
export function parseRecord(text: string): StonithRecord {
  const { version, ...found } = fieldsOf(text);
  const isRecord =
    version === VERSION &&
    Number.isSafeInteger(found["opened"]) &&
    listOf(found["acting"], isStint) &&
    listOf(found["intents"], isIntent) &&
    listOf(found["off"], (each) => typeof (each as { readonly node?: unknown } | null)?.node === "string") &&
    ["recentMs", "orders", "history"].every((field) => Array.isArray(found[field]));
  if (!isRecord)
    throw new ConclaveError(
      "STORE_FOREIGN_DATA",
      `${show(text)} is not a record of STONITH that this version can read. Nothing is decided on it. Is an older or newer conclave among the candidates?`,
    );
  return found as unknown as StonithRecord;
}

function isStint(value: unknown): value is Stint {
  const { node, token, life } = (value ?? {}) as Partial<Stint>;
  return typeof node === "string" && typeof token === "string" && typeof life === "string";
}

function isIntent(value: unknown): boolean {
  const { id, node, joined } = (value ?? {}) as {
    readonly id?: unknown;
    readonly node?: unknown;
    readonly joined?: unknown;
  };
  return typeof id === "string" && typeof node === "string" && listOf(joined, isStint);
}

function listOf(value: unknown, isOne: (each: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

export function formatOrder(order: StonithOrder): string {
  return JSON.stringify(order);
}

/** Undefined if the text cannot be read: it is treated as if there were no order. */
export function parseOrder(text: string | undefined): StonithOrder | undefined {
  const { id, by, kind, node, wallMs, says, acting, joined, why } = fieldsOf(text ?? "");
  const hasHead = [id, by, node].every((each) => typeof each === "string") && Number.isFinite(wallMs);
  const isFence = kind === "fence" && typeof why === "string";
  const isShown = listOf(acting, isStint) && listOf(joined, isStint);
  const isConfirm = kind === "confirm" && ["off", "quiet", "on"].includes(String(says)) && isShown;
  return hasHead && (isFence || isConfirm) ? (fieldsOf(text ?? "") as unknown as StonithOrder) : undefined;
}

export function formatNotes(notes: Notes): string {
  return JSON.stringify(notes);
}

/** A text that cannot be read counts as no notes. */
export function parseNotes(text: string | undefined): Notes {
  const { settled, gone } = fieldsOf(text ?? "");
  const stints = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.filter(isStint) : []);
  const named = stints(gone).filter((each) => typeof (each as { readonly intent?: unknown }).intent === "string");
  return { settled: stints(settled) as Notes["settled"], gone: named as Notes["gone"] };
}
