// What the leader of the monitors writes down: which server is the primary, and how far a change of the primary has come. One memo of the election `failover/NAME`, so that only the leader
// can write it, and the next leader goes on from where it stands. Guards read it and do what it says. A value; record-text.ts has its text.
//
//   steady         the primary is known, and nothing is under way
//   fencing        the old primary is being made harmless; nobody has been chosen
//   handing-over   as fencing, but the old primary is asked to stop writing and to wait until `to` has everything
//   choosing       nothing is writable any more: positions stand still, are read, and a successor is chosen
//   promoting      `to` was chosen: its guard may take the seat and make it writable
//   repointing     `to` is the primary; the others are being made to follow it
//
// INVARIANT  Only `promoting` lets a server become writable, and only the server that it names. It is written only over `choosing`, and that only after a fence.

/** Where one server stands in the stream of writes: a number that grows within one history. */
export type Position = number;

/** Where commits wait for standbys: who may have confirmed one. */
export interface SyncRule {
  /** One for each server that may have taken commits since a primary was last seen in its seat. Written before that server can become writable. */
  readonly sets: readonly PromotableSet[];
}

/** Every standby that may confirm a commit of `primary` is in it, at every instant. */
export interface PromotableSet {
  readonly primary: string;
  /** Each commit was confirmed by so many of `promotable` (ANY k). */
  readonly confirmations: number;
  readonly promotable: readonly string[];
}

/** Whom an order names. `isForced`: whatever its history and position are, because a human has said so. */
export interface Wish {
  readonly server: string;
  readonly isForced: boolean;
}

export type Why = "first" | "down" | "order";

/** How far a change of the primary has come. */
export type Step =
  | { readonly at: "steady" }
  | { readonly at: "fencing"; readonly why: Why; readonly from: string | undefined; readonly wish: Wish | undefined }
  | { readonly at: "handing-over"; readonly from: string; readonly to: string }
  | {
      readonly at: "choosing";
      readonly why: Why;
      readonly from: string | undefined;
      readonly wish: Wish | undefined;
      readonly fencedBy: FencedBy;
    }
  | {
      readonly at: "promoting";
      readonly why: Why;
      readonly from: string | undefined;
      readonly to: string;
      readonly position: Position;
      readonly fencedBy: FencedBy;
    }
  | { readonly at: "repointing"; readonly from: string | undefined; readonly to: string };

/** What made the old primary harmless. */
export type FencedBy = "seat" | "stonith" | "stonith and seat" | "human" | "nothing";

/** A machine that was shot at, or is going to be: written before an agent is started. */
export interface Shot {
  readonly server: string;
  /** The change of the primary that it belongs to. */
  readonly epoch: number;
  /** By the clock of the leader that decided it. For the limits, and for people. */
  readonly wallMs: number;
  /** How often it has not led to a verified off, and what was heard last. For people: no leader believes another's. */
  readonly vain: number;
  readonly last: { readonly outcome: "verified" | "failed" | "unknown"; readonly said: string } | undefined;
  /** Its server has answered since. */
  readonly isBack: boolean;
}

/** What the leader of the monitors has written down: the primary, and how far a change has come. */
export interface FailoverRecord {
  /** Grows by one whenever a change of the primary begins. */
  readonly epoch: number;
  readonly step: Step;
  /** The last server that was seen to be the primary in its seat. */
  readonly primary: string | undefined;
  /** Histories of primaries, the present one first. A server with another one is never chosen. */
  readonly histories: readonly string[];
  readonly isPaused: boolean;
  /** When automatic failovers began, by the clocks of those who began them. */
  readonly recentMs: readonly number[];
  /** Servers that were chosen in this change and did not become primary. */
  readonly tried: readonly string[];
  /** The last order of an operator that was dealt with. */
  readonly order: { readonly id: string; readonly said: string; readonly isDone: boolean } | undefined;
  readonly sync: SyncRule | undefined;
  /** Greater than any that a promotion has used or a server has shown; grows with every promotion that is begun, confirmed or not. PostgreSQL: the timeline. */
  readonly generation?: number | undefined;
  /** Those of the promotions that were begun in this change. */
  readonly attempts?: readonly number[] | undefined;
  /** The position for which the present primary was chosen. What the one before it has beyond that is lost. */
  readonly begunAt?: Position | undefined;
  /** Machines that are off because of this group, or may be, and those that were within the limits' window. The latest last. */
  readonly shots?: readonly Shot[] | undefined;
}

/** How many histories are remembered: a replica that was away for longer is not chosen. */
const HISTORIES_MAX = 8;

/** What stands before there was any leader: nobody is the primary. */
export const firstRecord: FailoverRecord = {
  epoch: 1,
  step: { at: "fencing", why: "first", from: undefined, wish: undefined },
  primary: undefined,
  histories: [],
  isPaused: false,
  recentMs: [],
  tried: [],
  order: undefined,
  sync: undefined,
};

export function withHistory(record: FailoverRecord, history: string): FailoverRecord {
  if (record.histories[0] === history) return record;
  const histories = [history, ...record.histories.filter((other) => other !== history)].slice(0, HISTORIES_MAX);
  return { ...record, histories };
}

/** The server that the others follow, as far as this record knows; none while nobody is writable. */
export function followed({ primary }: FailoverRecord, server: string): string | undefined {
  return primary === server ? undefined : primary;
}
