// A term, as a leader holds it. Everything that can change by itself is a method, never a property: TypeScript keeps the narrowing of a property across
// `await`, so a second `if (!term.held)` would be typed as dead code.
//
// The deadline is about belief, the token about effects. `isHeld()` says whether this process may believe that it leads. A process that believes this wrongly may still
// write: only the token, checked at the resource, makes such a write harmless.
import type { LossReason } from "../base/errors.ts";
import type { Fenced } from "../fencing/token.ts";
import type { TermState } from "../lease/events.ts";
import type { TransferAnswer, TransferOptions } from "./face.ts";

/** A term of a store without tokens: it has everything of a `Term` except for its token. Nothing can refuse a late write of it. */
export interface UnfencedTerm extends AsyncDisposable {
  readonly election: string;
  /** The candidate that holds it, with the nonce of this process: `web-1_8f3a…`. */
  readonly candidate: string;
  /** Aborts `drainMs` before the deadline, or at once when the store names another leader. Its reason is a `TermLostError`. It never becomes un-aborted. */
  readonly signal: AbortSignal;
  /** Settles when `signal` aborts; never rejects. */
  readonly ended: Promise<LossReason>;
  /** Reads the clocks now. True until `signal` aborts: begin another piece of work only while this is true. */
  isLeading(): boolean;
  /**
   * Reads the clocks now. False from the local deadline on, even if no timer has fired yet. Between the signal and the deadline it is still true:
   * nobody else may lead, so work that has begun can end. A loop over `isHeld()` would never stop for a shutdown; loop over `isLeading()`.
   */
  isHeld(): boolean;
  /** Throws a `TermLostError` unless `isLeading()`. It works as `signal.throwIfAborted()` does, but by the clock. It throws already while the term is ending, before it is lost. */
  throwIfNotLeading(): void;
  state(): TermState;
  /** The milliseconds of certainty that are left, 0 when the term is lost: the bound for the next request. */
  remainingMs(): number;
  /** Makes one proven renewal now. Rejects with `TERM_LOST` when it is refused, and with another code when the outcome is unknown: the term is then still in jeopardy. */
  renew(): Promise<void>;
  /** Sets the value that `leader()` and `observe()` show beside the id, e.g. the address of this process. */
  announce(value: string): Promise<void>;
  /**
   * Writes a small value that outlives this term, and that only the term in the seat can write: the store checks that in the same step. Resolves when it is written for good.
   * Rejects with `TERM_LOST` if the term ends first: then it may have been written, which `election.memo(key)` of the next leader shows. While the store does not answer, the value
   * is sent again. Writes of one key are carried out in the order of the calls. Read it with `election.memo(key)`. See docs/MEMOS.md.
   */
  memo(key: string, value: string): Promise<void>;
  /**
   * Gives the term up. For a term from `campaign`, the store is told now, and this resolves when the store has answered. Inside `lead` or `withLock`, the
   * signal aborts now, and the store is told when the work has settled. It is idempotent, and `await using` calls it too.
   */
  resign(): Promise<void>;
}

/** A term with a token that a resource can compare. Only stores with a durable, growing counter give one. */
export interface Term extends UnfencedTerm, Fenced {
  /**
   * Bans a node: from the step at the store that writes the ban, nothing is granted to a session of that node, until the ban is lifted. A ban ends nothing early: the terms of the
   * node expire by their ttl. It is written as a memo is, only while the seat shows this term, and it outlives the term. Rejects with `CONFIG_INVALID` for the own node, and with
   * `STORE_UNSUPPORTED` where the store keeps no bans. See docs/STONITH.md.
   */
  ban(node: string, why: string): Promise<void>;
  /**
   * Hands this term over to the candidate with the id `to`, if that candidate waits: it is invited, and asks this leader to leave. Then this term ends with the reason `asked`, as if
   * by `conclave resign`, and that candidate claims, with a token of its own. Resolves when this term begins to end; inside `lead` do not wait for more. Resolves with `accepted: false`
   * if nobody has answered within `withinMs`: then nothing was given up. On a store with a queue, `to` must be the next in it. Rejects with `STORE_UNSUPPORTED` where the store
   * cannot do it. See docs/HANDING-OVER.md.
   */
  transfer(to: string, options?: Pick<TransferOptions, "withinMs">): Promise<TransferAnswer>;
  /** Lifts the ban of this election against the node. Call it only when no shot at the node can come any more: docs/STONITH.md says when that is. */
  lift(node: string): Promise<void>;
  /**
   * Ends every session of a node that this term has banned, so that everything that the node held in this store is free at once. Call it only when a device was asked after the ban and says that the machine is off: a
   * process that still ran on the node would lose its terms before their deadlines. Rejects with `CONFIG_INVALID` if this term has not banned the node itself, or has lifted the ban. See docs/STONITH.md.
   */
  endSessionsOf(node: string): Promise<void>;
}
