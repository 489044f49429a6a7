// `campaign`, `tryCampaign` and `start`: the user works on their own. A term that the user has counts as settled when the user resigns it, when it is lost, or
// `drainMs` after its signal aborted, which is the purpose of the drain. A term that the user never got is settled at once when it is given up. Work of `ifLeading` is waited for in any case.
import type { Timer } from "../base/clock.ts";
import type { ConclaveError, LossReason } from "../base/errors.ts";
import type { Name } from "../lease/exchange.ts";
import { type Arena, Contest, type Promised } from "./contest.ts";
import type { HeldTerm } from "./held-term.ts";

/** The pauses of `start` after an error that trying again does not solve until somebody changes something. They double, up to the longest one. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export class HoldContest extends Contest {
  /** once: until elected. try: the same, unless another stands before it. always: again and again. */
  readonly #mode: "once" | "try" | "always";
  readonly #promised: Promised<HeldTerm | undefined>;
  protected override readonly asksOnce: boolean;
  #drain: Timer | undefined;
  #drainMs: number;
  /** The user has this term, from `campaign` or from `election.term()`. Nobody tells us what is done with it. */
  #isHandedOut = false;
  /** The present term has settled. Messages of the machine about it start no drain from now on. */
  #userIsDone = false;
  #givenUp: { readonly done: Promise<void>; readonly resolve: () => void } | undefined;
  #why: unknown;
  #pause: Timer | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(arena: Arena, name: Name, mode: "once" | "try" | "always", promised: Promised<HeldTerm | undefined>) {
    super(arena, name);
    this.#mode = mode;
    this.asksOnce = mode === "try";
    this.#drainMs = arena.drainMs;
    this.#promised = promised;
  }

  /** Gives up with an error, if it has not been elected yet. */
  fail(error: unknown): void {
    this.#why ??= error;
    this.stop();
  }

  /** A call rejects only before the first successful exchange (law 9), but that is for callers that wait. `start` goes on trying in the background: the tables may be made later, or the password corrected. */
  override free(error?: ConclaveError): void {
    if (error === undefined || this.#mode !== "always" || this.stopping) return super.free(error);
    this.arena.delivered.set(error, false);
    this.tell(error);
    this.#pause = this.arena.runner.timer(this.#pauseMs, () => {
      this.#pause = undefined;
      this.standAgain();
    });
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs);
  }

  override stop(): void {
    if (this.#pause === undefined) return super.stop();
    this.#pause.cancel();
    this.#pause = undefined;
    this.stopping = true;
    super.free();
  }

  protected begun(term: HeldTerm): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#userIsDone = false;
    this.#isHandedOut = this.#mode !== "always";
    this.#givenUp = undefined;
    this.#promised.resolve(term);
  }

  override contested(): void {
    super.contested();
    if (this.#mode === "try" && this.term === undefined) this.stop();
  }

  /** `drainMs` is that of `close`, in place of the candidate's. */
  close(drainMs: number | undefined): void {
    this.#drainMs = drainMs ?? this.#drainMs;
    if (drainMs !== undefined && this.#drain !== undefined) this.#beginDrain();
    this.stop();
  }

  override handOut(): void {
    this.#isHandedOut = true;
  }

  /**
   * A term that the user got has its drain. When the user ends a term that was never handed out, only guests can be at work in it. A term that ends for another
   * reason has its drain in any case: somebody may have asked `isLeading()` and be at work, and can learn of the end only by the clock.
   */
  override ending(reason: LossReason): void {
    super.ending(reason);
    if (reason !== "resigned") this.#isHandedOut = true;
    if (this.#isHandedOut && this.#drain === undefined) this.#beginDrain();
    else this.#settleIfDone();
  }

  #beginDrain(): void {
    this.#drain?.cancel();
    this.#drain = this.arena.runner.timer(this.#drainMs, () => {
      this.#isHandedOut = false;
      this.#settleIfDone();
    });
  }

  override lost(reason: LossReason): void {
    super.lost(reason);
    this.#isHandedOut = false;
    this.#givenUp?.resolve();
    this.#settleIfDone();
  }

  protected override guestsLeft(): void {
    super.guestsLeft();
    if (this.term?.reason !== undefined) this.#settleIfDone();
  }

  #settleIfDone(): void {
    if (!this.#isHandedOut && this.guests === 0 && !this.#userIsDone) this.#settled();
  }

  override released(): void {
    this.#givenUp?.resolve();
  }

  override hasSettled(): boolean {
    return this.#userIsDone;
  }

  protected giveUp(): Promise<void> {
    if (this.#givenUp === undefined) {
      let resolve: () => void = () => {};
      const done = new Promise<void>((settle) => (resolve = settle));
      this.#givenUp = { done, resolve };
      this.#isHandedOut = false;
      if (this.term?.isHeld() !== true) resolve();
      else if (this.guests === 0) this.#settled();
      else {
        // This is the same as inside `lead`: the signal aborts now, the store is told when the work has settled, and work that awaits this does not wait for itself.
        this.arena.runner.input({ type: "resign", name: this.name });
        resolve();
      }
    }
    return this.#givenUp.done;
  }

  /** The term is over for its user. Only `start` stays a candidate. */
  #settled(): void {
    this.#userIsDone = true;
    this.#drain?.cancel();
    this.#drain = undefined;
    if (this.#mode === "always") this.settle();
    else this.stopSettled();
  }

  protected finished(error: ConclaveError | undefined): void {
    this.#drain?.cancel();
    this.#givenUp?.resolve();
    if (error !== undefined) this.deliver(error);
    if (error !== undefined) this.#promised.reject(error);
    else if (this.#why !== undefined) this.#promised.reject(this.#why);
    else this.#promised.resolve(undefined);
  }
}
