// What a leader holds. Everything that can change by itself is a method, never a property: TypeScript keeps the narrowing of a property across
// `await`, so a second `if (!term.held)` would be typed as dead code.
//
// The deadline is about belief, the token about effects: `isHeld()` says whether this process may think that it leads; only the token, checked at
// the resource, makes a write of a process that thinks wrongly harmless.
import type { LossReason } from "../base/errors.ts";
import type { Fenced } from "../fencing/token.ts";
import type { TermState } from "../lease/events.ts";
import type { TransferAnswer, TransferOptions } from "./face.ts";

/** A term of a store without tokens: all of a `Term` but its token. Nothing can refuse a late write of it. */
export interface UnfencedTerm extends AsyncDisposable {
  readonly election: string;
  /** The candidate that holds it, with the nonce of this process: `web-1_8f3a…`. */
  readonly candidate: string;
  /** Aborts `drainMs` before the deadline, or at once when the store names another; its reason is a `TermLostError`. Never un-aborts. */
  readonly signal: AbortSignal;
  /** Settles when `signal` aborts; never rejects. */
  readonly ended: Promise<LossReason>;
  /** Reads the clocks now. True until `signal` aborts: begin another piece of work while this holds. */
  isLeading(): boolean;
  /**
   * Reads the clocks now. False from the local deadline on, even if no timer has fired yet. Between the signal and the deadline it is still true:
   * nobody else may lead, so that work which has begun can end. A loop over `isHeld()` would never stop for a shutdown; loop over `isLeading()`.
   */
  isHeld(): boolean;
  /** Throws a `TermLostError` unless `isLeading()`: as `signal.throwIfAborted()`, but by the clock. It throws before the term is lost, while it is ending. */
  throwIfNotLeading(): void;
  state(): TermState;
  /** Milliseconds of certainty left, 0 when lost: the bound for the next request. */
  remainingMs(): number;
  /** One proven renewal now. Rejects `TERM_LOST` when refused; another code when unknown: the term is then still in jeopardy. */
  renew(): Promise<void>;
  /** What `leader()` and `observe()` show beside the id, e.g. this process's address. */
  announce(value: string): Promise<void>;
  /**
   * Writes a small value that outlives this term, and that only the term in the seat can write: the store checks that in the same step. Resolves when it is written for good.
   * Rejects `TERM_LOST` if the term ends first: then it may have been written, which `election.memo(key)` of the next leader shows. While the store does not answer it is
   * sent again. Writes of one key are carried out in the order of the calls. Read it with `election.memo(key)`. See docs/MEMOS.md.
   */
  memo(key: string, value: string): Promise<void>;
  /**
   * Gives the term up. Of a term from `campaign`: the store is told now, and this resolves when it has answered. Inside `lead` or `withLock`: the
   * signal aborts now, and the store is told when the work has settled. Idempotent. Also what `await using` does.
   */
  resign(): Promise<void>;
}

/** What a leader holds: with a token that a resource can compare. Only stores with a durable, growing counter give one. */
export interface Term extends UnfencedTerm, Fenced {
  /**
   * Bans a node: from the step at the store that writes it, nothing is granted to a session of that node, until the ban is lifted. It ends nothing early: what the node holds
   * runs out by its ttl. Written as a memo is, only while the seat shows this term; it outlives the term. Rejects with `CONFIG_INVALID` for the own node, and with
   * `STORE_UNSUPPORTED` where the store keeps no bans. See docs/STONITH.md.
   */
  ban(node: string, why: string): Promise<void>;
  /**
   * Hands this term over to the candidate with the id `to`, if that one waits: it is invited, and asks this leader to leave. Then this term ends with the reason `asked` as if
   * by `conclave resign`, and that candidate claims, with a token of its own. Resolves when this term begins to end; inside `lead` do not wait for more. Resolves with `accepted: false`
   * if nobody has answered within `withinMs`: then nothing was given up. On a store with a queue it must be the next in it. Rejects with `STORE_UNSUPPORTED` where the store
   * cannot do it. See docs/HANDING-OVER.md.
   */
  transfer(to: string, options?: Pick<TransferOptions, "withinMs">): Promise<TransferAnswer>;
  /** Lifts the ban of this election against the node. Only when no shot at it can come any more: docs/STONITH.md says when that is. */
  lift(node: string): Promise<void>;
  /**
   * Ends every session of a node that this term has banned, so that what the node held in this store is free at once. Only when a device was asked after the ban, and says that the machine is off: a process that
   * runs on it then loses its terms before their deadlines. Rejects with `CONFIG_INVALID` if this term has not banned the node itself, or has lifted the ban. See docs/STONITH.md.
   */
  endSessionsOf(node: string): Promise<void>;
}
