// Every error of conclave: one base, a stable code, whether trying again can help, and the cause.
// A message says what, why and what next. docs/ERRORS.md lists the same codes; a test compares the two.
// Recognised by a brand rather than by class, so that two copies of the package in one process agree (`isConclaveError`).
import { plainError } from "./json.ts";

/** The codes of `ConclaveError`. */
export type ErrorCode =
  | "TERM_LOST"
  | "TERM_OVERSTAYED"
  | "TOKEN_STALE"
  | "TOKEN_FOREIGN"
  | "TOKEN_REGRESSED"
  | "TOKEN_MALFORMED"
  | "TOKEN_UNTRUSTED"
  | "TOKEN_EXPIRED"
  | "FENCE_BUSY"
  | "STORE_UNREACHABLE"
  | "STORE_TIMEOUT"
  | "STORE_DENIED"
  | "STORE_FOREIGN_DATA"
  | "STORE_UNSUPPORTED"
  | "STORE_FULL"
  | "NODE_BANNED"
  | "NODE_DUPLICATE"
  | "THREAD_LOST"
  | "KEEPER_LOST"
  | "SCHEDULE_FAILED"
  | "SCHEDULE_AHEAD"
  | "PARTITION_FAILED"
  | "CONFIG_INVALID"
  | "LOCK_TIMEOUT"
  | "CLOSED";

/** code → may the same call succeed later without anybody changing anything? */
export const ERROR_CODES: Readonly<Record<ErrorCode, boolean>> = {
  /** The term is over: its deadline has passed, the store named another, or it was resigned. */
  TERM_LOST: false,
  /** The work of a term still ran when the term was no longer held. */
  TERM_OVERSTAYED: false,
  /** A guarded resource has seen a newer token of the same domain, or the same value of another bid. */
  TOKEN_STALE: false,
  /** A guarded resource knows tokens of another domain: another cluster, database or file. */
  TOKEN_FOREIGN: false,
  /** The store granted a token that is not greater than one it granted before: it has forgotten. */
  TOKEN_REGRESSED: false,
  /** A token written as text could not be read, or what was handed to a guard has none. */
  TOKEN_MALFORMED: false,
  /** A guard that verifies signatures was shown a token that no accepted key has signed for this resource. */
  TOKEN_UNTRUSTED: false,
  /** A signed token whose time is over, or has not come by the clock of the guard. */
  TOKEN_EXPIRED: false,
  /** An operation with an older token has not ended, and a newer one may not begin beside it. */
  FENCE_BUSY: true,
  /** The store could not be reached: definitely not applied. */
  STORE_UNREACHABLE: true,
  /** No answer in time: unknown whether it was applied. */
  STORE_TIMEOUT: true,
  /** The store refused for want of a right or a password, or the two sides do not trust each other's certificates. */
  STORE_DENIED: false,
  /** Something that is not ours stands where our record should be. Nothing was written. */
  STORE_FOREIGN_DATA: false,
  /** This store cannot do what was asked. */
  STORE_UNSUPPORTED: false,
  /** There is no room: for one more hold in the session, for a value of that size, or in the server. */
  STORE_FULL: false,
  /** This node is to be powered off, or was: nothing is granted to it until the ban is lifted. */
  NODE_BANNED: true,
  /** Another machine has a live session under the name of this node. */
  NODE_DUPLICATE: true,
  /** The renewal thread has ended or does not answer; renewals go on in the main loop. */
  THREAD_LOST: false,
  /** The keeper beside this process has ended, or could not be started; it is started again. */
  KEEPER_LOST: true,
  /** The work of a slot rejected. It counts as run. */
  SCHEDULE_FAILED: false,
  /** The mark of a schedule is later than the next slot of this clock: a clock is wrong by more than a period. */
  SCHEDULE_AHEAD: true,
  /** The work of a partition rejected while it was led. It begins again after a pause. */
  PARTITION_FAILED: true,
  /** Options that cannot work; the message lists every problem. */
  CONFIG_INVALID: false,
  /** The lock was not free within `waitMs`. */
  LOCK_TIMEOUT: true,
  /** The election or candidate was closed while, or before, this was asked. */
  CLOSED: false,
};

/** Why a term ended. */
export type LossReason =
  /** The deadline came and no keep had been proven in time. */
  | "expired"
  /** The store named another holder, or the record was gone. */
  | "superseded"
  /** Given up on purpose: `resign`, `close`, a signal, or the work ended. */
  | "resigned"
  /** Given up because somebody asked this leader for it: `conclave resign`. */
  | "asked"
  /** Given up because it had been led for `maxTenureMs`. */
  | "tenure"
  /** Given up for a candidate with a greater `priority`. */
  | "outranked"
  /** The store no longer knows the session. */
  | "session-lost"
  /** The host slept past the deadline: boot time passed it, the monotonic clock did not. */
  | "suspended"
  /** The main loop has not turned for too long, so the renewal thread stopped. */
  | "stalled";

/** Whether a term has ended because somebody wanted it to, and not by a fault. */
export function isWished(reason: LossReason | undefined): boolean {
  return reason === "resigned" || reason === "asked" || reason === "tenure" || reason === "outranked";
}

const brand = Symbol.for("conclave.error");

export interface ErrorDetails {
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** Every error that conclave makes: with a code that does not change between versions, and whether trying again may help. See docs/ERRORS.md. */
export class ConclaveError extends Error {
  override readonly name: string = "ConclaveError";
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryable = details.retryable ?? ERROR_CODES[code];
    Object.defineProperty(this, brand, { value: true });
  }

  /** With its message and cause, which JSON would leave out; token values in decimal. */
  toJSON(): Readonly<Record<string, unknown>> {
    return plainError(this, 0, true);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isConclaveError(value);
  }
}

/** Everything that is wrong with what somebody passed to `call`, at once: "postgres: 2 problems · … · …". */
export function invalidConfig(call: string, problems: readonly string[], cause?: unknown): ConclaveError {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const details = cause === undefined ? {} : { cause };
  return new ConclaveError("CONFIG_INVALID", [`${call}: ${count}`, ...problems].join(" · "), details);
}

/** The reason of an aborted `term.signal`, and what a lost term's methods throw. */
export class TermLostError extends ConclaveError {
  override readonly name: string = "TermLostError";
  declare readonly code: "TERM_LOST";
  readonly election: string;
  readonly reason: LossReason;

  constructor(election: string, reason: LossReason) {
    super("TERM_LOST", `"${election}": ${LOSS_SENTENCES[reason]}`);
    this.election = election;
    this.reason = reason;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isConclaveError(value) && value.code === "TERM_LOST";
  }
}

const LOSS_SENTENCES: Record<LossReason, string> = {
  expired:
    "the term ended at its deadline because no renewal was proven in time. Stop this work; the candidate campaigns again.",
  superseded:
    "the store names another holder, or the record was deleted. Stop this work now; another process may lead already.",
  resigned: "the term was given up on purpose. Finish this work; the store is told when it has settled.",
  asked:
    "this leader was asked to hand over (conclave resign, or a transfer). Finish this work; the store is told when it has settled.",
  outranked:
    "a candidate with a greater priority waits. Finish this work; the store is told when it has settled, and then that candidate leads.",
  tenure:
    "this term has been led for maxTenureMs, and others get their turn. Finish this work; the store is told when it has settled.",
  "session-lost": "the store no longer knows this session. Stop this work now; another process may lead already.",
  suspended: "this host slept past the deadline. Stop this work now; another process may lead already.",
  stalled:
    "the main loop has not turned for too long, so renewals stopped. Look for blocking code; the candidate campaigns again.",
};

/** Whether a value is an error of conclave, also one of a second copy of the package in this process. */
export function isConclaveError(value: unknown): value is ConclaveError {
  return typeof value === "object" && value !== null && brand in value;
}
