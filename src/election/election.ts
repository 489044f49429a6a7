// The election of one name, as a user holds it. Each call is a contest, and closing the election ends them all.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { onAbort, untilAborted } from "./abort.ts";
import { type Ban, readBans } from "./bans.ts";
import { type Arena, type Contest, WorkContest } from "./contest.ts";
import type {
  CampaignOptions,
  CloseOptions,
  Election,
  Leader,
  LeadOptions,
  LookOptions,
  Transfer,
  TransferOptions,
} from "./face.ts";
import type { HeldTerm } from "./held-term.ts";
import { HoldContest } from "./hold-contest.ts";
import { checkKey, type Memo, readMemo } from "./memo.ts";
import { type Lookout, lookUp, observeLeader, observeMemo } from "./observe.ts";
import type { Inside } from "./inside.ts";
import type { UnfencedTerm } from "./term.ts";
import { checkTarget, transferFromOutside, withinOf } from "./transfer.ts";
import { type Listener, sameMark } from "./voice.ts";

/** The things that all elections of a candidate share. They are one object for ten thousand elections: functions of its own would be a sixth of the memory of an election. */
export interface Home {
  readonly lookout: Lookout;
  /** The arena is made when something is first asked of the store, not before. */
  readonly arena: () => Arena;
  /** Something is first asked of the election. Returns a function that says that nothing is asked any more; calling it twice does no harm. */
  readonly whenBusy: (name: string) => () => void;
  /** Nothing is asked of the election any more. */
  readonly whenIdle: (name: string) => void;
  readonly whenClosed: (name: string) => Promise<void>;
  readonly subscribe: (listener: Listener) => () => void;
  readonly tell: Inside["tell"];
}

const nothing = (): void => {};

export class NamedElection<T extends UnfencedTerm> implements Election<T> {
  readonly name: string;
  readonly node: string | undefined;
  readonly #home: Home;
  #leave: () => void = nothing;
  /** There are few contests at a time, but ten thousand elections: an array takes a tenth of the memory of a set. */
  #contests: readonly Contest[] = [];
  /** The controller for observers. It is made for the first of them. */
  #observed: AbortController | undefined;
  #closing = false;
  #hasStood = false;
  #hasWarned = false;
  #started: HoldContest | undefined;
  #closed: Promise<void> | undefined;

  constructor(name: string, home: Home) {
    this.name = name;
    this.node = home.lookout.node;
    this.#home = home;
  }

  lead<R>(work: (term: T) => Promise<R>, options: LeadOptions = {}): Promise<R | undefined> {
    return new Promise<R | undefined>((resolve, reject) => {
      const signal = signalOf(options, `election(${show(this.name)}).lead`);
      checkWork(work, `election(${show(this.name)}).lead`);
      this.#throwIfClosed();
      if (signal?.aborted === true) return resolve(undefined);
      this.#warnOfStart("lead");
      this.#warnOfWaiting();
      const contest = new WorkContest<R>(this.#home.arena(), this.name, asWork<T, R>(work), true, { resolve, reject });
      this.#enter(contest, signal, () => contest.stop());
      contest.begin();
    });
  }

  /** Calls of one name run one at a time (law 11): a `lead` behind a call that lasts would wait without any message. */
  #warnOfWaiting(): void {
    const first = this.#contests.find(({ isOngoing }) => isOngoing);
    if (first !== undefined && first !== this.#started) this.#warnBehind("lead", first);
  }

  /** The same warning for a `withLock` of this name, which is not a call of this election: it waits behind `start` too, until the election is closed. */
  warnOfLock(): void {
    const first = this.#contests.find(({ isOngoing }) => isOngoing);
    if (first !== undefined) this.#warnBehind("withLock", first);
  }

  #warnBehind(waiting: "lead" | "withLock", first: Contest): void {
    const call = first === this.#started ? "start" : first instanceof WorkContest ? "lead" : "campaign";
    const end = first === this.#started ? "the election is closed" : "that has ended";
    const message = `"${this.name}": this ${waiting}() waits for an earlier ${call}() of the same candidate, and does not begin before ${end}. End the earlier one first, or work inside its term with ifLeading().`;
    this.#home.tell({ type: "warning", code: "WAITS_FOR_ITSELF", election: this.name, message });
  }

  start(): void {
    this.#throwIfClosed();
    if (this.#started !== undefined) return;
    const nobodyWaits = { resolve: () => {}, reject: () => {} };
    this.#started = new HoldContest(this.#home.arena(), this.name, "always", nobodyWaits);
    this.#enter(this.#started, undefined, () => {});
    this.#started.begin();
  }

  term(): T | undefined {
    const contest = this.#leading();
    contest?.handOut();
    return contest?.term && asTerm<T>(contest.term);
  }

  isLeading(): boolean {
    return this.#leading() !== undefined;
  }

  async ifLeading<R>(work: (term: T) => Promise<R>): Promise<R | undefined> {
    checkWork(work, `election(${show(this.name)}).ifLeading`);
    const contest = this.#leading();
    if (contest === undefined && !this.#hasStood && !this.#closing)
      this.#warnOnce(
        "NOT_STARTED",
        `ifLeading was called, and this election was never started in this process, so that the work does not run here. Call start() first.`,
      );
    return contest?.term && contest.accompany(contest.term, asWork<T, R>(work));
  }

  #leading(): Contest | undefined {
    return this.#contests.find(({ term }) => term?.isLeading() === true);
  }

  campaign(options: CampaignOptions = {}): Promise<T> {
    return this.#hold("once", options) as Promise<T>;
  }

  tryCampaign(options: CampaignOptions = {}): Promise<T | undefined> {
    return this.#hold("try", options);
  }

  #hold(mode: "once" | "try", options: CampaignOptions): Promise<T | undefined> {
    return new Promise<T | undefined>((resolve, reject) => {
      const signal = signalOf(options, `election(${show(this.name)}).campaign`);
      this.#throwIfClosed();
      signal?.throwIfAborted();
      if (mode === "once") this.#warnOfStart("campaign");
      const promised = { resolve: (term: HeldTerm | undefined) => resolve(term && asTerm<T>(term)), reject };
      const contest = new HoldContest(this.#home.arena(), this.name, mode, promised);
      const giveUp = (): void => {
        // The signal only ends the waiting; a term that was won belongs to the caller.
        if (contest.term === undefined) contest.fail(signal?.reason);
      };
      this.#enter(contest, signal, giveUp);
      if (mode === "once") contest.begin();
      else contest.beginOnce();
    });
  }

  async leader(options: LookOptions = {}): Promise<Leader | undefined> {
    const signal = signalOf(options, "leader");
    signal?.throwIfAborted();
    const looked = lookUp(this.#home.lookout, this.name);
    return signal === undefined ? looked : untilAborted(looked, signal);
  }

  async transfer(to: string, options: TransferOptions = {}): Promise<Transfer> {
    const call = `"${this.name}": election.transfer`;
    checkTarget(to, call);
    withinOf(options, call, ["withinMs", "token"]);
    return await transferFromOutside(this.#home.lookout, this.name, to, options);
  }

  observe(options: LookOptions = {}): AsyncIterable<Leader | undefined> {
    return observeLeader(this.#home.lookout, this.name, [this.#untilClosed(), signalOf(options, "observe")]);
  }

  async memo(key: string, options: LookOptions = {}): Promise<Memo | undefined> {
    const signal = signalOf(options, "memo");
    checkKey(key, "memo");
    signal?.throwIfAborted();
    const read = readMemo(this.#home.lookout, this.name, key);
    return signal === undefined ? read : untilAborted(read, signal);
  }

  async bans(options: LookOptions = {}): Promise<readonly Ban[]> {
    const signal = signalOf(options, "bans");
    signal?.throwIfAborted();
    const read = readBans(this.#home.lookout, this.name);
    return signal === undefined ? read : untilAborted(read, signal);
  }

  observeMemo(key: string, options: LookOptions = {}): AsyncIterable<Memo | undefined> {
    checkKey(key, "observeMemo");
    return observeMemo(this.#home.lookout, this.name, key, [this.#untilClosed(), signalOf(options, "observeMemo")]);
  }

  #untilClosed(): AbortSignal {
    this.#observed ??= new AbortController();
    if (this.#closing) this.#observed.abort();
    return this.#observed.signal;
  }

  subscribe(listener: Listener): () => void {
    const own: Listener = (event) => {
      const election = "election" in event ? event.election : undefined;
      return election === undefined || election === this.name ? listener(event) : undefined;
    };
    return this.#home.subscribe(sameMark(own, listener));
  }

  /** This is not on the type of an election: it is for parts of this package (inside.ts). */
  inside(): Inside {
    const { store, clock } = this.#home.lookout;
    return { store, clock, tell: this.#home.tell };
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#close(checkedDrain(options));
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number | undefined): Promise<void> {
    this.#closing = true;
    this.#observed?.abort();
    const ends = this.#contests.map((contest) => {
      if (contest instanceof HoldContest && contest.term === undefined) contest.fail(closedError(this.name));
      else if (contest instanceof HoldContest) contest.close(drainMs);
      else contest.stop();
      return contest.over;
    });
    await Promise.all(ends);
    this.#leave();
    await this.#home.whenClosed(this.name);
  }

  /** Calls of one name take turns (law 11), and the turn of `start` lasts until `close`. */
  #warnOfStart(call: "lead" | "campaign"): void {
    if (this.#started === undefined) return;
    this.#warnOnce(
      "STARTED_ALREADY",
      `${call} waits until this election is closed, because start() leads for all that time, and calls of one name take turns within a candidate. Leave start() out; or keep it, and do the work by ifLeading(work).`,
    );
  }

  #warnOnce(code: "NOT_STARTED" | "STARTED_ALREADY", message: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#home.tell({ type: "warning", code, election: this.name, message: `"${this.name}": ${message}` });
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined || this.#closing) throw closedError(this.name);
  }

  #enter(contest: Contest, signal: AbortSignal | undefined, whenAborted: () => void): void {
    this.#hasStood = true;
    if (this.#contests.length === 0) this.#leave = this.#home.whenBusy(this.name);
    this.#contests = [...this.#contests, contest];
    const stopWaiting = onAbort(signal, whenAborted);
    void contest.over.then(() => {
      this.#contests = this.#contests.filter((other) => other !== contest);
      stopWaiting();
      if (this.#contests.length > 0 || this.#closing) return;
      this.#leave();
      this.#home.whenIdle(this.name);
    });
  }
}

export function closedError(what: string): ConclaveError {
  return new ConclaveError(
    "CLOSED",
    `"${what}" was closed. Make a new election, or a new candidate, to campaign again.`,
  );
}

/** JavaScript users have no compiler: `lead(work, signal)` would otherwise ignore the signal. @param known the names of all options of `call` */
export function signalOf(
  options: LeadOptions | null | undefined,
  call: string,
  known: readonly string[] = ["signal"],
): AbortSignal | undefined {
  if (isSignal(options)) throw new ConclaveError("CONFIG_INVALID", `${call}: pass { signal }, not the signal itself`);
  checkKeys(options, known, call);
  const signal: unknown = options?.signal ?? undefined;
  if (signal === undefined || isSignal(signal)) return signal;
  const hint = isSignal((signal as { signal?: unknown }).signal) ? ". Pass the signal of the AbortController" : "";
  throw new ConclaveError("CONFIG_INVALID", `${call}: signal ${show(signal)} is not an AbortSignal${hint}`);
}

/** Recognizes a signal by the members that are used, because test environments bring an AbortSignal of their own. */
function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

export function checkedDrain(options: CloseOptions | null | undefined): number | undefined {
  checkKeys(options, ["drainMs"], "close");
  const drainMs: unknown = options?.drainMs;
  if (drainMs === undefined || (typeof drainMs === "number" && drainMs >= 0 && drainMs < Infinity)) return drainMs;
  throw new ConclaveError("CONFIG_INVALID", `close: drainMs ${show(drainMs)} is not a number of milliseconds`);
}

function checkKeys(options: unknown, known: readonly string[], call: string): void {
  const problems = problemsOfKeys(options, known);
  if (problems.length > 0) throw invalidConfig(call, problems);
}

export function checkWork(work: unknown, call: string): void {
  if (typeof work === "function") return;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `${call}: the work ${show(work)} is not a function. Pass async (term) => { … }`,
  );
}

/** The type of the store determines `T`: a HeldTerm of a fenced store carries a token, one of an unfenced store does not. */
export function asTerm<T extends UnfencedTerm>(term: HeldTerm): T {
  return term as UnfencedTerm as T;
}

export function asWork<T extends UnfencedTerm, R>(work: (term: T) => Promise<R>): (term: HeldTerm) => Promise<R> {
  return (term) => work(asTerm<T>(term));
}
