// One asker's stand for one name, from its turn in the process to the moment when nothing of it remains. Two kinds:
//
//   WorkContest   `lead` and `withLock`: the work is ours to await, so the store is told exactly when it has settled (law 8)
//   HoldContest   `campaign`, `tryCampaign` and `start`: the user works on their own. A term that the user has in hand counts as settled when the user resigns
//                 it, when it is lost, or `drainMs` after its signal aborted: that is what the drain is for. One that was never handed out is settled at once
//
// Work that was begun by `ifLeading` is a guest of the term, of either kind: the term is not settled before it is.
import type { Timer } from "../base/clock.ts";
import { ConclaveError, type LossReason, TermLostError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import type { Bid, Name, Token } from "../lease/exchange.ts";
import type { Contender } from "./contender.ts";
import { HeldTerm } from "./held-term.ts";
import type { Runner } from "./runner.ts";
import type { Turn, Turns } from "./turns.ts";

export interface Arena {
  readonly runner: Runner;
  readonly turns: Turns;
  readonly id: string;
  readonly drainMs: number;
  /** Says what became of an error that has nobody to be thrown at. */
  readonly report: (error: ConclaveError, election: Name) => void;
  /** Errors that were thrown at whoever waited; `false` where something goes on trying all the same. */
  readonly delivered: WeakMap<ConclaveError, boolean>;
}

export abstract class Contest implements Contender {
  readonly name: Name;
  /** Resolves when nothing of it remains; never rejects. */
  readonly over: Promise<void>;
  term: HeldTerm | undefined;
  protected readonly arena: Arena;
  protected stopping = false;
  /** Why the present term is no longer held, other than by being given back. */
  protected lostFor: LossReason | undefined;
  /** Meant to be over soon: a lock. */
  protected readonly brief: boolean = false;
  /** Works of `ifLeading` that run in the present term: it is not settled before they are (law 8). */
  protected guests = 0;
  #guestsGone: (() => void)[] = [];
  #turn: Turn | undefined;
  #stopWaiting: (() => void) | undefined;
  #resolveOver!: () => void;

  constructor(arena: Arena, name: Name) {
    this.arena = arena;
    this.name = name;
    this.over = new Promise((resolve) => (this.#resolveOver = resolve));
  }

  /** Waits for this asker's turn in the process, then stands. */
  begin(): void {
    this.#stopWaiting = this.arena.turns.take(this.name, (turn) => {
      this.#turn = turn;
      this.arena.runner.stand(this.name, this.brief, this);
    });
  }

  /** Still its turn: it could not stand before. */
  protected standAgain(): void {
    this.arena.runner.stand(this.name, this.brief, this);
  }

  /** Stands only if it is this asker's turn now. */
  beginNow(): boolean {
    this.#turn = this.arena.turns.tryTake(this.name);
    if (this.#turn === undefined) return false;
    this.arena.runner.stand(this.name, this.brief, this);
    return true;
  }

  /** Runs `work` in the present term, beside what else runs in it. */
  async accompany<R>(term: HeldTerm, work: (term: HeldTerm) => Promise<R>): Promise<R> {
    this.guests++;
    try {
      return await work(term);
    } finally {
      this.guests--;
      if (this.guests === 0) this.guestsLeft();
    }
  }

  /** The last of them has settled. */
  protected guestsLeft(): void {
    for (const resolve of this.#guestsGone.splice(0)) resolve();
  }

  protected async whenGuestsLeft(): Promise<void> {
    if (this.guests > 0) await new Promise<void>((resolve) => this.#guestsGone.push(resolve));
  }

  /** The user has the present term in hand, and may work in it without our knowing. */
  handOut(): void {}

  /** Stops wanting; a held term begins to end. */
  stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    if (this.#turn !== undefined) return this.arena.runner.input({ type: "withdraw", name: this.name });
    this.#stopWaiting?.();
    this.free();
  }

  elected(bid: Bid, token: Token | undefined): void {
    const giveUp = (): Promise<void> => (this.term === term ? this.giveUp() : Promise.resolve()); // an earlier term is over
    const term: HeldTerm = new HeldTerm(this.arena.runner, this.name, this.arena.id, bid, token, giveUp);
    this.term = term;
    this.lostFor = undefined;
    this.begun(term);
  }

  ending(reason: LossReason): void {
    this.term?.abort(reason);
  }

  lost(reason: LossReason): void {
    this.lostFor = reason;
    this.term?.abort(reason);
  }

  contested(): void {}

  released(): void {}

  /** Whether nothing of the present term is left to do here, whatever the machine has heard of it yet. */
  hasSettled(): boolean {
    return false;
  }

  free(error?: ConclaveError): void {
    const turn = this.#turn;
    this.#turn = undefined;
    this.stopping = true; // from here on the name is the next asker's
    this.finished(error);
    this.#resolveOver();
    turn?.done();
  }

  /** Both at one reading of the clock: nothing of this term is wanted, and nothing of it is left to do. */
  protected stopSettled(): void {
    if (this.stopping) return this.settle();
    this.stopping = true;
    this.arena.runner.want({ type: "withdraw", name: this.name }, { type: "settle", name: this.name });
  }

  /** The caller is told by a rejection: no warning is needed, unless something else goes on trying. */
  protected deliver(error: ConclaveError): void {
    if (!this.arena.delivered.has(error)) this.arena.delivered.set(error, true);
  }

  protected settle(): void {
    this.arena.runner.input({ type: "settle", name: this.name });
  }

  protected abstract begun(term: HeldTerm): void;
  protected abstract giveUp(): Promise<void>;
  /** Everything is over; say so to whoever waits. */
  protected abstract finished(error: ConclaveError | undefined): void;
}

interface Promised<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (reason: unknown) => void;
}

/** What a work contest ends with, once that is decided. */
type Verdict<R> = { readonly kind: "value"; readonly value: R } | { readonly kind: "error"; readonly error: unknown };

export class WorkContest<R> extends Contest {
  readonly #work: (term: HeldTerm) => Promise<R>;
  /** `lead` campaigns again after a lost term; a lock does not. */
  readonly #again: boolean;
  protected override readonly brief: boolean;
  readonly #promised: Promised<R | undefined>;
  #verdict: Verdict<R> | undefined;
  #unless: unknown;

  constructor(
    arena: Arena,
    name: Name,
    work: (term: HeldTerm) => Promise<R>,
    again: boolean,
    promised: Promised<R | undefined>,
  ) {
    super(arena, name);
    this.#work = work;
    this.#again = again;
    this.brief = !again;
    this.#promised = promised;
  }

  /** Only if nobody stands before it, in this process or at the store; otherwise it fails with `error`. */
  beginOnly(error: unknown): void {
    this.#unless = error;
    if (!this.beginNow()) this.fail(error);
  }

  override contested(): void {
    if (this.#unless !== undefined && this.term === undefined) this.fail(this.#unless);
  }

  /** Gives up with an error, if it has not been elected yet. */
  fail(error: unknown): void {
    if (this.term === undefined) this.#verdict ??= { kind: "error", error };
    this.stop();
  }

  /** In a job of its own: the work of one term must not run inside the books of all. */
  protected begun(term: HeldTerm): void {
    queueMicrotask(() => void this.#run(term));
  }

  /** Never rejects. */
  async #run(term: HeldTerm): Promise<void> {
    let verdict: Verdict<R>;
    // Law 7: what is lost before its work has begun is not begun.
    if (!term.isHeld()) {
      if (!this.#again)
        this.#verdict = { kind: "error", error: new TermLostError(this.name, this.lostFor ?? "expired") };
      if (!this.#again) this.stop();
      await this.whenGuestsLeft();
      return this.settle();
    }
    try {
      verdict = { kind: "value", value: await this.#work(term) };
    } catch (error) {
      verdict = { kind: "error", error };
    }
    // By the clock: a blocked loop may have passed the deadline without a timer having fired.
    const whole = term.isLeading();
    if (this.guests > 0 && whole) this.stop(); // their signal aborts
    await this.whenGuestsLeft();
    if (whole || !this.#again) {
      this.#verdict =
        whole || verdict.kind === "error" || term.isHeld()
          ? verdict
          : { kind: "error", error: new TermLostError(this.name, this.lostFor ?? "expired") };
      return this.stopSettled();
    }
    if (verdict.kind === "error") this.#reportLateError(verdict.error, term);
    this.settle();
  }

  /** The work threw after its term had begun to end. If that was not just its way to stop, somebody wants to know. */
  #reportLateError(error: unknown, term: HeldTerm): void {
    const stopped = error === term.signal.reason || (error instanceof Error && error.name === "AbortError");
    if (stopped || error instanceof TermLostError) return;
    const message = `"${this.name}": the work rejected after its term had ended (${term.reason ?? "expired"}): ${textOfError(error)}. Its error is the cause of this one.`;
    this.arena.report(new ConclaveError("TERM_LOST", message, { cause: error }), this.name);
  }

  /** Inside the work: the signal aborts now; the store is told when the work has settled. */
  protected giveUp(): Promise<void> {
    this.arena.runner.input({ type: "resign", name: this.name });
    return Promise.resolve();
  }

  protected finished(error: ConclaveError | undefined): void {
    if (error !== undefined) this.deliver(error);
    const verdict: Verdict<R> | undefined = error === undefined ? this.#verdict : { kind: "error", error };
    if (verdict?.kind === "error") this.#promised.reject(verdict.error);
    else this.#promised.resolve(verdict?.value);
  }
}

/** Pauses of `start` after an error that trying again cannot help, until somebody changes something: they double, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

export class HoldContest extends Contest {
  /** once: until elected. try: as once, unless another stands before. always: again and again. */
  readonly #mode: "once" | "try" | "always";
  readonly #promised: Promised<HeldTerm | undefined>;
  #drain: Timer | undefined;
  #drainMs: number;
  /** The user has this term: from `campaign`, or from `election.term()`. What is done with it nobody tells us. */
  #isHandedOut = false;
  /** The present term has settled; what the machine says of it from now on starts no drain. */
  #userIsDone = false;
  #givenUp: { readonly done: Promise<void>; readonly resolve: () => void } | undefined;
  #why: unknown;
  #pause: Timer | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(arena: Arena, name: Name, mode: "once" | "try" | "always", promised: Promised<HeldTerm | undefined>) {
    super(arena, name);
    this.#mode = mode;
    this.#drainMs = arena.drainMs;
    this.#promised = promised;
  }

  /** Gives up with an error, if it has not been elected yet. */
  fail(error: unknown): void {
    this.#why ??= error;
    this.stop();
  }

  /** LAW 9 is for those who wait for an answer. What runs in the background goes on trying: the tables may be made later, the password mended. */
  override free(error?: ConclaveError): void {
    if (error === undefined || this.#mode !== "always" || this.stopping) return super.free(error);
    this.arena.delivered.set(error, false);
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
    if (this.#mode === "try" && this.term === undefined) this.stop();
  }

  /** `drainMs`: of `close`, in place of the candidate's. */
  close(drainMs: number | undefined): void {
    this.#drainMs = drainMs ?? this.#drainMs;
    if (drainMs !== undefined && this.#drain !== undefined) this.#beginDrain();
    this.stop();
  }

  override handOut(): void {
    this.#isHandedOut = true;
  }

  /** What is handed out has its drain. What is not handed out can only be at work as a guest. */
  override ending(reason: LossReason): void {
    super.ending(reason);
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
        // As inside `lead`: the signal aborts now, the store is told when the work has settled, and whoever awaits this inside it does not wait for itself.
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
    if (this.#mode !== "always") this.stop();
    this.settle();
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
