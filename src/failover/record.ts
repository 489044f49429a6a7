// The record of the leader of the monitors: which server is the primary, and how far a change of the primary has come. It is one memo of the election `failover/NAME`, so only the leader
// can write it, and the next leader continues from it. Guards read it and do what it says. Here it is a value; record-text.ts has its text.
//
//   steady         the primary is known, and nothing is under way
//   fencing        the old primary is being made harmless; nobody has been chosen
//   handing-over   as fencing, but the old primary is asked to stop writing and to wait until `to` has everything
//   choosing       nothing is writable any more: positions stand still, are read, and a successor is chosen
//   promoting      `to` was chosen: its guard may take the seat and make it writable
//   repointing     `to` is the primary; the others are being made to follow it
//
// INVARIANT  Only `promoting` lets a server become writable, and only the server that it names. `promoting` is written only over `choosing`, and `choosing` only after a fence.

/** How far one server has come in the stream of writes: a number that grows within one history. */
export type Position = number;

/** Where commits wait for standbys: the standbys that may have confirmed a commit. */
export interface SyncRule {
  /** One set for each server that may have taken commits since a primary was last seen in its seat. The set is written before that server can become writable. */
  readonly sets: readonly PromotableSet[];
}

/** At every instant, this set contains every standby that may confirm a commit of `primary`. */
export interface PromotableSet {
  readonly primary: string;
  /** Each commit was confirmed by at least this many servers of `promotable` (ANY k). */
  readonly confirmations: number;
  readonly promotable: readonly string[];
}

/** The server that an order names. `isForced`: it is taken whatever its history and position are, because a human has said so. */
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

/** The fence that made the old primary harmless. */
export type FencedBy = "seat" | "stonith" | "stonith and seat" | "human" | "nothing";

/** A machine that was shot at, or is going to be. It is written before an agent is started. */
export interface Shot {
  readonly server: string;
  /** The change of the primary that this shot belongs to. */
  readonly epoch: number;
  /** The time by the clock of the leader that decided the shot. It is used for the limits, and for people to read. */
  readonly wallMs: number;
  /** How often the shot has not led to a verified power-off, and the last report. Both are for people to read: no leader believes the report of another leader. */
  readonly vain: number;
  readonly last: { readonly outcome: "verified" | "failed" | "unknown"; readonly said: string } | undefined;
  /** The server has answered since. */
  readonly isBack: boolean;
}

/** The record of the leader of the monitors: the primary, and how far a change of the primary has come. */
export interface FailoverRecord {
  /** Grows by one whenever a change of the primary begins. */
  readonly epoch: number;
  readonly step: Step;
  /** The last server that was seen to be the primary in its seat. */
  readonly primary: string | undefined;
  /** The histories of primaries, the present one first. A server with another history is never chosen. */
  readonly histories: readonly string[];
  readonly isPaused: boolean;
  /** The times at which automatic failovers began, by the clocks of the leaders that began them. */
  readonly recentMs: readonly number[];
  /** Servers that were chosen in this change and did not become primary. */
  readonly tried: readonly string[];
  /** The last order of an operator that was dealt with. */
  readonly order: { readonly id: string; readonly said: string; readonly isDone: boolean } | undefined;
  readonly sync: SyncRule | undefined;
  /** Greater than any number that a promotion has used or a server has shown. It grows with every promotion that is begun, confirmed or not. With PostgreSQL this is the timeline. */
  readonly generation?: number | undefined;
  /** The numbers of the promotions that were begun in this change. */
  readonly attempts?: readonly number[] | undefined;
  /** How often a leader has given its term up in this change, because another monitor saw more servers. */
  readonly yields?: number | undefined;
  /** The position for which the present primary was chosen. Writes that the primary before has beyond that position are lost. */
  readonly begunAt?: Position | undefined;
  /** Machines that are off because of this group, or may be, and those that were shot at within the window of the limits. The latest one is the last. */
  readonly shots?: readonly Shot[] | undefined;
}

/** How many histories are remembered: a replica that was away for longer is not chosen. */
const HISTORIES_MAX = 8;

/** The record before there was any leader: no server is the primary. */
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

/** The server that `server` follows, as far as this record knows; undefined if it follows none. */
export function followed({ primary }: FailoverRecord, server: string): string | undefined {
  return primary === server ? undefined : primary;
}
