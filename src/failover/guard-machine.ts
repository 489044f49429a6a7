// The guard beside one server, as a pure machine. It decides when its service is started, killed and promoted, and when the seat `primary/NAME` is asked for and given back. A host (src/failover/guard.ts, or a simulated
// world) carries out its effects.
//
//   down        no process of the service lives: it may be started, always as a replica
//   starting    the service was started, and does not answer yet
//   replica     the service runs, and nobody writes to it
//   standing    as replica; the record names this server, and the seat was asked for
//   checking    the seat is granted; the record is read once more
//   promoting   the service was told to become the primary: it may be writable from now on
//   primary     the service said that it is the primary
//   retiring    the service was told to take no more writes, to wait for its successor and to become a replica
//   killing     SIGKILL was sent; until the cell is seen empty, the service may be writable
//
// SAFETY. This service is writable only while the seat is held:
//   - it is started as a replica, and promoted only in `checking`, with the seat granted, held by the clock, and on a record that was read after the grant and names this server;
//   - the seat is given back only when the service was never promoted in it, when the service has said itself that it is a replica again, or when no process of it lives;
//   - when the seat expires first, the keeper has killed everything before its deadline (src/supervisor/schedule.ts), and this machine starts nothing before the cell is empty.
// A promotion or a retirement without an answer has an unknown outcome. The service is then treated as writable, and it is killed.
import { unreachable } from "../base/assert.ts";
import type { Stepped } from "../base/stepped.ts";
import { type FailoverRecord, followed } from "./record.ts";

export interface GuardMoment {
  /** True if the term of the seat is held, by the clock. */
  readonly isLeading: boolean;
}

export type GuardAt =
  | "down"
  | "starting"
  | "replica"
  | "standing"
  | "checking"
  | "promoting"
  | "primary"
  | "retiring"
  | "killing";

export interface GuardState {
  readonly at: GuardAt;
  readonly server: string;
  /** The record as it was seen last. Undefined if there is none, or if it was not read yet. */
  readonly record: FailoverRecord | undefined;
  /** The server that the service was told to follow. */
  readonly follows: string | undefined;
  /** A claim to the seat is open, or its term is held. */
  readonly isSeatAsked: boolean;
  /** Counts the services that were started: a message about an earlier one is ignored. */
  readonly life: number;
  /** The service has parted from the server that it follows, or could not be started and so may have parted. Data that only this server has is taken back before it is started again. */
  readonly mends: boolean;
}

export type GuardInput =
  /** The host never shows an older record after a newer one. */
  | { readonly type: "record"; readonly record: FailoverRecord | undefined }
  | { readonly type: "started"; readonly life: number }
  /** No process of the service lives: it ended by itself, or was killed. */
  | { readonly type: "emptied"; readonly life: number }
  | { readonly type: "seat-granted" }
  /** The signal of the seat's term has aborted, the term is lost, or the claim was given up. */
  | { readonly type: "seat-ended" }
  | { readonly type: "reread"; readonly record: FailoverRecord | undefined }
  | { readonly type: "unread" }
  | { readonly type: "promoted"; readonly outcome: GuardOutcome }
  | { readonly type: "retired"; readonly outcome: GuardOutcome }
  /** This service has data that `primary` does not have, and cannot follow it. */
  | { readonly type: "parted"; readonly life: number; readonly primary: string }
  | { readonly type: "begin" };

export type GuardOutcome = "done" | "not-done" | "unknown";

export type GuardEffect =
  /** Start the service as a replica of `follows`, or of nobody; answer with `started` or `emptied`. */
  | { readonly type: "start"; readonly follows: string | undefined; readonly life: number; readonly mends: boolean }
  /** Send SIGKILL to every process of the service; answer with `emptied`. */
  | { readonly type: "kill"; readonly life: number }
  /** The same as `kill`, but the service may end by itself first, so that its data is whole: nobody can write to it. */
  | { readonly type: "stop"; readonly life: number }
  /** Ask for the seat; answer with `seat-granted`, later `seat-ended`. */
  | { readonly type: "stand" }
  /** Give the seat back, or give the claim up; answer with `seat-ended`. */
  | { readonly type: "resign" }
  /** Send a linearizable read of the record now; answer with `reread` or `unread`. */
  | { readonly type: "reread" }
  /** Promote the service; answer with `promoted`. */
  | { readonly type: "promote" }
  /** Say in the seat that this server is the primary, and since which epoch. */
  | { readonly type: "announce"; readonly epoch: number }
  | { readonly type: "follow"; readonly primary: string }
  /** Take no writes, wait until `to` has everything, become a replica; answer with `retired`. */
  | { readonly type: "retire"; readonly to: string }
  /** The hand-over was given up: take writes again, if that is still possible. `retired` is answered all the same. */
  | { readonly type: "unretire" };

export type GuardStepped = Stepped<GuardState, GuardEffect>;

export function guardOf(server: string): GuardState {
  return { at: "down", server, record: undefined, follows: undefined, isSeatAsked: false, life: 0, mends: false };
}

/** True if the service may be writable. */
export function mayWrite({ at }: GuardState): boolean {
  return at === "promoting" || at === "primary" || at === "retiring" || at === "killing";
}

export function stepGuard(state: GuardState, input: GuardInput, now: GuardMoment): GuardStepped {
  switch (input.type) {
    case "begin":
      return state.at === "down" ? start(state) : still(state);
    case "record":
      return heed({ ...state, record: input.record });
    case "started":
      // A service that answers is examined anew, so `mends` is cleared. A service that does not answer is mended again at the next start.
      return state.at === "starting" && input.life === state.life
        ? heed({ ...state, at: "replica", mends: false })
        : still(state);
    case "emptied":
      // SAFETY: a late message about the end of an earlier service would start a second service beside the present one.
      return input.life === state.life ? emptied(state) : still(state);
    case "seat-granted":
      return state.at === "standing" ? act({ ...state, at: "checking" }, [{ type: "reread" }]) : unwanted(state);
    case "seat-ended":
      return seatEnded({ ...state, isSeatAsked: false });
    case "reread":
      return state.at === "checking" ? checked({ ...state, record: input.record }, now) : still(state);
    case "unread":
      return state.at === "checking" ? act(state, [{ type: "reread" }]) : still(state);
    case "promoted":
      return state.at === "promoting" ? promoted(state, input.outcome, now) : still(state);
    case "retired":
      return state.at === "retiring" ? retired(state, input.outcome) : still(state);
    case "parted":
      return input.life === state.life ? parted(state, input.primary) : still(state);
    default:
      return unreachable(input);
  }
}

function act(state: GuardState, effects: readonly GuardEffect[]): GuardStepped {
  return { state, effects };
}

function still(state: GuardState): GuardStepped {
  return act(state, []);
}

function start(state: GuardState): GuardStepped {
  const follows = state.record && followed(state.record, state.server);
  const life = state.life + 1;
  const mends = state.mends && follows !== undefined && isOver(state.record);
  return act({ ...state, at: "starting", follows, life }, [{ type: "start", follows, life, mends }]);
}

/** The seat was granted after it was no longer wanted. Nothing was promoted in it. */
function unwanted(state: GuardState): GuardStepped {
  return mayWrite(state) ? still(state) : act(state, [{ type: "resign" }]);
}

function kill(state: GuardState): GuardStepped {
  return act({ ...state, at: "killing" }, [{ type: "kill", life: state.life }]);
}

/**
 * SAFETY: the seat is given back, and a new service is started, only now that no process of the service is left. A replica that ended before it ever answered may have parted from its primary so far that it cannot start.
 * Nobody can ask it, so its files on the disk are examined, which changes nothing if it has not parted.
 */
function emptied(state: GuardState): GuardStepped {
  const hasNotStarted = state.at === "starting" && state.follows !== undefined;
  const begun = start({ ...state, at: "down", mends: state.mends || hasNotStarted });
  const resign: readonly GuardEffect[] = state.isSeatAsked ? [{ type: "resign" }] : [];
  return act(begun.state, [...resign, ...begun.effects]);
}

function seatEnded(state: GuardState): GuardStepped {
  if (state.at === "killing") return still(state);
  if (mayWrite(state)) return kill(state);
  if (state.at === "standing" || state.at === "checking") return heed({ ...state, at: "replica" });
  return still(state);
}

/** SAFETY: this is the last look before the service may become writable: the record was asked for after the seat was granted, and the seat is held now. */
function checked(state: GuardState, now: GuardMoment): GuardStepped {
  if (!isNamed(state) || !now.isLeading) return act({ ...state, at: "replica" }, [{ type: "resign" }]);
  return act({ ...state, at: "promoting", follows: undefined }, [{ type: "promote" }]);
}

function promoted(state: GuardState, outcome: GuardOutcome, now: GuardMoment): GuardStepped {
  if (outcome !== "done" || !now.isLeading) return kill(state);
  return heed({ ...state, at: "primary" });
}

function retired(state: GuardState, outcome: GuardOutcome): GuardStepped {
  if (outcome === "unknown") return kill(state);
  if (outcome === "not-done") return heed({ ...state, at: "primary" });
  const at = { ...state, at: "replica" as const };
  return act(at, [{ type: "resign" }]);
}

/** SAFETY: data that this server has and the primary of the record does not have is thrown away. So this is done only for a replica, only for the primary that the record names now, and only while no change is under way. */
function parted(state: GuardState, primary: string): GuardStepped {
  const { record } = state;
  if (state.at !== "replica" || !isOver(record) || record?.primary !== primary) return still(state);
  return act({ ...state, at: "killing", mends: true }, [{ type: "stop", life: state.life }]);
}

/** The server from which a service that was started and does not answer may get what it lacks. While a change is under way, nobody knows who that is. */
export function soughtBy({ at, record, server }: GuardState): string | undefined {
  return at === "starting" && record !== undefined && isOver(record) ? followed(record, server) : undefined;
}

/** True if the primary of the record was seen in its seat, and no server is being replaced. */
function isOver(record: FailoverRecord | undefined): boolean {
  return record?.step.at === "steady" || record?.step.at === "repointing";
}

/** True if the record names this server as the one to be promoted. */
function isNamed({ record, server }: GuardState): boolean {
  return record?.step.at === "promoting" && record.step.to === server;
}

/** True if the record says that this server is the primary, or becomes it. */
function isMine(state: GuardState): boolean {
  const { record, server } = state;
  if (isNamed(state)) return true;
  return record?.primary === server && (record.step.at === "steady" || record.step.at === "repointing");
}

/** Does what the record wants of this server now. */
function heed(state: GuardState): GuardStepped {
  switch (state.at) {
    case "replica":
      return isNamed(state) && !state.isSeatAsked ? stand(state) : follow(state);
    case "standing":
      return isNamed(state) ? still(state) : act(state, [{ type: "resign" }]);
    case "primary":
      return heedAsPrimary(state);
    case "retiring":
      // SAFETY: the outcome is waited for all the same. The service may have been told to become a replica already, and that command may arrive late.
      return isMine(state) ? act(state, [{ type: "unretire" }]) : still(state);
    case "down":
    case "starting":
    case "checking":
    case "promoting":
    case "killing":
      return still(state);
    default:
      return unreachable(state.at);
  }
}

function stand(state: GuardState): GuardStepped {
  return act({ ...state, at: "standing", isSeatAsked: true }, [{ type: "stand" }]);
}

function follow(state: GuardState): GuardStepped {
  const primary = state.record && followed(state.record, state.server);
  if (primary === undefined || primary === state.follows) return still(state);
  return act({ ...state, follows: primary }, [{ type: "follow", primary }]);
}

/** If the record was lost or names another server, the service is killed: the other servers may already follow somebody else. */
function heedAsPrimary(state: GuardState): GuardStepped {
  const { record, server } = state;
  if (record?.step.at === "handing-over" && record.step.from === server)
    return act({ ...state, at: "retiring" }, [{ type: "retire", to: record.step.to }]);
  if (!isMine(state)) return kill(state);
  return act(state, [{ type: "announce", epoch: record?.epoch ?? 0 }]);
}
