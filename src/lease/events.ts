// Everything that happens to a candidate, as one typed union. The same values are log lines, metrics, diagnostics_channel messages,
// and what the lab draws. The host itself acts on them too (aborts a signal, makes a term), so what is reported is what happened.
import type { ConclaveError, LossReason } from "../base/errors.ts";
import type { Bid, Holder, Name, Token } from "./exchange.ts";

/**
 * safe      renewals are proven in time
 * jeopardy  the last proven keep is overdue; the deadline is ahead
 * ending    the signal has aborted, `drainMs` before the deadline or because the term was given up: still exclusive, for stopping
 * lost      the deadline has passed, or the store said so
 */
export type TermState = "safe" | "jeopardy" | "ending" | "lost";

export type ConclaveEvent =
  /** The candidate has a session at the store, lost it, or ended it. */
  | { readonly type: "session"; readonly state: "opened" | "lost" | "ended"; readonly session: string }
  /** Wants to lead, and tries. */
  | { readonly type: "standing"; readonly election: Name }
  | {
      readonly type: "elected";
      readonly election: Name;
      readonly bid: Bid;
      readonly token: Token | undefined;
      readonly ttlMs: number;
    }
  /** The state of a held term changed. `ending` carries the reason with which the signal aborts. */
  | {
      readonly type: "state";
      readonly election: Name;
      readonly state: "safe" | "jeopardy" | "ending";
      readonly reason?: LossReason;
    }
  /** No longer held. Follows `ending`, except where the store ends a term at once. */
  | { readonly type: "lost"; readonly election: Name; readonly reason: LossReason }
  /** The work of a term that is no longer held has not settled. */
  | { readonly type: "overstayed"; readonly election: Name; readonly byMs: number }
  /** The work settled and the term is over. */
  | { readonly type: "settled"; readonly election: Name; readonly reason: LossReason }
  /** The store was told. `unknown`: told again until it answers or the session is over; not held in either case. */
  | { readonly type: "released"; readonly election: Name; readonly outcome: "released" | "unknown" }
  /** A grant that came too late, or was no longer wanted: given back, never announced. */
  | { readonly type: "handed-back"; readonly election: Name; readonly why: "late" | "unwanted" | "regressed" }
  /** A look showed another leader than the one before. A hint. */
  | { readonly type: "leader"; readonly election: Name; readonly leader: Holder | undefined }
  | { readonly type: "error"; readonly error: ConclaveError; readonly election?: Name };
