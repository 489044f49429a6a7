// What the machine remembers of the memos of a term. Plain data, as all of its state (state.ts).
import type { BanChange, Hold, Version } from "./exchange.ts";

/** INVARIANT: there only while the term of `hold` is held. */
export interface TermMemos {
  readonly hold: Hold;
  readonly keys: Map<string, MemoKey>;
}

/** One key in one term. INVARIANT: one request of it is under way at most. */
export interface MemoKey {
  readonly key: string;
  /** What stands was read in this term, and `over` is its version. */
  isRead: boolean;
  over: Version | undefined;
  /** Of the last write that was sent. */
  n: number;
  /** The first of `waiting` was sent: it keeps its `n`. */
  isSent: boolean;
  /** In the order of the calls. */
  readonly waiting: MemoWish[];
  errand: number;
  failures: number;
  /** When the same is sent again; Infinity: an answer is awaited, or nothing waits. */
  retryAt: number;
}

export interface MemoWish {
  readonly id: number;
  readonly value: string;
  readonly ban?: BanChange | undefined;
}
