// The parts of a world as plain data: everything that the seed decides before the first event. `drawWorld` (swarm.ts) makes a world from a seed; tests and the demo write their own.
import type { ClockSpec } from "../kernel/clock.ts";
import type { Fault } from "./faults.ts";
import type { NetworkSpec } from "../kernel/network.ts";

/** A complete world of leases: with its seed it determines every event. */
export interface WorldSpec {
  readonly seed: number;
  /** A label of a word or two, for people. */
  readonly label: string;
  /** The declared bound on clock rates. The control run breaks it on purpose. */
  readonly rho: number;
  readonly elections: readonly string[];
  readonly candidates: readonly CandidateSpec[];
  readonly store: StoreSpec;
  readonly network: NetworkSpec;
  readonly resource: ResourceSpec;
  /** Faults begin before this; from here on all is calm. */
  readonly calmAtMs: number;
  readonly faults: readonly Fault[];
  /** The candidates that must lead when all others have withdrawn, one after the other. */
  readonly alone: readonly number[];
}

/** One candidate of a world of leases. */
export interface CandidateSpec {
  /** The id is for people; several processes may share it. */
  readonly id: string;
  readonly ttlMs: number;
  readonly drainMs: number;
  readonly renewal: "loop" | "thread" | "manual";
  /** Used only with renewal by a thread. */
  readonly stallAfterMs?: number | undefined;
  /** The candidate gives a term up when it has led for this long. */
  readonly maxTenureMs?: number | undefined;
  /** A greater priority is preferred. */
  readonly priority?: number | undefined;
  readonly clock: ClockSpec;
  /** The grain that is declared to the machine: the steps of the clock are no greater. */
  readonly monoGrainMs: number;
  readonly bootGrainMs: number;
  /** Timers are late by up to this. */
  readonly timerLateMs: number;
  readonly work: WorkSpec;
  /** The machine that it runs on. */
  readonly node?: string | undefined;
  /** No process starts here: the slot is kept for a copy of the process in that slot. */
  readonly spareOf?: number | undefined;
}

/** The behaviour of the simulated user while leading. */
export interface WorkSpec {
  /** The time from one write to the next. */
  readonly writeEveryMs: number;
  /** The user writes without asking `isHeld`, for as long as the work runs. */
  readonly isCareless: boolean;
  readonly overstayChance: number;
  readonly overstayMaxMs: number;
  /** The chance, for each write, that memos are written beside it. */
  readonly memoChance?: number | undefined;
  /** The chance, for each write, that one of these nodes is banned beside it, or its ban is lifted. */
  readonly bans?: { readonly chance: number; readonly nodes: readonly string[] } | undefined;
}

/** The modelled store of a world of leases. */
export interface StoreSpec {
  readonly shape: "line" | "race";
  /** kernel: there is one host and one clock; rivals see until when a seat is held, and that its holder is dead. */
  readonly judge: "store-monotonic" | "store-wall" | "taker" | "kernel";
  readonly layout: "session" | "record";
  readonly keepProves: "this-send" | "previous-send";
  /** With "previous-send": the chance that a keep comes by another connection than the one before it. */
  readonly movesRoads?: number | undefined;
  readonly wakes: "watch" | "poll";
  readonly clock: ClockSpec;
  /** The store judges up to this much too early; it declares that, so that candidates subtract it. */
  readonly extraMarginMs: number;
  /** The store declares that margin only when a session is opened, and nothing before. */
  readonly declaresWhenMet?: boolean | undefined;
  /** The store ends sessions up to this much too late. */
  readonly lateMaxMs: number;
  /** The granted ttl is the asked ttl times this, rounded up to a multiple of the step. */
  readonly grantFactor: number;
  readonly grantStepMs: number;
  /** Looks are answered from a copy up to this old; 0: never stale. */
  readonly staleMs: number;
  /** A failover goes back by up to this; 0: it forgets nothing. */
  readonly forgetMs: number;
  /** Layout "record": a keep may leave some records unrenewed, and says so. */
  readonly unsureChance: number;
  /** In a line: a keep for which no proof was wished proves nothing, and strays are shown only where they were wished. */
  readonly weakKeeps?: boolean | undefined;
  /** The store declares that this many holds are enough for one keep, and the others take turns. */
  readonly holdsPerKeep?: number | undefined;
  /** The chance that a request is refused without being applied. */
  readonly refuseChance: number;
  /** The chance that a request is refused without being applied, with an error that trying again cannot help. */
  readonly refuseForGoodChance: number;
  /** A keep that is served much later than this after its send is answered, and renews nothing; the store declares that. Infinity: a keep always renews. */
  readonly proofWithinMs: number;
  /** Whether terms have tokens. */
  readonly isFenced: boolean;
  /** A failover that forgets brings it back as another store, with tokens of another domain. */
  readonly movesDomain: boolean;
  /** For this long after a session has expired, nobody holds its seats and nobody can get them. */
  readonly lockDelayMs: number;
  /** True: the store ends expired sessions before it serves a request. False: only when its own timer comes. */
  readonly isPunctual: boolean;
  /** The store shows a request to hand over to the present holder of the name. */
  readonly showsOldRequests?: boolean | undefined;
  /** Keeps swap over the beat that they know. */
  readonly refusesClones?: boolean | undefined;
}

/** A race without weaknesses, as `sqlite:` and `postgres:` keep it; the world chooses the clock that it reads. */
export const CALM_STORE: Omit<StoreSpec, "clock"> = {
  shape: "race",
  judge: "taker",
  layout: "session",
  keepProves: "this-send",
  wakes: "watch",
  extraMarginMs: 0,
  lateMaxMs: 0,
  grantFactor: 1,
  grantStepMs: 1,
  staleMs: 0,
  forgetMs: 0,
  unsureChance: 0,
  refuseChance: 0,
  refuseForGoodChance: 0,
  proofWithinMs: Infinity,
  isFenced: true,
  movesDomain: false,
  lockDelayMs: 0,
  isPunctual: true,
};

export interface ResourceSpec {
  readonly delayMaxMs: number;
  readonly slowChance: number;
  readonly slowMaxMs: number;
}
