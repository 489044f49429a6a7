// One call that wants a permit of a semaphore, from the first seat that it asks for to the moment when nothing of it remains at any seat. It carries out what the search asks for (lease/seats.ts), and
// tells the search what the seats answer. It decides nothing.
import type { LossReason } from "../base/errors.ts";
import type { Name } from "../lease/exchange.ts";
import { createSearch, type SeatEffect, type SeatInput, type SeatSearch, stepSearch } from "../lease/seats.ts";
import type { Arena, Promised } from "./contest.ts";
import type { HeldTerm } from "./held-term.ts";
import { HoldContest } from "./hold-contest.ts";
import { HeldPermit, seatName } from "./permit.ts";
import type { Hearsay } from "./turns.ts";

/** The contest of the call for one seat. */
class SeatContest extends HoldContest {
  readonly #whenContested: () => void;
  readonly #toOthers: (word: Hearsay) => void;
  protected override readonly asksOnce: boolean;

  constructor(
    name: Name,
    { arena, triesOnce, tell }: PermitCallOptions,
    promised: Promised<HeldTerm | undefined>,
    whenContested: () => void,
  ) {
    super(arena, name, "once", promised);
    this.asksOnce = triesOnce;
    this.#whenContested = whenContested;
    this.#toOthers = tell;
  }

  override contested(): void {
    super.contested();
    this.#whenContested();
  }

  /** The other calls of the semaphore wait behind the whole call, not only behind this contest. */
  protected override tell(word: Hearsay): void {
    super.tell(word);
    this.#toOthers(word);
  }
}

/** The reason for leaving a seat: its contest ends, and nobody is told. */
const LEFT = Symbol("left");

export interface PermitCallOptions {
  readonly arena: Arena;
  readonly semaphore: string;
  readonly order: readonly number[];
  /** The call gives up when all permits are taken. */
  readonly triesOnce: boolean;
  /** Tells the other calls of this semaphore what the store has said. */
  readonly tell: (word: Hearsay) => void;
}

export class PermitCall {
  /** Undefined if all permits are taken and this call does not wait. Rejects with the store's error, or with the reason why it was stopped. */
  readonly permit: Promise<HeldPermit | undefined>;
  /** Resolves when nothing of the call remains; never rejects. */
  readonly over: Promise<void>;
  readonly #options: PermitCallOptions;
  readonly #search: SeatSearch;
  readonly #contests = new Map<number, SeatContest>();
  #settle!: Promised<HeldPermit | undefined>;
  #resolveOver!: () => void;
  #isRunning = false;
  #held: { readonly contest: SeatContest; readonly term: HeldTerm } | undefined;

  constructor(options: PermitCallOptions) {
    this.#options = options;
    this.#search = createSearch(options.order, options.triesOnce);
    this.permit = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.over = new Promise((resolve) => (this.#resolveOver = resolve));
    this.permit.catch(() => {}); // the caller that awaits the permit gets the error
  }

  begin(): void {
    this.#input({ type: "begin" });
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Why the permit has begun to end. */
  get reason(): LossReason | undefined {
    return this.#held?.term.reason;
  }

  /** True if the permit is over, no work of ours runs in it, and only the answer of the store is missing. */
  get isLeaving(): boolean {
    return this.#held !== undefined && !this.#isRunning && !this.#held.term.isHeld();
  }

  /** Runs `work` as a part of the permit. The permit is not given back before the work has settled (law 8: drain, then release). */
  async run<R>(work: () => Promise<R>): Promise<R> {
    const { contest, term } = this.#held!;
    this.#isRunning = true;
    try {
      return await contest.accompany(term, work);
    } finally {
      this.#isRunning = false;
    }
  }

  /** Stops waiting, with this reason. A permit that is held begins to end, and its user has `drainMs`. */
  stop(reason: unknown, drainMs?: number): void {
    if (this.#held !== undefined) return this.#held.contest.close(drainMs);
    this.#fail(reason);
  }

  #fail(reason: unknown): void {
    this.#settle.reject(reason);
    this.#input({ type: "stop" });
  }

  #input(input: SeatInput): void {
    for (const effect of stepSearch(this.#search, input)) this.#carryOut(effect);
    this.#noteEnd();
  }

  #carryOut(effect: SeatEffect): void {
    switch (effect.type) {
      case "stand":
        return this.#stand(effect.seat);
      case "leave":
        return this.#leave(effect.seat);
      case "hold":
        return this.#hold(effect.seat);
      case "none-free":
        return this.#settle.resolve(undefined);
    }
  }

  #stand(seat: number): void {
    const promised: Promised<HeldTerm | undefined> = {
      resolve: (term) => term && this.#input({ type: "granted", seat }),
      reject: (error) => error !== LEFT && !this.isHeld && this.#fail(error),
    };
    const name = seatName(this.#options.semaphore, seat);
    const contest = new SeatContest(name, this.#options, promised, () => this.#input({ type: "contested", seat }));
    this.#contests.set(seat, contest);
    void contest.over.then(() => {
      this.#contests.delete(seat);
      this.#noteEnd();
    });
    contest.begin();
  }

  /** The user has never seen the grant, so it is given back without a drain. */
  #leave(seat: number): void {
    const contest = this.#contests.get(seat);
    if (contest?.term === undefined) contest?.fail(LEFT);
    else void contest.term.resign();
  }

  #hold(seat: number): void {
    const contest = this.#contests.get(seat);
    const term = contest?.term;
    if (contest === undefined || term === undefined) return;
    this.#held = { contest, term };
    this.#settle.resolve(new HeldPermit(this.#options.semaphore, seat, term));
  }

  #noteEnd(): void {
    const { isOver, held } = this.#search;
    if (this.#contests.size === 0 && (isOver || held !== undefined)) this.#resolveOver();
  }
}

/** True if the work rejected after its permit had begun to end, and the error was not just its way to stop. */
export function isOwnError(error: unknown, signal: AbortSignal): boolean {
  const isAbort = error instanceof Error && (error.name === "AbortError" || error.name === "TermLostError");
  return error !== signal.reason && !isAbort;
}
