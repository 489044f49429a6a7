// Everything that happens to a candidate, as one typed union. The same values are log lines, metrics, diagnostics_channel messages,
// and what the lab draws. The host itself acts on them too (aborts a signal, makes a term), so what is reported is what happened.
import type { ConclaveError, ErrorCode, LossReason } from "../base/errors.ts";
import type { Bid, Holder, Met, Name, Token } from "./exchange.ts";

/**
 * safe      renewals are proven in time
 * jeopardy  the last proven keep is overdue; the deadline is ahead
 * ending    the signal has aborted, `drainMs` before the deadline or because the term was given up: still exclusive, for stopping
 * lost      the deadline has passed, or the store said so
 */
export type TermState = "safe" | "jeopardy" | "ending" | "lost";

/** What a request to the store was for. `observe`: a look for somebody who observes. `memo`: a memo of a term. */
export type Doing = "open" | "renew" | "claim" | "look" | "release" | "grant" | "observe" | "memo";

/** Everything that can happen to a candidate. See docs/EVENTS.md. */
export type ConclaveEvent =
  /** The candidate has a session at the store, lost it, or ended it. `met`: what the store's server has shown of itself, when the session was opened. */
  | {
      readonly type: "session";
      readonly state: "opened" | "lost" | "ended";
      readonly session: string;
      readonly met?: Met;
    }
  /** A renewal was proven: how long its answer took, and how much certainty it leaves. It extends every term of the candidate. */
  | { readonly type: "renewed"; readonly roundTripMs: number; readonly remainingMs: number }
  /** The candidate wants to lead, and tries. */
  | { readonly type: "standing"; readonly election: Name }
  /** Another stands before this candidate. `leader`: who leads, as far as the store has shown it. Again when another leads. */
  | { readonly type: "waiting"; readonly election: Name; readonly leader: Holder | undefined }
  | {
      readonly type: "elected";
      readonly election: Name;
      readonly bid: Bid;
      readonly token: Token | undefined;
      readonly ttlMs: number;
      /** Milliseconds of certainty left, as `term.remainingMs()`. */
      readonly remainingMs: number;
    }
  /** The state of a held term changed. `ending` carries the reason with which the signal aborts. */
  | {
      readonly type: "state";
      readonly election: Name;
      readonly state: "safe" | "jeopardy" | "ending";
      readonly reason?: LossReason;
    }
  /** The term is no longer held. Follows `ending`, except where the store ends a term at once. */
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
  /** Something went wrong. `during`: what for; such an error is reported once, until it is over (`recovered`). */
  | { readonly type: "error"; readonly error: ConclaveError; readonly election?: Name; readonly during?: Doing }
  /** What failed works again. `code`: of the error that it began with. */
  | {
      readonly type: "recovered";
      readonly code: ErrorCode;
      readonly election?: Name;
      readonly afterMs: number;
      readonly failures: number;
    }
  /** What happens to a schedule of the election (`conclave/schedule`). */
  | ({ readonly type: "schedule"; readonly election: Name; readonly key: string } & ScheduleNews)
  /** Nothing has failed, but something looks like a mistake. */
  | { readonly type: "warning"; readonly code: WarningCode; readonly message: string; readonly election?: Name };

/**
 * What a warning is about.
 *
 * - `MEMORY_IN_PRODUCTION`: a store inside this process, with NODE_ENV=production: every process elects its own leader.
 * - `NOT_STARTED`: `ifLeading` was called of an election that was never started in this process: its work does not run.
 * - `PERMITS_DIFFER`: another process was told a greater number of permits of this semaphore: more may hold one at once than this process was told.
 * - `STARTED_ALREADY`: `lead` or `campaign` of an election that was started: it waits until that is closed.
 * - `STILL_WORKING`: work that was told to stop has not settled long after: the term stays held, and nobody else leads, until it has.
 * - `TWO_STORES`: two candidates of this process stand for one name at different stores: each of them may have a leader.
 * - `WAITS_FOR_ITSELF`: a `lead` or `withLock` waits behind a term that this candidate holds or stands for by another call: it does not begin before that one has ended.
 */
export type WarningCode =
  | "TWO_STORES"
  | "MEMORY_IN_PRODUCTION"
  | "NOT_STARTED"
  | "PERMITS_DIFFER"
  | "STARTED_ALREADY"
  | "STILL_WORKING"
  | "WAITS_FOR_ITSELF";

/** What happens to a schedule. Slots are instants of UTC as ISO texts: `2026-11-16T03:00:00.000Z`. */
export type ScheduleNews =
  /** The next slot is known, and awaited; none: there is none any more. */
  | { readonly state: "waiting"; readonly next: string | undefined }
  /** Its work is called now, `at` by the clock of this host. */
  | { readonly state: "begun"; readonly slot: string; readonly at: string; readonly isCatchUp: boolean }
  /** Its work has settled. `stopped`: it rejected after its signal had aborted. */
  | { readonly state: "ended"; readonly slot: string; readonly outcome: "done" | "failed" | "stopped" }
  /** At least so many slots before `slot`, or up to it, are left out, as the option `missed` says. */
  | { readonly state: "missed"; readonly slot: string; readonly count: number }
  /** An earlier term has begun this slot, and nobody noted its end: it may be lost. It is not begun again. */
  | { readonly state: "unfinished"; readonly slot: string };
