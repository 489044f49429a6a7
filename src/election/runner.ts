// Runs one lease machine on a real clock and a real store: gives it readings, carries out its effects, and wakes it in time. It decides nothing.
//
// Order. Every caller steps the machine at once. Effects are carried out in the order of the steps, in one loop and never one inside another. A contender or a listener that calls back into this
// runner changes the books, but the effects of that call wait until those before them are done. So a thousand terms that are lost together are reported one after the other, on a stack that does
// not grow. Listeners hear the events in the order in which things happened. `input` that is called from outside returns when everything has been carried out.
//
// Law 3 (held is computed, not remembered) does not depend on this order: `isHeld()` brings the books up to the clock, and the term that is asked aborts its own signal before it answers `false`
// (held-term.ts), even where the effect that says so is still waiting here.
//
// With a renewal thread, the keeps of an open session are carried out there, and repeated while this loop is busy. Before the machine is told or asked anything, it is told what the thread has
// heard, in order, each at the reading of its receipt: lease/deputy.ts says why that excludes two leaders.
import type { Clock, Reading, Timer } from "../base/clock.ts";
import { type ConclaveError, type LossReason, TermLostError } from "../base/errors.ts";
import { unknown } from "../base/outcome.ts";
import { Queue } from "../base/queue.ts";
import { renewed } from "../base/worn-map.ts";
import { chargeOf, keptSession, type KeepOrder, orderOf } from "../lease/deputy.ts";
import type { ConclaveEvent, Doing, TermState } from "../lease/events.ts";
import type { BanChange, Bid, Name } from "../lease/exchange.ts";
import {
  createMachine,
  isBehindClock,
  isHeld,
  lossOf,
  nextWake,
  step,
  termRemainingMs,
  termState,
} from "../lease/machine.ts";
import type { Effect, Input, Machine } from "../lease/state.ts";
import type { Store } from "../stores/contract.ts";
import type { Contender } from "./contender.ts";
import { type Exchange, exchange } from "./ask.ts";
import { stamped } from "./fresh-beat.ts";
import type { RunnerOptions } from "./runner-options.ts";
import { ThreadLink } from "./thread-link.ts";
import { settled, type Waiter, Wishes } from "./waiters.ts";
import { Watches } from "./watches.ts";

/** An effect, and the reading of the step that asked for it. A request is dated by that reading, in the books and at the store alike, because a deadline counts from the send (law 1). */
interface Due {
  readonly effect: Effect;
  readonly now: Reading;
}

const TICK: Input = { type: "tick" };
/** The requests that must succeed before anybody can be elected. */
const HINDERS: ReadonlySet<Doing | undefined> = new Set<Doing>(["open", "claim", "look", "grant"]);

export class Runner {
  readonly store: Store;
  readonly node: string | undefined;
  readonly #clock: Clock;
  readonly #machine: Machine;
  readonly #narrator: RunnerOptions["narrator"];
  readonly #watches: Watches;
  #contenders = new Map<Name, Contender>();
  #stood = 0;
  #exchanges = new Map<number, Exchange>();
  #renewals: Waiter[] = [];
  readonly #wishes = new Wishes();
  /** Effects that steps have asked for and that were not carried out yet. */
  readonly #due = new Queue<Due>();
  readonly #outbox = new Queue<ConclaveEvent>();
  #performing = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #tickComing = false;
  #closed: (() => void) | undefined;
  #thread: ThreadLink | undefined;
  /** The session that the thread keeps, and the keeps that it carries out. */
  #threadKeeps = 0;
  readonly #ordered = new Set<number>();
  #latest: Reading = { mono: -Infinity, boot: -Infinity };

  constructor(options: RunnerOptions) {
    this.store = options.store;
    this.node = options.settings.node?.name;
    this.#clock = options.clock;
    this.#machine = createMachine(options.settings, options.nonce, options.seed);
    this.#narrator = options.narrator;
    this.#watches = new Watches(options.store, options.clock, (hint) => this.input({ type: "hint", hint }));
    const { url, settings, clock, beats, bound } = options;
    if (url === undefined) return;
    const news = (): void => this.#hearThread();
    const lost = (error: ConclaveError): void => (this.#loseThread(error), bound?.lose(error));
    this.#thread = new ThreadLink({ url, settings, clock, beats, desk: bound?.theirs, news, lost });
  }

  // ---- what contenders say

  stand(name: Name, brief: boolean, contender: Contender): void {
    this.#contenders = renewed(this.#contenders, ++this.#stood).set(name, contender);
    this.input({ type: "stand", name, value: "", brief });
  }

  /** Takes inputs one after the other. All have one reading, unless the first has caused something that has read the clock since: a reading never goes back. */
  input(...inputs: readonly Input[]): void {
    this.#hearThread();
    this.#latest = this.#clock.now();
    for (const input of inputs) this.#step(input, this.#latest);
    this.#arrangeTick(false, this.#latest);
  }

  #step(input: Input, now: Reading): void {
    this.#latest = now;
    const effects: Effect[] = [];
    step(this.#machine, input, now, effects);
    for (const effect of effects) this.#due.add({ effect, now });
    if (this.#performing) return;
    this.#perform();
    if (this.#thread !== undefined && keptSession(this.#machine) !== this.#threadKeeps)
      this.#chargeThread(this.#thread);
  }

  /** Held is computed, not remembered (law 3): this brings the books up to the clock, aborts the terms that have expired, and only then answers. */
  isHeld(name: Name, bid: Bid): boolean {
    return isHeld(this.#machine, name, bid, this.#upToDate());
  }

  lossOf(name: Name, bid: Bid): LossReason {
    return lossOf(this.#machine, name, bid) ?? "expired";
  }

  state(name: Name, bid: Bid): TermState {
    return termState(this.#machine, name, bid, this.#upToDate());
  }

  remainingMs(name: Name, bid: Bid): number {
    return termRemainingMs(this.#machine, name, bid, this.#upToDate());
  }

  /** Resolves when one keep that is sent from now on is proven. */
  renew(name: Name, bid: Bid): Promise<void> {
    const { session } = this.#machine;
    if (!this.isHeld(name, bid) || session.kind !== "open") return Promise.reject(new TermLostError(name, "expired"));
    const proven = new Promise<void>((resolve, reject) =>
      this.#renewals.push({ name, id: session.keepsSent + 1, resolve, reject }),
    );
    this.input({ type: "renew" });
    return proven;
  }

  announce(name: Name, value: string): Promise<void> {
    return this.#wishes.make(name, (id) => this.input({ type: "announce", id, name, value }));
  }

  /** Settles when the memo is written, when the term is over, or when the store refuses for good. */
  memo(name: Name, bid: Bid, key: string, value: string, ban?: BanChange): Promise<void> {
    return this.#wishes.make(name, (id) => this.input({ type: "memo", id, name, bid, key, value, ban }));
  }

  /** Resolves when every term has settled, been released, and the session has ended. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closed = resolve;
      this.input({ type: "close" });
    });
  }

  timer(afterMs: number, wake: () => void): Timer {
    return this.#clock.timer(afterMs, wake);
  }

  #upToDate(): Reading {
    this.#hearThread();
    const now = this.#clock.now();
    if (isBehindClock(this.#machine, now)) {
      this.#step(TICK, now);
      this.#arrangeTick(true, now);
    }
    return now;
  }

  // ---- the renewal thread

  /** Takes everything that the thread has heard since, before anything else. A reading never goes back: a reading of the thread that is older than this loop's last step counts as of that step. */
  #hearThread(): void {
    let word = this.#thread?.take();
    if (word === undefined) return;
    for (; word !== undefined; word = this.#thread?.take()) {
      const { input, at } = word;
      if (input.type === "answer") this.#closeOrder(input.errand);
      const { mono, boot } = this.#latest;
      this.#step(input, { mono: Math.max(at.mono, mono), boot: Math.max(at.boot, boot) });
    }
    this.#arrangeTick(false, this.#clock.now());
  }

  #closeOrder(errand: number): void {
    this.#ordered.delete(errand);
    this.#exchanges.get(errand)?.cancel();
    this.#exchanges.delete(errand);
  }

  /** The thread answers in `timeoutMs`, with `unknown` if need be. If it does not answer although this loop has turned since, it hangs. */
  #order(thread: ThreadLink, order: KeepOrder, timeoutMs: number): Exchange {
    this.#ordered.add(order.errand);
    thread.say({ word: "order", order });
    let timer = this.#clock.timer(timeoutMs, () => {
      timer = this.#clock.timer(timeoutMs / 2, () => {
        this.#hearThread();
        if (this.#ordered.has(order.errand)) thread.giveUp(`no answer within ${Math.round(1.5 * timeoutMs)} ms`);
      });
    });
    return { cancel: () => timer.cancel() };
  }

  /** The thread is to keep another session than before, or none. */
  #chargeThread(thread: ThreadLink): void {
    this.#threadKeeps = keptSession(this.#machine);
    const charge = this.#threadKeeps === 0 ? undefined : chargeOf(this.#machine);
    thread.say(charge === undefined ? { word: "rest" } : { word: "charge", charge });
  }

  #loseThread(error: ConclaveError): void {
    this.#hearThread();
    this.#thread = undefined;
    this.#threadKeeps = 0;
    this.#narrator.hear({ type: "error", error });
    for (const errand of this.#ordered) {
      this.#closeOrder(errand);
      this.input({ type: "answer", errand, answer: unknown(error) });
    }
  }

  // ---- what the machine asks for

  #perform(): void {
    this.#performing = true;
    try {
      for (;;) {
        for (let due = this.#due.take(); due !== undefined; due = this.#due.take()) this.#carryOut(due.effect, due.now);
        const event = this.#outbox.take();
        if (event === undefined) return;
        this.#narrator.hear(event);
      }
    } finally {
      this.#performing = false;
    }
  }

  #carryOut(effect: Effect, now: Reading): void {
    switch (effect.type) {
      case "call":
        return this.#call(effect, now);
      case "event":
        if (this.#isSettledAlready(effect.event)) return;
        this.#outbox.add(effect.event);
        return this.#tell(effect.event);
      case "watch":
        return this.#watches.add(effect.question);
      case "unwatch":
        return this.#watches.remove(effect.name);
      case "kept":
        this.#outbox.add({ type: "renewed", roundTripMs: effect.roundTripMs, remainingMs: effect.remainingMs });
        this.#renewals = settled(this.#renewals, ({ id }) => id <= effect.keep, undefined);
        return;
      case "unkept":
        this.#renewals = settled(this.#renewals, ({ id }) => id <= effect.keep, effect.error);
        return;
      case "carry":
        return this.#thread?.say({ word: "carry", opened: effect.opened, keep: effect.keep, hold: effect.hold });
      case "done":
        return this.#wishes.done(effect.id, effect.error);
      case "contested":
        this.#outbox.add({ type: "waiting", election: effect.name, leader: undefined });
        return this.#contenders.get(effect.name)?.contested();
      case "free":
        return this.#free(effect.name, effect.error);
      case "failed":
        return this.#fail(effect.error);
      case "closed":
        return this.#shut();
    }
  }

  #call(effect: Extract<Effect, { type: "call" }>, now: Reading): void {
    const { errand } = effect;
    this.#exchanges = renewed(this.#exchanges, errand);
    const request = stamped(this.#machine, errand, effect.request, this.#clock);
    const thread = this.#thread?.listens === true ? this.#thread : undefined;
    const order = thread && orderOf(this.#machine, errand, request);
    if (thread !== undefined && order !== undefined)
      return void this.#exchanges.set(errand, this.#order(thread, order, effect.timeoutMs));
    const sent = this.#machine.errands.get(errand);
    if (sent?.kind === "keep" && sent.beat !== undefined)
      this.#thread?.say({ word: "beat", opened: sent.opened, beat: sent.beat });
    const answered = exchange(this.store, this.#clock, request, effect.timeoutMs, now, (answer) => {
      this.#exchanges.delete(errand);
      this.#narrator.answered(request, answer);
      this.input({ type: "answer", errand, answer });
    });
    this.#exchanges.set(errand, answered);
  }

  #tell(event: ConclaveEvent): void {
    if (event.type === "elected") this.#contenders.get(event.election)?.elected(event.bid, event.token);
    if (event.type === "state" && event.state === "ending")
      this.#contenders.get(event.election)?.ending(event.reason ?? "expired");
    if (event.type === "lost") this.#contenders.get(event.election)?.lost(event.reason);
    if (event.type === "released") this.#contenders.get(event.election)?.released();
    if (event.type === "error" && HINDERS.has(event.during)) this.#tellTrouble(event.error, event.election);
    if (event.type === "session" && event.state === "lost")
      this.#renewals = settled(this.#renewals, () => true, new TermLostError("every election", "session-lost"));
  }

  #tellTrouble(error: ConclaveError, name: Name | undefined): void {
    const all = [...this.#contenders.values()];
    if (name === undefined) for (const contender of all) contender.troubled(error, all.length === 1);
    else this.#contenders.get(name)?.troubled(error, true);
  }

  /** A term without work settles as soon as it is told that it is lost. Then the event of the machine from the same step is no longer true. */
  #isSettledAlready(event: ConclaveEvent): boolean {
    return event.type === "overstayed" && this.#contenders.get(event.election)?.hasSettled() === true;
  }

  #free(name: Name, error?: ConclaveError): void {
    const contender = this.#contenders.get(name);
    this.#contenders.delete(name);
    this.#narrator.forget(name);
    this.#giveUpWaiters(name);
    contender?.free(error);
  }

  /** Nobody will answer these waiters any more. */
  #giveUpWaiters(name: Name): void {
    if (this.#renewals.length === 0 && this.#wishes.isEmpty) return;
    const over = new TermLostError(name, "resigned");
    this.#renewals = settled(this.#renewals, (waiter) => waiter.name === name, over);
    this.#wishes.giveUp(name, over);
  }

  /** Fails the contenders that stand now. A caller that waits behind one of them tries anew. */
  #fail(error: ConclaveError): void {
    const names = [...this.#contenders.keys()];
    for (const name of names) this.#free(name, error);
  }

  #shut(): void {
    this.#timer?.cancel();
    this.#watches.close();
    for (const pending of this.#exchanges.values()) pending.cancel();
    this.#exchanges.clear();
    this.#ordered.clear();
    const thread = this.#thread;
    this.#thread = undefined;
    if (thread === undefined) this.#closed?.();
    else void thread.end().then(() => this.#closed?.());
  }

  // ---- waking

  /**
   * Work that is due now is done in a microtask, so that callers of one turn of the loop share one request. Directly after a tick a timer is used
   * instead: a machine that always had something due could otherwise keep the loop from turning.
   */
  #arrangeTick(afterTick: boolean, now: Reading): void {
    if (this.#performing) return; // the step that is being carried out arranges the tick at its end
    const wakeAt = nextWake(this.#machine, now);
    if (wakeAt <= now.mono && !afterTick) {
      if (!this.#tickComing) queueMicrotask(() => this.#tick());
      this.#tickComing = true;
      return;
    }
    if (this.#timer !== undefined && this.#timerAt <= wakeAt && wakeAt !== Infinity) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (wakeAt === Infinity) return;
    this.#timerAt = wakeAt;
    this.#timer = this.#clock.timer(wakeAt - now.mono, () => {
      this.#timer = undefined;
      this.#tick();
    });
  }

  #tick(): void {
    this.#tickComing = false;
    this.#hearThread();
    const now = this.#clock.now();
    this.#step(TICK, now);
    this.#arrangeTick(true, now);
  }
}
