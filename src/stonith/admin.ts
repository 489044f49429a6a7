// What operators ask of a guarded election: its state, and orders. An order is a memo of an election of its own, which this process leads for a moment; the leader of the guarded election
// answers in its record. Nothing here can act by itself: it shoots no node, and confirms nothing unless the leader accepts it.
import { randomBytes } from "node:crypto";
import type { Ban } from "../election/bans.ts";
import { wallNow } from "../election/clock.ts";
import type { Candidate, Leader } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import type { UnfencedTerm } from "../election/term.ts";
import type { StonithOrder } from "./orders.ts";
import { formatOrder, ORDER_KEY, ordersOf, parseRecord, RECORD_KEY } from "./record-text.ts";
import { type Intent, intentAgainst, NO_RECORD, type OrderAnswer, type Stint, type StonithRecord } from "./record.ts";

/** How a guarded election stands. */
export interface StonithStatus {
  readonly election: string;
  readonly record: StonithRecord;
  /** Who holds the seat now. A hint. */
  readonly leader: Leader | undefined;
  /** The bans of this election that stand. */
  readonly bans: readonly Ban[];
}

/** How a guarded election stands: three reads of the store. */
export async function stonithStatus(candidate: Candidate<UnfencedTerm>, election: string): Promise<StonithStatus> {
  const named = candidate.election(election);
  const [record, leader, bans] = await Promise.all([
    readStonithRecord(candidate, election),
    named.leader(),
    named.bans(),
  ]);
  return { election, record, leader, bans };
}

export async function readStonithRecord(candidate: Candidate<UnfencedTerm>, election: string): Promise<StonithRecord> {
  const memo = await candidate.election(election).memo(RESERVED + RECORD_KEY);
  return memo === undefined ? NO_RECORD : parseRecord(memo.value);
}

/** What a human is shown before a confirmation. The confirmation is about exactly this, not about what comes later. */
export interface Shown {
  readonly intent: string | undefined;
  readonly acting: readonly Stint[];
  readonly joined: readonly Stint[];
  readonly since: string | undefined;
}

/** What a human who confirms that `node` is off has to be shown, and confirms. */
export function shownOf(record: StonithRecord, node: string): Shown {
  const intent = intentAgainst(record, node);
  const acting = record.acting.filter((stint) => stint.node === node);
  const plain = acting.map(({ token, life }) => ({ node, token, life }));
  const since = record.off.find((each) => each.node === node)?.since;
  return { intent: intent?.id, acting: plain, joined: intent?.joined ?? [], since };
}

/** What a confirmation means, in sentences that a human has to accept first. */
export function meaningOf(node: string, says: "off" | "quiet" | "on"): readonly string[] {
  if (says === "on")
    return [`You say that ${node} is on again, so that it counts no longer as one of the nodes that are off.`];
  if (says === "quiet")
    return [
      `You say that no process can still power ${node} off: each one that had begun to is dead, or its machine is off.`,
      `If one of them is only paused, it may shoot ${node} later, when ${node} leads.`,
    ];
  return [
    `You say that you have seen that ${node} is off, or that it can reach nothing that the leader works on, and that this stays so until it was restarted.`,
    `The next leader then begins its work at once. If ${node} still acts, two act at once, and data may be destroyed. Conclave cannot check what you say.`,
  ];
}

/** An `Omit` for each kind of order. */
type Unsigned<O> = O extends unknown ? Omit<O, "id" | "wallMs"> : never;

/** Resolves with the answer of the leader; undefined if none came before `signal` aborted. */
export async function giveStonithOrder(
  candidate: Candidate<UnfencedTerm>,
  election: string,
  wanted: Unsigned<StonithOrder>,
  signal: AbortSignal,
): Promise<OrderAnswer | undefined> {
  const order = { ...wanted, id: randomBytes(8).toString("hex"), wallMs: wallNow() } as StonithOrder;
  const term = await candidate.election(ordersOf(election)).campaign({ signal });
  try {
    await writeReservedMemo(term, ORDER_KEY, formatOrder(order));
  } finally {
    await term.resign();
  }
  return await polled(candidate, election, signal, ({ orders }) => orders.find(({ id }) => id === order.id));
}

/** After an order to fence: resolves when the node was verified or confirmed to be off; undefined if that did not happen before `signal` aborted. */
export async function untilOff(
  candidate: Candidate<UnfencedTerm>,
  election: string,
  node: string,
  signal: AbortSignal,
): Promise<Intent["off"]> {
  return await polled(candidate, election, signal, (record) => {
    const intent = intentAgainst(record, node);
    if (intent !== undefined) return intent.off;
    const last = record.history.findLast(
      (entry) => entry.node === node && (entry.is === "off" || entry.is === "confirmed"),
    );
    return (
      last && {
        by: last.is === "off" ? ("device" as const) : ("human" as const),
        token: last.token,
        wallMs: last.wallMs,
      }
    );
  });
}

const POLL_MS = 100;

async function polled<T>(
  candidate: Candidate<UnfencedTerm>,
  election: string,
  signal: AbortSignal,
  found: (record: StonithRecord) => T | undefined,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const record = await readStonithRecord(candidate, election).catch(() => undefined);
    const what = record && found(record);
    if (what !== undefined) return what;
    await nap(POLL_MS, signal);
  }
  return undefined;
}
