// The guard beside one server, as a pure machine: when its service is started, killed, promoted, and when the seat `primary/NAME` is asked for and given back. A host (src/failover/guard.ts, or a simulated
// world) carries out its effects.
//
//   down        nothing of the service lives: it may be started, always as a replica
//   starting    it was started, and does not answer yet
//   replica     it runs, and nobody writes to it
//   standing    as replica; the record names this server, and the seat was asked for
//   checking    the seat is granted; the record is read once more
//   promoting   the service was told to become the primary: it may be writable from now on
//   primary     it said that it is
//   retiring    it was told to take no more writes, to wait for its successor and to become a replica
//   killing     SIGKILL was sent; until the cell is seen empty it may be writable
//
// SAFETY. This service is writable only while the seat is held:
//   - it is started as a replica, and promoted only in `checking`, with the seat granted, held by the clock, and on a record that was read after the grant and names this server;
//   - the seat is given back only when the service was never promoted in it, has said itself that it is a replica again, or nothing of it lives;
//   - when the seat runs out first, the keeper has killed everything before its deadline (src/supervisor/schedule.ts), and this machine starts nothing before the cell is empty.
// What nobody knows (a promotion or a retirement without an answer) is treated as writable: the service is killed.
import { unreachable } from "../base/assert.ts";
import { type FailoverRecord, followed } from "./record.ts";

export interface GuardMoment {
  /** The seat's term, by the clock. */
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
  /** As it was seen last; undefined: there is none, or it was not read yet. */
  readonly record: FailoverRecord | undefined;
  /** Whom the service was told to follow. */
  readonly follows: string | undefined;
  /** A claim is out, or a term is held. */
  readonly isSeatAsked: boolean;
  /** Counts the services that were started: what is said of an earlier one is ignored. */
  readonly life: number;
  /** It has parted from whom it follows, or could not be started and so may have: what only it has is taken back before it is started again. */
  readonly mends: boolean;
}

export type GuardInput =
  /** The host never shows an older one after a newer one. */
  | { readonly type: "record"; readonly record: FailoverRecord | undefined }
  | { readonly type: "started"; readonly life: number }
  /** Nothing of the service lives: it ended by itself, or was killed. */
  | { readonly type: "emptied"; readonly life: number }
  | { readonly type: "seat-granted" }
  /** Its signal has aborted, or it is lost, or the claim was given up. */
  | { readonly type: "seat-ended" }
  | { readonly type: "reread"; readonly record: FailoverRecord | undefined }
  | { readonly type: "unread" }
  | { readonly type: "promoted"; readonly outcome: GuardOutcome }
  | { readonly type: "retired"; readonly outcome: GuardOutcome }
  /** This service has what `primary` does not have, and cannot follow it. */
  | { readonly type: "parted"; readonly life: number; readonly primary: string }
  | { readonly type: "begin" };

export type GuardOutcome = "done" | "not-done" | "unknown";

export type GuardEffect =
  /** As a replica of `follows`, or of nobody; answer with `started` or `emptied`. */
  | { readonly type: "start"; readonly follows: string | undefined; readonly life: number; readonly mends: boolean }
  /** SIGKILL to everything that the service has become; answer with `emptied`. */
  | { readonly type: "kill"; readonly life: number }
  /** As `kill`, but it may end by itself first, so that its data is whole: nobody can write to it. */
  | { readonly type: "stop"; readonly life: number }
  /** Ask for the seat; answer with `seat-granted`, later `seat-ended`. */
  | { readonly type: "stand" }
  /** Give the seat back, or the claim up; answer with `seat-ended`. */
  | { readonly type: "resign" }
  /** A linearizable read that is sent now; answer with `reread` or `unread`. */
  | { readonly type: "reread" }
  /** Answer with `promoted`. */
  | { readonly type: "promote" }
  /** Say in the seat whose primary this is. */
  | { readonly type: "announce"; readonly epoch: number }
  | { readonly type: "follow"; readonly primary: string }
  /** Take no writes, wait until `to` has everything, become a replica; answer with `retired`. */
  | { readonly type: "retire"; readonly to: string }
  /** Nobody takes over: take writes again. */
  | { readonly type: "unretire" };

export interface GuardStepped {
  readonly state: GuardState;
  readonly effects: readonly GuardEffect[];
}

export function guardOf(server: string): GuardState {
  return { at: "down", server, record: undefined, follows: undefined, isSeatAsked: false, life: 0, mends: false };
}

/** It may be writable. */
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
      // What was to be mended and does not answer is mended again at the next start; what answers is looked at anew.
      return state.at === "starting" && input.life === state.life
        ? heed({ ...state, at: "replica", mends: false })
        : still(state);
    case "emptied":
      // SAFETY: an end that was told of before would start a second service beside the present one.
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

/** A grant that came after nobody wanted it any more: nothing was promoted in it. */
function unwanted(state: GuardState): GuardStepped {
  return mayWrite(state) ? still(state) : act(state, [{ type: "resign" }]);
}

function kill(state: GuardState): GuardStepped {
  return act({ ...state, at: "killing" }, [{ type: "kill", life: state.life }]);
}

/**
 * SAFETY: only now, with nothing left of the service, is the seat given back, and a new service started. A replica that ended before it ever answered may have parted from its primary so far that it cannot start:
 * nobody can ask it, so it is looked at on the disk, which changes nothing if it has not parted.
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

/** SAFETY: the last look before the service may become writable: this record was asked for after the seat was granted, and the seat is held now. */
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

/** SAFETY: what it has and the primary of the record does not have is thrown away; so only that of a replica, and only for the primary that the record names now, while nothing is under way. */
function parted(state: GuardState, primary: string): GuardStepped {
  const { record } = state;
  if (state.at !== "replica" || !isOver(record) || record?.primary !== primary) return still(state);
  return act({ ...state, at: "killing", mends: true }, [{ type: "stop", life: state.life }]);
}

/** The primary of the record was seen in its seat, and nobody is being replaced. */
function isOver(record: FailoverRecord | undefined): boolean {
  return record?.step.at === "steady" || record?.step.at === "repointing";
}

/** The record asks this server, by its name, to be promoted. */
function isNamed({ record, server }: GuardState): boolean {
  return record?.step.at === "promoting" && record.step.to === server;
}

/** The record says that this server is the primary, or becomes it. */
function isMine(state: GuardState): boolean {
  const { record, server } = state;
  if (isNamed(state)) return true;
  return record?.primary === server && (record.step.at === "steady" || record.step.at === "repointing");
}

/** What the record wants of this server now. */
function heed(state: GuardState): GuardStepped {
  switch (state.at) {
    case "replica":
      return isNamed(state) && !state.isSeatAsked ? stand(state) : follow(state);
    case "standing":
      return isNamed(state) ? still(state) : act(state, [{ type: "resign" }]);
    case "primary":
      return heedAsPrimary(state);
    case "retiring":
      return isMine(state) ? act({ ...state, at: "primary" }, [{ type: "unretire" }]) : still(state);
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

/** A record that was lost, or is of another, ends the service: the others may follow somebody else already. */
function heedAsPrimary(state: GuardState): GuardStepped {
  const { record, server } = state;
  if (record?.step.at === "handing-over" && record.step.from === server)
    return act({ ...state, at: "retiring" }, [{ type: "retire", to: record.step.to }]);
  if (!isMine(state)) return kill(state);
  return act(state, [{ type: "announce", epoch: record?.epoch ?? 0 }]);
}
