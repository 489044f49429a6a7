// The election of one name, as a user holds it: each call is a contest, and closing ends them all.
import { ConclaveError } from "../base/errors.ts";
import { type Arena, type Contest, HoldContest, WorkContest } from "./contest.ts";
import type { Election, Leader, Until } from "./face.ts";
import type { HeldTerm } from "./held-term.ts";
import { type Lookout, lookUp, observe } from "./observe.ts";
import type { Term } from "./term.ts";

export class NamedElection<T extends Term> implements Election<T> {
  readonly name: string;
  /** Made when something is first asked of the store, not before. */
  readonly #arena: () => Arena;
  readonly #lookout: Lookout;
  readonly #whenClosed: () => Promise<void>;
  readonly #contests = new Set<Contest>();
  readonly #closing = new AbortController();
  #started: HoldContest | undefined;
  #closed: Promise<void> | undefined;

  constructor(name: string, arena: () => Arena, lookout: Lookout, whenClosed: () => Promise<void>) {
    this.name = name;
    this.#arena = arena;
    this.#lookout = lookout;
    this.#whenClosed = whenClosed;
  }

  lead<R>(work: (term: T) => Promise<R>, options: Until = {}): Promise<R | undefined> {
    const { signal } = options;
    return new Promise<R | undefined>((resolve, reject) => {
      this.#throwIfClosed();
      if (signal?.aborted === true) return resolve(undefined);
      const contest = new WorkContest<R>(this.#arena(), this.name, asWork<T, R>(work), true, { resolve, reject });
      this.#enter(contest, signal, () => contest.stop());
      contest.begin();
    });
  }

  start(): void {
    this.#throwIfClosed();
    if (this.#started !== undefined) return;
    const nobodyWaits = { resolve: () => {}, reject: () => (this.#started = undefined) };
    this.#started = new HoldContest(this.#arena(), this.name, "always", nobodyWaits);
    this.#enter(this.#started, undefined, () => {});
    this.#started.begin();
  }

  term(): T | undefined {
    for (const { term } of this.#contests) if (term?.isLeading() === true) return asTerm<T>(term);
    return undefined;
  }

  campaign(options: Until = {}): Promise<T> {
    return this.#hold("once", options) as Promise<T>;
  }

  tryCampaign(options: Until = {}): Promise<T | undefined> {
    return this.#hold("try", options);
  }

  #hold(mode: "once" | "try", options: Until): Promise<T | undefined> {
    const { signal } = options;
    return new Promise<T | undefined>((resolve, reject) => {
      this.#throwIfClosed();
      signal?.throwIfAborted();
      const promised = { resolve: (term: HeldTerm | undefined) => resolve(term && asTerm<T>(term)), reject };
      const contest = new HoldContest(this.#arena(), this.name, mode, promised);
      const giveUp = (): void => {
        // The signal is about the waiting; a term that was won belongs to the caller.
        if (contest.term === undefined) contest.fail(signal?.reason);
      };
      this.#enter(contest, signal, giveUp);
      if (mode === "once") contest.begin();
      else if (!contest.beginNow()) contest.free();
    });
  }

  async leader(options: Until = {}): Promise<Leader | undefined> {
    options.signal?.throwIfAborted();
    const looked = lookUp(this.#lookout, this.name);
    if (options.signal === undefined) return looked;
    return untilAborted(looked, options.signal);
  }

  observe(options: Until = {}): AsyncIterable<Leader | undefined> {
    const signals = options.signal === undefined ? [this.#closing.signal] : [this.#closing.signal, options.signal];
    return observe(this.#lookout, this.name, AbortSignal.any(signals));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(closedError(this.name));
    const ends = [...this.#contests].map((contest) => {
      if (contest instanceof HoldContest && contest.term === undefined) contest.fail(closedError(this.name));
      else contest.stop();
      return contest.over;
    });
    await Promise.all(ends);
    await this.#whenClosed();
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined || this.#closing.signal.aborted) throw closedError(this.name);
  }

  #enter(contest: Contest, signal: AbortSignal | undefined, whenAborted: () => void): void {
    this.#contests.add(contest);
    signal?.addEventListener("abort", whenAborted, { once: true });
    void contest.over.then(() => {
      this.#contests.delete(contest);
      signal?.removeEventListener("abort", whenAborted);
    });
  }
}

export function closedError(what: string): ConclaveError {
  return new ConclaveError(
    "CLOSED",
    `"${what}" was closed. Make a new election, or a new candidate, to campaign again.`,
  );
}

/** `T` is what the store's type promises: a HeldTerm of a fenced store carries a token, one of an unfenced store does not. */
export function asTerm<T extends Term>(term: HeldTerm): T {
  return term as Term as T;
}

export function asWork<T extends Term, R>(work: (term: T) => Promise<R>): (term: HeldTerm) => Promise<R> {
  return (term) => work(asTerm<T>(term));
}

function untilAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
