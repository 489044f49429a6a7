// A candidate: the place of this process at one store. It makes the machine's runner when that is first needed, and passes its events to the listeners.
import type { Clock } from "../base/clock.ts";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { askedOnce } from "../base/outcome.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { renewed } from "../base/worn-map.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import { hasControlCharacter, type Settings } from "../lease/settings.ts";
import type { Store } from "../stores/contract.ts";
import { hostClockOf } from "../stores/host-clock.ts";
import { onAbort } from "./abort.ts";
import { BoundStore, isBound } from "./bound-store.ts";
import { type KeptStore, keptStore } from "./kept-store.ts";
import { quietMsOf } from "./keeper-options.ts";
import { callUser } from "./callbacks.ts";
import { nodeClock } from "./clock.ts";
import { type Arena, type Contest, WorkContest } from "./contest.ts";
import { asWork, checkedDrain, checkWork, closedError, type Home, NamedElection, signalOf } from "./election.ts";
import type {
  Candidate,
  CandidateOptions,
  CandidateSettings,
  CloseOptions,
  Election,
  ElectOptions,
  LockOptions,
  TermOf,
} from "./face.ts";
import { Narrator } from "./narrator.ts";
import { nextCandidateNonce, randomSeed } from "./nonce.ts";
import type { Lookout } from "./observe.ts";
import { resolveOptions, urlForThread } from "./options.ts";
import { type Semaphore, type SemaphoreOptions, seatName } from "./permit.ts";
import { planRehearsal } from "./rehearsal.ts";
import { Runner } from "./runner.ts";
import { labelOf } from "./store-label.ts";
import { PERMITS_MAX, problemsOfPermits, SeatedSemaphore } from "./semaphore.ts";
import { borrowStore } from "./store-use.ts";
import type { UnfencedTerm } from "./term.ts";
import { type Hearsay, Turns } from "./turns.ts";
import { noteDomain, noteElection, noteMemory } from "./twins.ts";
import { type Listener, Voice } from "./voice.ts";

/** Makes a candidate: the place of this process at one store, with one session for all its elections and locks. Nothing is sent before something is asked of it. */
export function createCandidate<S extends Store>(options: CandidateOptions<S>): Candidate<TermOf<S>> {
  const clock = hostClockOf(options?.store) ?? nodeClock();
  const settings = resolveOptions(options, clock, "createCandidate");
  return new StoreCandidate<TermOf<S>>(options.store, settings, clock, options);
}

/** Makes one election with a candidate of its own: `createCandidate(options).election(name)`. Both are closed together. */
export function elect<S extends Store>(name: string, options: ElectOptions<S>): Election<TermOf<S>> {
  checkName(name);
  const clock = hostClockOf(options?.store) ?? nodeClock();
  const settings = resolveOptions(options, clock, `elect(${JSON.stringify(name)})`);
  return new StoreCandidate<TermOf<S>>(options.store, settings, clock, options).onlyElection(name);
}

/** Makes a semaphore: up to `permits` processes hold a permit of this name at once. A permit has no token, on any store: docs/SEMAPHORE.md. */
export function semaphore(name: string, options: SemaphoreOptions): Semaphore {
  checkName(name);
  const { permits, ...rest } = options ?? {};
  checkName(seatName(name, 2 * PERMITS_MAX));
  const call = `semaphore(${JSON.stringify(name)})`;
  const clock = hostClockOf(rest.store) ?? nodeClock();
  const besides = { keys: ["permits"], problems: problemsOfPermits(permits, rest.unfenced) };
  const settings = resolveOptions<Store>(options, clock, call, besides);
  return new StoreCandidate<UnfencedTerm>(rest.store, settings, clock, rest).onlySemaphore(name, permits);
}

class StoreCandidate<T extends UnfencedTerm> implements Candidate<T> {
  readonly #store: Store;
  readonly #settings: Settings;
  readonly #clock: Clock;
  /** How long a keeper waits. Undefined if there is no keeper. */
  readonly #quietMs: number | undefined;
  #kept: KeptStore | undefined;
  readonly #onOverstay: NonNullable<CandidateSettings["onOverstay"]>;
  readonly #home: Home;
  /** The name of the election of `elect`. */
  #only: string | undefined;
  #giveBackStore: (() => Promise<void>) | undefined;
  readonly #voice: Voice;
  readonly #narrator: Narrator;
  /** Errors that were thrown at the caller that waited. The value is `false` where a background campaign still goes on trying. */
  readonly #delivered = new WeakMap<ConclaveError, boolean>();
  readonly #elections = new Map<string, NamedElection<T>>();
  #locks = new Map<number, Contest>();
  #locksMade = 0;
  #nonce: string | undefined;
  /** The id under which events are reported. It is that of the last arena, even while that arena is closed and `id` already names the next one. */
  #speaker: string | undefined;
  #made: Arena | undefined;
  /** The last session that is being ended although nobody waits for it: `close()` does. */
  #resting: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(store: Store, settings: Settings, clock: Clock, options: CandidateSettings) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    const { onOverstay = "report", onEvent, logger } = options;
    this.#quietMs = quietMsOf(options.keeper);
    this.#onOverstay = onOverstay;
    const isDelivered = (error: ConclaveError): boolean => this.#delivered.get(error) === true;
    this.#voice = new Voice({
      onEvent,
      logger,
      who: () => this.#speaker ?? this.id,
      store: labelOf(store),
      isDelivered,
    });
    this.#narrator = new Narrator({
      nowMs: () => clock.now().mono,
      ttlMs: settings.ttlMs,
      isDelivered,
      tell: (event) => this.#tell(event),
    });
    this.#home = this.#homeOf({
      node: settings.node?.name,
      store,
      clock,
      requestTimeoutMs: settings.pace.requestTimeoutMs,
      pollMs: settings.pollMs,
      report: (error, election) => this.#narrator.hear({ type: "error", error, election, during: "observe" }),
      sees: (election) => this.#narrator.observed(election),
    });
  }

  get id(): string {
    this.#nonce ??= nextCandidateNonce();
    return `${this.#settings.candidate}_${this.#nonce}`;
  }

  election(name: string): Election<T> {
    checkName(name);
    if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
    const present = this.#elections.get(name);
    if (present !== undefined) return present;
    const election = new NamedElection<T>(name, this.#home);
    this.#elections.set(name, election);
    return election;
  }

  /**
   * The election of `elect`: closing it closes this candidate. When nothing is asked of it any more, the session is ended and the store is given
   * back, so that `await elect(…).lead(…)` leaves nothing open. The next call begins anew.
   */
  onlyElection(name: string): Election<T> {
    this.#only = name;
    return this.election(name);
  }

  /** The semaphore of `semaphore`, in the same way. Where one name is asked for, its first seat is used. */
  onlySemaphore(name: string, permits: number): Semaphore {
    this.#only = seatName(name, 0);
    return new SeatedSemaphore(name, permits, this.#settings, this.#home);
  }

  #homeOf(lookout: Lookout): Home {
    const tell: Home["tell"] = (event) => this.#tell(event);
    return {
      lookout,
      arena: () => this.#arena(),
      whenBusy: (name) => noteElection(name, this.#store, tell),
      whenIdle: (name) => {
        if (name === this.#only) this.#restUnheard(name);
      },
      whenClosed: async (name) => {
        this.#elections.delete(name);
        if (name === this.#only) await this.#end();
      },
      subscribe: (listener) => this.subscribe(listener),
      tell,
    };
  }

  withLock<R>(name: string, work: (term: T) => Promise<R>, options: LockOptions = {}): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      checkName(name);
      const signal = signalOf(options, "withLock", ["signal", "waitMs"]);
      const waitMs = checkedWait(options?.waitMs);
      checkWork(work, "withLock");
      if (this.#closed !== undefined) throw closedError(this.#settings.candidate);
      signal?.throwIfAborted();
      if (waitMs > 0) this.#elections.get(name)?.warnOfLock();
      const promised = { resolve: (value: R | undefined) => resolve(value as R), reject };
      const arena = this.#arena();
      const contest = new WorkContest<R>(arena, name, asWork<T, R>(work), false, promised);
      const giveUp = (): void => {
        if (contest.term === undefined) contest.fail(lockTimeout(name, waitMs, arena.turns.whyWaiting(name)));
      };
      const timer = waitMs === Infinity || waitMs === 0 ? undefined : this.#clock.timer(waitMs, giveUp);
      const stopWaiting = onAbort(signal, () => contest.fail(signal?.reason));
      const id = ++this.#locksMade;
      this.#locks = renewed(this.#locks, id);
      this.#locks.set(id, contest);
      void contest.over.then(() => {
        timer?.cancel();
        stopWaiting();
        this.#locks.delete(id);
      });
      if (waitMs > 0) contest.begin();
      else contest.beginOnly(lockTimeout(name, waitMs, "taken"));
    });
  }

  subscribe(listener: Listener): () => void {
    return this.#voice.subscribe(listener);
  }

  close(options: CloseOptions = {}): Promise<void> {
    checkedDrain(options);
    // This is not `??= this.#close()`, because a listener that is called by it may call close() again before it returns.
    this.#closed ??= Promise.resolve().then(() => this.#close(options));
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(options: CloseOptions): Promise<void> {
    const closing = [...this.#elections.values()].map((election) => election.close(options));
    for (const lock of this.#locks.values()) {
      if (lock instanceof WorkContest) lock.fail(closedError(lock.name));
      closing.push(lock.over);
    }
    await Promise.all(closing);
    await this.#end();
  }

  /** Nothing is held any more: this ends the session. A caller may close what the store uses next, so a session that is being ended already is waited for too. */
  async #end(): Promise<void> {
    this.#closed ??= Promise.resolve();
    await Promise.all([this.#resting, this.#rest()]);
  }

  /** The next arena is another machine, and needs another nonce, because bids are never used twice. */
  async #rest(): Promise<void> {
    const arena = this.#made;
    const giveBackStore = this.#giveBackStore;
    const kept = this.#kept;
    this.#kept = undefined;
    this.#made = undefined;
    this.#giveBackStore = undefined;
    this.#nonce = undefined;
    if (arena !== undefined) await arena.runner.close();
    kept?.end();
    await giveBackStore?.();
  }

  /** Nobody waits for this now, so an error is reported as an event. */
  #restUnheard(election: string): void {
    const rest = this.#rest().catch((cause: unknown) => {
      const message = `the store could not be closed: ${textOfError(cause)}. Nothing of it is used any more; what its driver opened may stay open.`;
      this.#report(
        isConclaveError(cause) ? cause : new ConclaveError("STORE_UNREACHABLE", message, { cause }),
        election,
      );
    });
    this.#resting = Promise.all([this.#resting, rest]);
  }

  #arena(): Arena {
    this.#made ??= this.#makeArena();
    return this.#made;
  }

  #makeArena(): Arena {
    const { id } = this;
    this.#speaker = id;
    this.#giveBackStore = borrowStore(this.#store);
    const url = this.#settings.renewal === "thread" ? urlForThread(this.#store) : undefined;
    const bound = url !== undefined && isBound(this.#store.guarantee) ? new BoundStore(this.#store) : undefined;
    const store = bound?.store ?? this.#store;
    if (this.#quietMs !== undefined)
      this.#kept = keptStore(store, this.#quietMs, (error) => this.#tell({ type: "error", error }));
    const runner = new Runner({
      store: this.#kept?.store ?? store,
      bound,
      beats: this.#kept?.beats,
      settings: { ...this.#settings, candidate: id },
      clock: this.#clock,
      nonce: this.#nonce ?? nextCandidateNonce(),
      seed: randomSeed(),
      narrator: this.#narrator,
      url,
    });
    const report: Arena["report"] = (error, election) => this.#report(error, election);
    const warning = noteMemory(this.#store);
    if (warning !== undefined) this.#tell(warning);
    const { drainMs } = this.#settings;
    const tell: Arena["tell"] = (event) => this.#tell(event);
    return { runner, turns: new Turns(), id, drainMs, report, tell, delivered: this.#delivered };
  }

  #report(error: ConclaveError, election: string): void {
    this.#tell({ type: "error", error, election });
  }

  #tell(event: ConclaveEvent): void {
    this.#voice.say(event);
    noteDomain(event, this.#store, (warning) => this.#tell(warning));
    if (event.type === "overstayed") this.#overstayed(event.election, event.byMs);
    if (event.type === "waiting" || event.type === "elected") planRehearsal(this.#settings, this.#clock);
  }

  #overstayed(election: string, byMs: number): void {
    const message = `"${election}": work still running ${Math.round(byMs)} ms after the term was lost; another process may lead. Pass term.signal to what it awaits, or set onOverstay: "exit".`;
    this.#report(new ConclaveError("TERM_OVERSTAYED", message), election);
    if (this.#onOverstay === "report") return;
    const onOverstay = this.#onOverstay;
    if (onOverstay !== "exit") return callUser("onOverstay", onOverstay, () => onOverstay(election));
    process.stderr.write(`conclave: ${message} Exiting.\n`);
    process.exit(1);
  }
}

function checkName(name: unknown): void {
  const isName = typeof name === "string" && name.length > 0 && name.length <= 500 && !hasControlCharacter(name);
  const flaw = isName ? flawOf(name) : "1 to 500 characters, no control characters";
  if (flaw !== undefined)
    throw new ConclaveError("CONFIG_INVALID", `${show(name)} is not a name for an election: ${flaw}`);
}

/** Without `waitMs` there is no bound. With 0, the lock is taken only if it is free now. */
function checkedWait(waitMs: unknown): number {
  if (waitMs === undefined || waitMs === null) return Infinity;
  if (typeof waitMs === "number" && waitMs >= 0) return waitMs;
  throw new ConclaveError("CONFIG_INVALID", `withLock: waitMs ${show(waitMs)} is not a number of milliseconds`);
}

/** `why`: what the store has said meanwhile; undefined if it has said nothing. */
function lockTimeout(name: string, waitMs: number, why: Hearsay | undefined): ConclaveError {
  if (why === "taken") {
    const message = `"${name}" was not free within ${waitMs} ms. Wait longer (waitMs), or see who holds it: candidate.election("${name}").leader()`;
    return new ConclaveError("LOCK_TIMEOUT", message);
  }
  const could = `"${name}" could not be had within ${waitMs} ms, because the store`;
  if (why === undefined)
    return new ConclaveError("LOCK_TIMEOUT", `${could} has not said yet whether it is free. Wait longer (waitMs)`);
  const message = `${could} did not say whether it is free: ${askedOnce(why.message)}`;
  return new ConclaveError("LOCK_TIMEOUT", message, { cause: why });
}
