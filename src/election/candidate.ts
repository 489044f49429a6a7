// A candidate: this process's standing at one store. Makes the machine's runner when first needed, and hands its events to whoever listens.
import { channel } from "node:diagnostics_channel";
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import { hasControlCharacter, type Settings } from "../lease/settings.ts";
import type { Store } from "../stores/contract.ts";
import { hostClockOf } from "../stores/host-clock.ts";
import { nodeClock } from "./clock.ts";
import { type Arena, type Contest, WorkContest } from "./contest.ts";
import { asWork, closedError, NamedElection } from "./election.ts";
import type { Candidate, CandidateOptions, CandidateSettings, Election, TermOf, Within } from "./face.ts";
import { nextCandidateNonce, randomSeed } from "./nonce.ts";
import type { Lookout } from "./observe.ts";
import { resolveOptions } from "./options.ts";
import { Runner } from "./runner.ts";
import { borrowStore } from "./store-use.ts";
import type { Term } from "./term.ts";
import { Turns } from "./turns.ts";

/** Every event of every candidate of this process, as `{ candidate, event }`. */
const events = channel("conclave");

export function createCandidate<S extends Store>(options: CandidateOptions<S>): Candidate<TermOf<S>> {
  const clock = hostClockOf(options.store) ?? nodeClock();
  return new StoreCandidate<TermOf<S>>(
    options.store,
    resolveOptions(options, clock, "createCandidate"),
    clock,
    options.onOverstay,
  );
}

/** One election, one candidate of its own: `createCandidate(options).election(name)`, closed together. */
export function elect<S extends Store>(name: string, options: CandidateOptions<S>): Election<TermOf<S>> {
  checkName(name);
  const clock = hostClockOf(options.store) ?? nodeClock();
  const settings = resolveOptions(options, clock, `elect(${JSON.stringify(name)})`);
  return new StoreCandidate<TermOf<S>>(options.store, settings, clock, options.onOverstay).onlyElection(name);
}

class StoreCandidate<T extends Term> implements Candidate<T> {
  readonly #store: Store;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #onOverstay: NonNullable<CandidateSettings["onOverstay"]>;
  readonly #lookout: Lookout;
  readonly #giveBackStore: () => Promise<void>;
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
    this.#lookout = { store, clock, requestTimeoutMs: settings.pace.requestTimeoutMs, pollMs: settings.pollMs };
    this.#giveBackStore = borrowStore(store);
  }

  get id(): string {
    this.#nonce ??= nextCandidateNonce();
    return `${this.#settings.candidate}_${this.#nonce}`;
  }

  election(name: string): Election<T> {
    return this.#election(name, () => Promise.resolve());
  }

  /** The election of `elect`: closing it closes this candidate. */
  onlyElection(name: string): Election<T> {
    return this.#election(name, () => this.#end());
  }

  #election(name: string, whenClosed: () => Promise<void>): NamedElection<T> {
    checkName(name);
    if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
    const present = this.#elections.get(name);
    if (present !== undefined) return present;
    const arena = (): Arena => this.#arena();
    const election = new NamedElection<T>(name, arena, this.#lookout, () => {
      this.#elections.delete(name);
      return whenClosed();
    });
    this.#elections.set(name, election);
    return election;
  }

  withLock<R>(name: string, work: (term: T) => Promise<R>, options: Within = {}): Promise<R> {
    const { signal, waitMs } = options;
    return new Promise<R>((resolve, reject) => {
      checkName(name);
      if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
      signal?.throwIfAborted();
      const promised = { resolve: (value: R | undefined) => resolve(value as R), reject };
      const contest = new WorkContest<R>(this.#arena(), name, asWork<T, R>(work), false, promised);
      const abort = (): void => contest.fail(signal?.reason);
      const timer =
        waitMs === undefined
          ? undefined
          : this.#clock.timer(waitMs, () => void (contest.term ?? contest.fail(lockTimeout(name, waitMs))));
      signal?.addEventListener("abort", abort, { once: true });
      this.#locks.add(contest);
      void contest.over.then(() => {
        timer?.cancel();
        signal?.removeEventListener("abort", abort);
        this.#locks.delete(contest);
      });
      contest.begin();
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
    const arena = this.#made;
    this.#made = undefined;
    if (arena !== undefined) await arena.runner.close();
    await this.#giveBackStore();
  }

  #arena(): Arena {
    this.#made ??= this.#makeArena();
    return this.#made;
  }

  #makeArena(): Arena {
    const { id } = this;
    const runner = new Runner({
      store: this.#store,
      settings: { ...this.#settings, candidate: id },
      clock: this.#clock,
      nonce: this.#nonce ?? nextCandidateNonce(),
      seed: randomSeed(),
      publish: (event) => this.#publish(event),
    });
    const report = (error: ConclaveError, election: string): void => this.#publish({ type: "error", error, election });
    return { runner, turns: new Turns(), id, drainMs: this.#settings.drainMs, report };
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
    this.#publish({ type: "error", error: new ConclaveError("TERM_OVERSTAYED", message), election });
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
    `${typeof name === "string" ? JSON.stringify(name) : String(name)} is not a name for an election: 1 to 500 characters, no control characters`,
  );
}

function lockTimeout(name: string, waitMs: number): ConclaveError {
  return new ConclaveError(
    "LOCK_TIMEOUT",
    `"${name}" was not free within ${waitMs} ms. Wait longer (waitMs), or see who holds it: candidate.election("${name}").leader()`,
  );
}
