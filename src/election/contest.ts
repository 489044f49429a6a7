// One caller's contest for one name, from its turn in the process to the moment when nothing of it remains. There are two kinds:
//
//   WorkContest   for `lead` and `withLock`: this code awaits the work, so the store is told exactly when the work has settled (law 8: drain, then release)
//   HoldContest   for `campaign`, `tryCampaign` and `start` (hold-contest.ts): the user works on their own
//
// Work that was begun by `ifLeading` is a guest of the term, with either kind: the term is not settled before its guests are.
import { ConclaveError, isWished, type LossReason, TermLostError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { askedOnce } from "../base/outcome.ts";
import type { Bid, Name, Token } from "../lease/exchange.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import type { Contender } from "./contender.ts";
import { HeldTerm } from "./held-term.ts";
import { Reminder } from "./reminder.ts";
import type { Runner } from "./runner.ts";
import type { Hearsay, Turn, Turns } from "./turns.ts";

export interface Arena {
  readonly runner: Runner;
  readonly turns: Turns;
  readonly id: string;
  readonly drainMs: number;
  /** Reports an error that cannot be thrown at a caller. */
  readonly report: (error: ConclaveError, election: Name) => void;
  readonly tell: (event: ConclaveEvent) => void;
  /** Errors that were thrown at the caller that waited. The value is `false` where something still goes on trying. */
  readonly delivered: WeakMap<ConclaveError, boolean>;
}

export abstract class Contest implements Contender {
  readonly name: Name;
  /** Resolves when nothing of it remains; never rejects. */
  readonly over: Promise<void>;
  term: HeldTerm | undefined;
  protected readonly arena: Arena;
  protected stopping = false;
  /** Why the present term is no longer held, if it was not given back. */
  protected lostFor: LossReason | undefined;
  /** True if it is meant to be over soon, as a lock is. */
  protected readonly brief: boolean = false;
  /** True if it wants an answer and does not wait: a store that does not answer ends it too. */
  protected readonly asksOnce: boolean = false;
  /** How many works of `ifLeading` run in the present term. The term is not settled before they are, because it is released only after its work (law 8). */
  protected guests = 0;
  #guestsGone: (() => void)[] = [];
  readonly #reminder: Reminder;
  #turn: Turn | undefined;
  #stopWaiting: (() => void) | undefined;
  #resolveOver!: () => void;

  constructor(arena: Arena, name: Name) {
    this.arena = arena;
    this.name = name;
    const { runner, drainMs, tell } = arena;
    this.#reminder = new Reminder({ name, drainMs, tell, timer: (afterMs, wake) => runner.timer(afterMs, wake) });
    this.over = new Promise((resolve) => (this.#resolveOver = resolve));
  }

  /** Waits for this caller's turn in the process, then stands. */
  begin(hear?: (word: Hearsay) => void): void {
    const stand = (turn: Turn): void => {
      this.#turn = turn;
      this.arena.runner.stand(this.name, this.brief, this);
    };
    this.#stopWaiting = this.arena.turns.take(this.name, stand, hear);
  }

  /** Stands if it is this caller's turn now. If it is not, what the caller before it hears of the store is the answer for this one, too. */
  beginOnce(): void {
    this.begin((word) => (word === "taken" ? this.contested() : this.troubled(word, false)));
  }

  /** It is still this caller's turn: it could not stand before. */
  protected standAgain(): void {
    this.arena.runner.stand(this.name, this.brief, this);
  }

  /** Runs `work` in the present term, beside the other work that runs in it. */
  async accompany<R>(term: HeldTerm, work: (term: HeldTerm) => Promise<R>): Promise<R> {
    this.guests++;
    try {
      return await work(term);
    } finally {
      this.guests--;
      if (this.guests === 0) this.guestsLeft();
    }
  }

  /** The last of the guests has settled. */
  protected guestsLeft(): void {
    for (const resolve of this.#guestsGone.splice(0)) resolve();
  }

  protected async whenGuestsLeft(): Promise<void> {
    if (this.guests > 0) await new Promise<void>((resolve) => this.#guestsGone.push(resolve));
  }

  /** True if nobody has told it to stop, and it has not ended. */
  get isOngoing(): boolean {
    return !this.stopping;
  }

  /** The user has the present term, and may work in it without our knowing. */
  handOut(): void {}

  /** The name is no longer wanted; a held term begins to end. */
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
    this.tell("taken");
    this.begun(term);
  }

  ending(reason: LossReason): void {
    this.term?.abort(reason);
    // A term that ends for another reason has a deadline, and work that goes on after that is told of as an overstay.
    if (isWished(reason)) this.#reminder.begin(reason, () => this.isWorking());
  }

  lost(reason: LossReason): void {
    this.lostFor = reason;
    this.#reminder.end();
    this.term?.abort(reason);
  }

  /** What the store has said to this caller, for those who wait behind it. */
  protected tell(word: Hearsay): void {
    this.#turn?.tell(word);
  }

  /** The store has given a definite answer, so the trouble before it is over. */
  contested(): void {
    this.tell("taken");
  }

  troubled(error: ConclaveError, isOnlyOne: boolean): void {
    // While this caller has the name, it is not free, whatever the store answers.
    if (this.term === undefined || this.term.reason !== undefined) this.tell(error);
    if (!this.asksOnce || this.stopping || this.term !== undefined) return;
    if (isOnlyOne) this.deliver(error);
    this.fail(askedInVain(this.name, error));
  }

  released(): void {}

  /** True if nothing of the present term is left to do here, whatever the machine has heard of it so far. */
  hasSettled(): boolean {
    return false;
  }

  free(error?: ConclaveError): void {
    this.#reminder.end();
    const turn = this.#turn;
    this.#turn = undefined;
    this.stopping = true; // from here on the name belongs to the next caller
    this.finished(error);
    this.#resolveOver();
    turn?.done();
  }

  /** Says two things at one reading of the clock: this term is no longer wanted, and nothing of it is left to do. */
  protected stopSettled(): void {
    if (this.stopping) return this.settle();
    this.stopping = true;
    this.#reminder.end();
    this.arena.runner.input({ type: "withdraw", name: this.name }, { type: "settle", name: this.name });
  }

  /** The caller is told by a rejection, so no warning is needed, unless something else goes on trying. */
  protected deliver(error: ConclaveError): void {
    if (!this.arena.delivered.has(error)) this.arena.delivered.set(error, true);
  }

  protected settle(): void {
    this.#reminder.end();
    this.arena.runner.input({ type: "settle", name: this.name });
  }

  /** True if work that this code waits for runs in the present term. */
  protected isWorking(): boolean {
    return this.guests > 0;
  }

  /** Gives up with an error, if it has not been elected yet. */
  abstract fail(error: unknown): void;
  protected abstract begun(term: HeldTerm): void;
  protected abstract giveUp(): Promise<void>;
  /** Everything is over, and the callers that wait are told. */
  protected abstract finished(error: ConclaveError | undefined): void;
}

/** The error of a caller that asks once, where the store does not say whether the name is free. */
export function askedInVain(name: Name, { code, message, retryable, cause }: ConclaveError): ConclaveError {
  return new ConclaveError(code, `"${name}": ${askedOnce(message)}`, { retryable, cause });
}

export interface Promised<R> {
  readonly resolve: (value: R) => void;
  readonly reject: (reason: unknown) => void;
}

/** The result of a work contest, once it is decided. */
type Ending<R> = { readonly kind: "value"; readonly value: R } | { readonly kind: "error"; readonly error: unknown };

export class WorkContest<R> extends Contest {
  readonly #work: (term: HeldTerm) => Promise<R>;
  /** `lead` campaigns again after a lost term; a lock does not. */
  readonly #again: boolean;
  protected override readonly brief: boolean;
  protected override asksOnce = false;
  readonly #promised: Promised<R | undefined>;
  #verdict: Ending<R> | undefined;
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

  /** Fails with `error` if somebody has the name, in this process or at the store; and with the error of a store that does not say. */
  beginOnly(error: unknown): void {
    this.#unless = error;
    this.asksOnce = true;
    this.beginOnce();
  }

  override contested(): void {
    super.contested();
    if (this.#unless !== undefined && this.term === undefined) this.fail(this.#unless);
  }

  /** Gives up with an error, if it has not been elected yet. */
  fail(error: unknown): void {
    if (this.term === undefined) this.#verdict ??= { kind: "error", error };
    this.stop();
  }

  /** It is asked only before the term has settled. */
  protected override isWorking(): boolean {
    return true;
  }

  /** The work begins in a microtask of its own, because the work of one term must not run while the books of all terms are being changed. */
  protected begun(term: HeldTerm): void {
    void Promise.resolve().then(() => this.#run(term));
  }

  /** Never rejects. */
  async #run(term: HeldTerm): Promise<void> {
    let verdict: Ending<R>;
    // A term that is lost before its work has begun is never announced (law 7), so its work does not begin.
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
    // The clock decides: a blocked loop may have passed the deadline without a timer having fired.
    const whole = term.isLeading();
    if (this.guests > 0 && whole) this.stop(); // the signal of the guests aborts
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

  /** The work threw after its term had begun to end. If the error was not just its way to stop, it is reported. */
  #reportLateError(error: unknown, term: HeldTerm): void {
    const stopped = error === term.signal.reason || (error instanceof Error && error.name === "AbortError");
    if (stopped || error instanceof TermLostError) return;
    const message = `"${this.name}": the work rejected after its term had ended (${term.reason ?? "expired"}): ${textOfError(error)}. Its error is the cause of this one.`;
    this.arena.report(new ConclaveError("TERM_LOST", message, { cause: error }), this.name);
  }

  /** This is called inside the work: the signal aborts now, and the store is told when the work has settled. */
  protected giveUp(): Promise<void> {
    this.arena.runner.input({ type: "resign", name: this.name });
    return Promise.resolve();
  }

  protected finished(error: ConclaveError | undefined): void {
    if (error !== undefined) this.deliver(error);
    const verdict: Ending<R> | undefined = error === undefined ? this.#verdict : { kind: "error", error };
    if (verdict?.kind === "error") this.#promised.reject(verdict.error);
    else this.#promised.resolve(verdict?.value);
  }
}
