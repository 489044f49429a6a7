// A candidate: this process's standing at one store. Makes the machine's runner when first needed, and hands its events to whoever listens.
import { channel } from "node:diagnostics_channel";
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import { hasControlCharacter, type Settings } from "../lease/settings.ts";
import type { Store } from "../stores/contract.ts";
import { hostClockOf } from "../stores/host-clock.ts";
import { onAbort } from "./abort.ts";
import { nodeClock } from "./clock.ts";
import { type Arena, type Contest, WorkContest } from "./contest.ts";
import { asWork, checkWork, closedError, type Ends, NamedElection, signalOf } from "./election.ts";
import type { Candidate, CandidateOptions, CandidateSettings, Election, TermOf, Within } from "./face.ts";
import { nextCandidateNonce, randomSeed } from "./nonce.ts";
import type { Lookout } from "./observe.ts";
import { resolveOptions, urlForThread } from "./options.ts";
import { Runner } from "./runner.ts";
import { borrowStore } from "./store-use.ts";
import type { Term } from "./term.ts";
import { Turns } from "./turns.ts";

/** Every event of every candidate of this process, as `{ candidate, event }`. */
const events = channel("conclave");

export function createCandidate<S extends Store>(options: CandidateOptions<S>): Candidate<TermOf<S>> {
  const clock = hostClockOf(options?.store) ?? nodeClock();
  const settings = resolveOptions(options, clock, "createCandidate");
  return new StoreCandidate<TermOf<S>>(options.store, settings, clock, options.onOverstay);
}

/** One election, one candidate of its own: `createCandidate(options).election(name)`, closed together. */
export function elect<S extends Store>(name: string, options: CandidateOptions<S>): Election<TermOf<S>> {
  checkName(name);
  const clock = hostClockOf(options?.store) ?? nodeClock();
  const settings = resolveOptions(options, clock, `elect(${JSON.stringify(name)})`);
  return new StoreCandidate<TermOf<S>>(options.store, settings, clock, options.onOverstay).onlyElection(name);
}

class StoreCandidate<T extends Term> implements Candidate<T> {
  readonly #store: Store;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #onOverstay: NonNullable<CandidateSettings["onOverstay"]>;
  readonly #lookout: Lookout;
  #giveBackStore: (() => Promise<void>) | undefined;
  readonly #listeners = new Set<(event: ConclaveEvent) => void>();
  readonly #elections = new Map<string, NamedElection<T>>();
  readonly #locks = new Set<Contest>();
  #nonce: string | undefined;
  #made: Arena | undefined;
  #closed: Promise<void> | undefined;

  constructor(store: Store, settings: Settings, clock: Clock, onOverstay: CandidateSettings["onOverstay"]) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#onOverstay = onOverstay ?? "report";
    this.#lookout = {
      store,
      clock,
      requestTimeoutMs: settings.pace.requestTimeoutMs,
      pollMs: settings.pollMs,
      report: (error, election) => this.#report(error, election),
    };
  }

  get id(): string {
    this.#nonce ??= nextCandidateNonce();
    return `${this.#settings.candidate}_${this.#nonce}`;
  }

  election(name: string): Election<T> {
    return this.#election(name, { whenIdle: () => {}, whenClosed: () => Promise.resolve() });
  }

  /**
   * The election of `elect`: closing it closes this candidate. And when nothing is asked of it any more, the session is ended and the store given
   * back, so that `await elect(…).lead(…)` leaves nothing open; whoever asks again begins anew.
   */
  onlyElection(name: string): Election<T> {
    return this.#election(name, { whenIdle: () => void this.#rest(), whenClosed: () => this.#end() });
  }

  #election(name: string, ends: Ends): NamedElection<T> {
    checkName(name);
    if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
    const present = this.#elections.get(name);
    if (present !== undefined) return present;
    const arena = (): Arena => this.#arena();
    const whenClosed = (): Promise<void> => {
      this.#elections.delete(name);
      return ends.whenClosed();
    };
    const election = new NamedElection<T>(name, arena, this.#lookout, { ...ends, whenClosed });
    this.#elections.set(name, election);
    return election;
  }

  withLock<R>(name: string, work: (term: T) => Promise<R>, options: Within = {}): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      checkName(name);
      const signal = signalOf(options, "withLock");
      const waitMs = checkedWait(options?.waitMs);
      checkWork(work, "withLock");
      if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
      signal?.throwIfAborted();
      const promised = { resolve: (value: R | undefined) => resolve(value as R), reject };
      const contest = new WorkContest<R>(this.#arena(), name, asWork<T, R>(work), false, promised);
      const giveUp = (): void => {
        if (contest.term === undefined) contest.fail(lockTimeout(name, waitMs));
      };
      const timer = waitMs === Infinity || waitMs === 0 ? undefined : this.#clock.timer(waitMs, giveUp);
      const stopWaiting = onAbort(signal, () => contest.fail(signal?.reason));
      this.#locks.add(contest);
      void contest.over.then(() => {
        timer?.cancel();
        stopWaiting();
        this.#locks.delete(contest);
      });
      if (waitMs > 0) contest.begin();
      else contest.beginOnly(lockTimeout(name, waitMs));
    });
  }

  subscribe(listener: (event: ConclaveEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    // Not `??= this.#close()`: whoever is told by it may call close() again before it returns.
    this.#closed ??= Promise.resolve().then(() => this.#close());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closing = [...this.#elections.values()].map((election) => election.close());
    for (const lock of this.#locks) {
      if (lock instanceof WorkContest) lock.fail(closedError(lock.name));
      closing.push(lock.over);
    }
    await Promise.all(closing);
    await this.#end();
  }

  /** Nothing is held any more: ends the session. */
  async #end(): Promise<void> {
    this.#closed ??= Promise.resolve();
    await this.#rest();
  }

  /** The next arena is another machine, and needs another nonce: bids are never used twice. */
  async #rest(): Promise<void> {
    const arena = this.#made;
    const giveBackStore = this.#giveBackStore;
    this.#made = undefined;
    this.#giveBackStore = undefined;
    this.#nonce = undefined;
    if (arena !== undefined) await arena.runner.close();
    await giveBackStore?.();
  }

  #arena(): Arena {
    this.#made ??= this.#makeArena();
    return this.#made;
  }

  #makeArena(): Arena {
    const { id } = this;
    this.#giveBackStore = borrowStore(this.#store);
    const runner = new Runner({
      store: this.#store,
      settings: { ...this.#settings, candidate: id },
      clock: this.#clock,
      nonce: this.#nonce ?? nextCandidateNonce(),
      seed: randomSeed(),
      publish: (event) => this.#publish(event),
      url: this.#settings.renewal === "thread" ? urlForThread(this.#store) : undefined,
    });
    const report: Arena["report"] = (error, election) => this.#report(error, election);
    return { runner, turns: new Turns(), id, drainMs: this.#settings.drainMs, report };
  }

  #report(error: ConclaveError, election: string): void {
    this.#publish({ type: "error", error, election });
  }

  #publish(event: ConclaveEvent): void {
    if (events.hasSubscribers) events.publish({ candidate: this.id, event });
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        warnOf("a listener of conclave's events", error);
      }
    }
    if (event.type === "overstayed") this.#overstayed(event.election, event.byMs);
  }

  #overstayed(election: string, byMs: number): void {
    const message = `"${election}": work still running ${Math.round(byMs)} ms after the term was lost; another process may lead. Pass term.signal to what it awaits, or set onOverstay: "exit".`;
    this.#report(new ConclaveError("TERM_OVERSTAYED", message), election);
    if (this.#onOverstay === "report") return;
    if (this.#onOverstay !== "exit") return this.#callOnOverstay(this.#onOverstay, election);
    process.stderr.write(`conclave: ${message} Exiting.\n`);
    process.exit(1);
  }

  #callOnOverstay(onOverstay: (election: string) => unknown, election: string): void {
    const warn = (error: unknown): void => warnOf("onOverstay", error);
    try {
      Promise.resolve(onOverstay(election)).catch(warn);
    } catch (error) {
      warn(error);
    }
  }
}

/** Law 16: what the user's function throws harms nobody. It may be asynchronous, whatever its type says. */
function warnOf(what: string, error: unknown): void {
  process.emitWarning(`${what} threw: ${String(error)}`, "ConclaveWarning");
}

function checkName(name: unknown): void {
  if (typeof name === "string" && name.length > 0 && name.length <= 500 && !hasControlCharacter(name)) return;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `${show(name)} is not a name for an election: 1 to 500 characters, no control characters`,
  );
}

/** No bound: wait as long as it takes. 0: only if it is free now. */
function checkedWait(waitMs: unknown): number {
  if (waitMs === undefined || waitMs === null) return Infinity;
  if (typeof waitMs === "number" && waitMs >= 0) return waitMs;
  throw new ConclaveError("CONFIG_INVALID", `withLock: waitMs ${show(waitMs)} is not a number of milliseconds`);
}

function lockTimeout(name: string, waitMs: number): ConclaveError {
  return new ConclaveError(
    "LOCK_TIMEOUT",
    `"${name}" was not free within ${waitMs} ms. Wait longer (waitMs), or see who holds it: candidate.election("${name}").leader()`,
  );
}
