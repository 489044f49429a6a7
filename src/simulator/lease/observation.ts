// The observations that invariants see: facts about a run, in the order in which they happened. An invariant judges by these and by two questions that it may ask at any time (`Probes`); it never looks
// into a machine's state.
import type { Reading } from "../../base/clock.ts";
import type { LossReason } from "../../base/errors.ts";
import type { Bid, Invitation, MemoWrite, Name, Token } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";

/** One life of one process: a restart makes a new one. Lives are compared by identity. */
export interface Who {
  /** The number of the life in its world, from 0. */
  readonly number: number;
  readonly slot: number;
  readonly life: number;
  readonly label: string;
}

export type Observation =
  /** A request left. `now` is the reading that went into the same step. */
  | {
      readonly type: "sent";
      readonly atMs: number;
      readonly who: Who;
      readonly errand: number;
      readonly request: Request;
      readonly now: Reading;
    }
  /** An answer is about to be handed to the machine. */
  | {
      readonly type: "answer";
      readonly atMs: number;
      readonly who: Who;
      readonly errand: number;
      readonly answer: Answer;
      readonly now: Reading;
    }
  /** The machine has taken a step, and wants to be woken at `wakeAt` on its monotonic clock. */
  | {
      readonly type: "stepped";
      readonly atMs: number;
      readonly who: Who;
      readonly now: Reading;
      readonly wakeAt: number;
    }
  /** A term was announced; its work begins. */
  | {
      readonly type: "elected";
      readonly atMs: number;
      readonly who: Who;
      readonly election: Name;
      readonly token: Token;
      readonly now: Reading;
    }
  /** The signal of a term aborted. */
  | {
      readonly type: "ending";
      readonly atMs: number;
      readonly who: Who;
      readonly election: Name;
      readonly reason: LossReason;
      readonly now: Reading;
    }
  | {
      readonly type: "lost";
      readonly atMs: number;
      readonly who: Who;
      readonly election: Name;
      readonly reason: LossReason;
      readonly now: Reading;
    }
  /** The work of a term has ended. */
  | { readonly type: "settled"; readonly atMs: number; readonly who: Who; readonly election: Name }
  /** The candidate does not want to lead any more, for now. */
  | { readonly type: "withdrew"; readonly atMs: number; readonly who: Who; readonly election: Name }
  /** The main loop of a process with a renewal thread has shown that it turns. */
  | { readonly type: "turned"; readonly atMs: number; readonly who: Who; readonly now: Reading }
  | { readonly type: "died"; readonly atMs: number; readonly who: Who }
  /** `copy` goes on from where `who` is, with the same session, bids and terms. */
  | { readonly type: "cloned"; readonly atMs: number; readonly who: Who; readonly copy: Who }
  /** All clocks of this process stood still for a while. */
  | { readonly type: "frozen"; readonly atMs: number; readonly who: Who }
  /** The store has granted a term, for the first time. */
  | { readonly type: "granted"; readonly atMs: number; readonly election: Name; readonly token: Token }
  /** The store has written a memo. */
  | { readonly type: "noted"; readonly atMs: number; readonly write: MemoWrite }
  /** Somebody has sent a request that the leader of this term hand over. */
  | { readonly type: "asked"; readonly atMs: number; readonly election: Name; readonly token: Token }
  /** A store has heard an invitation, and passes it on. */
  | { readonly type: "invited"; readonly atMs: number; readonly election: Name; readonly invitation: Invitation }
  /** Somebody bypassed the rules of the store: terms that were granted before may end early. */
  | { readonly type: "meddled"; readonly atMs: number; readonly act: Meddling; readonly election: Name | undefined }
  /** The machine of this process has closed: nothing is wanted or held any more. */
  | { readonly type: "closed"; readonly atMs: number; readonly who: Who }
  /** An operator has moved a resource to tokens of another domain. */
  | { readonly type: "adopted"; readonly atMs: number; readonly resource: Name; readonly to: string }
  | { readonly type: "accepted"; readonly atMs: number; readonly resource: Name; readonly token: Token }
  /** Faults are over. From here on each of `elections` must get a leader: `slot`, or any candidate if that is undefined. */
  | {
      readonly type: "awaited";
      readonly atMs: number;
      readonly elections: readonly Name[];
      readonly slot: number | undefined;
      readonly boundMs: number;
    }
  /** The time given by the last `awaited` is over. */
  | { readonly type: "overdue"; readonly atMs: number };

/**
 * record   an operator deleted the record of a name
 * session  an operator ended a session
 * forgot   a failover lost the last writes
 * jumped   the clock by which the store judges jumped forward
 */
export type Meddling = "record" | "session" | "forgot" | "jumped";

export type ObservationOf<T extends Observation["type"]> = Extract<Observation, { type: T }>;

export interface Probes {
  /** Returns what `term.isHeld()` would tell this process's user now; false once the process is dead. */
  isHeld(who: Who, election: Name, bid: Bid): boolean;
  /** Tells whether this bid's entry is at the store now. */
  stands(election: Name, bid: Bid, session: string): boolean;
}

/** The facts on which a promise depends, as the world declares them. */
export interface Promises {
  readonly shape: "line" | "race";
  readonly keep: "one-request" | "per-hold";
  /** Holds take turns in being carried by keeps, so a deletion is noticed later. */
  readonly takesTurns: boolean;
  readonly keepProves: "this-send" | "previous-send";
  readonly proofWithinMs: number;
  readonly extraMarginMs: number;
  readonly rho: number;
  /** The longest ttl that the store grants here. */
  readonly ttlMaxMs: number;
  /** Slot → its settings. */
  readonly candidates: readonly {
    readonly drainMs: number;
    readonly monoGrainMs: number;
    readonly bootGrainMs: number;
    readonly stallAfterMs?: number | undefined;
    readonly maxTenureMs?: number | undefined;
    readonly ttlMs: number;
    readonly priority?: number | undefined;
  }[];
}

export interface Judgement {
  readonly promises: Promises;
  readonly probes: Probes;
  /** Reports that the invariant does not hold. The first report ends the run. */
  violate(invariant: string, story: string): void;
}

/** The reaction to each kind of observation, where there is one. */
export type Ears = { readonly [T in Observation["type"]]?: (observation: ObservationOf<T>) => void };

export interface ObservationListener {
  readonly hears: Ears;
}

export interface LeaseInvariant extends ObservationListener {
  readonly name: string;
}
