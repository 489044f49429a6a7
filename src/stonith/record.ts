// What the leaders of a guarded election write down: who has acted, and which nodes are to be off. One memo of that election, so that only the term in the seat can write it, and the next
// leader goes on from where it stands. A value; record-text.ts has its text.
//
//   acting    the terms whose work has begun, and which nobody has proved to be over. A term begins its work only when this list names it, and nobody else.
//   intents   the nodes that are to be powered off, or were. Each is a ban in the store too. `joined` are the terms whose agents may still shoot.
//   off       the nodes that are off because of this election, as far as is known. They count for `maxOff`.
//
// INVARIANT  An agent runs only for a term that stands in `joined` of an open intent, and only after that term has written the ban itself.
// INVARIANT  An intent goes only when `joined` is empty, after the lift of its ban was answered.

/** One term of one process on one node. `life` names the process, and no process ever has the `life` of another: it also tells a number of a restored store from the one before. */
export interface Stint {
  readonly node: string;
  /** The token of the term, as a decimal text. */
  readonly token: string;
  readonly life: string;
}

/** A hardware watchdog that was armed when the term began: the machine is reset `timeoutMs` after it was last fed, and it is fed only while the term is held. */
export interface Watchdog {
  readonly timeoutMs: number;
  /** The ttl of that term's session. */
  readonly ttlMs: number;
}

export interface ActingStint extends Stint {
  readonly watchdog: Watchdog | undefined;
}

/** Who says that a node is off: a device that was asked, the arithmetic of a hardware watchdog, or a human. */
export type OffBy = "device" | "watchdog" | "human";

/** What came of a shot. `off`: the device was asked afterwards, and says that the node is off. Everything else permits nothing. */
export type ShotOutcome = "off" | "failed" | "unknown";

/** A node that is to be powered off, or was, and whose ban still stands. */
export interface Intent {
  /** No other intent of this election ever has it. */
  readonly id: string;
  readonly node: string;
  readonly why: string;
  /** The term that opened it. */
  readonly token: string;
  /** An operator has asked for it: it is carried out also if the node has not acted. */
  readonly isOrdered: boolean;
  /** The terms whose agents may still shoot. */
  readonly joined: readonly Stint[];
  /** Some term has joined it once: the node may have been shot at, whatever was reported. */
  readonly wasJoined: boolean;
  /** Undefined: the node is not verified to be off. */
  readonly off: { readonly by: OffBy; readonly token: string; readonly wallMs: number } | undefined;
  /** How many shots have not led to a verified off, and what the last of them came to. */
  readonly failures: number;
  readonly last: { readonly outcome: ShotOutcome; readonly said: string } | undefined;
}

export type HistoryKind =
  | "acting"
  | "released"
  | "cleared"
  | "opened"
  | "joined"
  | "not-off"
  | "off"
  | "confirmed"
  | "lifted"
  | "withdrawn"
  | "refused";

/** A line of the audit log. */
export interface HistoryEntry {
  /** By the clock of the leader that wrote it. */
  readonly wallMs: number;
  /** The term that wrote it, and its node. */
  readonly token: string;
  readonly by: string;
  readonly is: HistoryKind;
  /** The node that it is about. */
  readonly node: string;
  readonly said: string;
}

/** A node that is off, or may be, because of this election. */
export interface OffNode {
  readonly node: string;
  /** The intent or the term because of which it is off. If the node is off again later, this is another one. */
  readonly since: string;
}

export interface OrderAnswer {
  readonly id: string;
  readonly said: string;
  readonly isDone: boolean;
}

/** The memo of a guarded election: who acts, who is to be off, who is off, and what happened. */
export interface StonithRecord {
  readonly acting: readonly ActingStint[];
  readonly intents: readonly Intent[];
  readonly off: readonly OffNode[];
  /** When intents were opened without an order, by the clocks of those who opened them. */
  readonly recentMs: readonly number[];
  /** The last orders of operators that were dealt with, and the answers to them. The latest last. */
  readonly orders: readonly OrderAnswer[];
  /** The latest last. */
  readonly history: readonly HistoryEntry[];
  /** How many intents there ever were. Ids are made from it. */
  readonly opened: number;
}

/** How many lines of the audit log stay in the store. The events and the log of each process have all of them. */
export const HISTORY_MAX = 40;

const ORDERS_MAX = 8;

export const NO_RECORD: StonithRecord = {
  acting: [],
  intents: [],
  off: [],
  recentMs: [],
  orders: [],
  history: [],
  opened: 0,
};

export function isSameStint(one: Stint, other: Stint): boolean {
  return one.node === other.node && one.token === other.token && one.life === other.life;
}

export function hasStint(stints: readonly Stint[], stint: Stint): boolean {
  return stints.some((each) => isSameStint(each, stint));
}

export function intentAgainst(record: StonithRecord, node: string): Intent | undefined {
  return record.intents.find((intent) => intent.node === node);
}

export function withIntent(record: StonithRecord, intent: Intent): StonithRecord {
  return { ...record, intents: record.intents.map((each) => (each.id === intent.id ? intent : each)) };
}

export function withHistory(record: StonithRecord, ...entries: readonly HistoryEntry[]): StonithRecord {
  return { ...record, history: [...record.history, ...entries].slice(-HISTORY_MAX) };
}

export function withAnswer(record: StonithRecord, answer: OrderAnswer): StonithRecord {
  return { ...record, orders: [...record.orders, answer].slice(-ORDERS_MAX) };
}

export function withOff(record: StonithRecord, node: string, since: string): StonithRecord {
  return { ...record, off: [...record.off.filter((each) => each.node !== node), { node, since }] };
}

export function withoutOff(record: StonithRecord, nodes: readonly string[]): StonithRecord {
  if (!record.off.some(({ node }) => nodes.includes(node))) return record;
  return { ...record, off: record.off.filter(({ node }) => !nodes.includes(node)) };
}

/** The longest text that others give. With the bounds above, a record fits into a memo of every store that keeps bans. */
export const SAID_MAX = 200;
