// A modelled store: what the six methods do, as pure functions of the store's own time. The simulator puts a network and faults around it,
// `memory:` puts promises around it; both mean the same by a session, a seat and a line.
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
  /** Somebody asks the term of `token` to hand over. False, and nothing is kept of it: that term does not hold the name. */
  askToLeave(name: Name, token: Token): boolean;
  /** Line: who stands behind the first, if that is the term of `token`. */
  showNext(name: Name, token: Token): Extract<ShownNext, { kind: "next" | "not-leading" }>;
  writeMemo(write: MemoWrite, nowMs: number): MemoWritten;
  readMemos(name: Name, key: string | undefined): readonly StoredMemo[];
  /** Whether a ban stands against the node of this session. */
  isBanned(session: string): boolean;
  /** An operator lifts every ban. */
  liftBans(): void;
  /** An operator deletes what stands at `name`; of a line, the entry with so many before it. */
  deleteRecord(name: Name, nowMs: number, ahead?: number): void;
  /** An operator ends a session: every hold of it falls. */
  endSession(id: string): void;
  /** The earliest instant at which the store itself will end a session; Infinity if it never does. */
  nextExpiry(): number;
  /** Ends what has run out. Returns the names whose seats changed. */
  expire(nowMs: number): readonly Name[];
  /** A copy that shares nothing: for stale reads and failovers that forget. */
  copy(): Shelf;
}

export interface ShelfOptions {
  /** Token domain. */
  readonly domain: string;
  /** store: the shelf ends a silent session by its own clock. taker: it never does, rivals judge. */
  readonly judge: "store" | "taker";
  /** How much later than its ttl the store may end a session, in ms of its own clock; never earlier. */
  readonly lateMs?: (() => number) | undefined;
  /** Keeps swap over the beat that they know (lease/beats.ts). */
  readonly refusesClones?: boolean | undefined;
  /** What it grants for what is asked. */
  readonly grant?: ((askedMs: number) => number) | undefined;
}

/** A session as its keep is answered: with the beat that stands there now, if it has one. */
export function grantedSession(
  id: string,
  { candidate, ttlMs, mark }: { readonly candidate: string; readonly ttlMs: number; readonly mark: string | undefined },
): Session {
  return { id, candidate, ttlMs, beats: mark === undefined ? undefined : [mark] };
}
