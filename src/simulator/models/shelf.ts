// A modelled store: its six methods as pure functions of the store's own time. The simulator puts a network and faults around it, `memory:` puts promises around it; both mean the same by a session, a
// seat and a line.
import type {
  Claim,
  Claimed,
  Hold,
  Kept,
  StoredMemo,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Seat,
  Session,
  SessionSpec,
  ShownNext,
  Token,
  Will,
} from "../../lease/exchange.ts";

export interface Shelf {
  keep(session: Session | SessionSpec, holds: readonly Hold[], nowMs: number): Kept;
  claim(claim: Claim, nowMs: number): Claimed;
  release(will: Will, nowMs: number): void;
  look(question: Question, nowMs: number): Seat;
  /** Asks the term of `token` to hand over. False: that term does not hold the name, and nothing is stored. */
  askToLeave(name: Name, token: Token): boolean;
  /** In a line: returns the candidate behind the first, if the first is the term of `token`. */
  showNext(name: Name, token: Token): Extract<ShownNext, { kind: "next" | "not-leading" }>;
  writeMemo(write: MemoWrite, nowMs: number): MemoWritten;
  readMemos(name: Name, key: string | undefined): readonly StoredMemo[];
  /** Tells whether the node of this session is banned. */
  isBanned(session: string): boolean;
  /** An operator lifts every ban. */
  liftBans(): void;
  /** An operator deletes the record of `name`; in a line, the entry with this many before it. */
  deleteRecord(name: Name, nowMs: number, ahead?: number): void;
  /** An operator ends a session, and with it every hold of it. */
  endSession(id: string): void;
  /** The earliest instant at which the store itself will end a session; Infinity if it never does. */
  nextExpiry(): number;
  /** Ends sessions that have expired. Returns the names whose seats changed. */
  expire(nowMs: number): readonly Name[];
  /** A copy that shares nothing: for stale reads and failovers that forget. */
  copy(): Shelf;
}

export interface ShelfOptions {
  /** The domain of its tokens. */
  readonly domain: string;
  /** store: the shelf ends a silent session by its own clock. taker: it never does, and rivals judge. */
  readonly judge: "store" | "taker";
  /** The time by which the store may end a session later than its ttl, in ms of its own clock; it never ends one earlier. */
  readonly lateMs?: (() => number) | undefined;
  /** Keeps swap over the beat that they know (lease/beats.ts). */
  readonly refusesClones?: boolean | undefined;
  /** Returns the ttl that it grants for the one that is asked for. */
  readonly grant?: ((askedMs: number) => number) | undefined;
}

/** A session as the answer to its keep shows it: with the present beat, if it has one. */
export function grantedSession(
  id: string,
  { candidate, ttlMs, mark }: { readonly candidate: string; readonly ttlMs: number; readonly mark: string | undefined },
): Session {
  return { id, candidate, ttlMs, beats: mark === undefined ? undefined : [mark] };
}
