// One life of one process: it plays the Node host to the real lease machine. It carries out the machine's effects, answers each call exactly once (`unknown` when the time is up), ticks when `nextWake`
// says so, a little late, and hands terms to the simulated user (work.ts).
import type { Reading } from "../../base/clock.ts";
import { cloneGraph } from "../../base/clone.ts";
import { unknown } from "../../base/outcome.ts";
import { nextBetween, nextChance, nextUint32, type Rng } from "../../base/rng.ts";
import type { Bid, Name, Token } from "../../lease/exchange.ts";
import { createMachine, isHeld, nextWake, step } from "../../lease/machine.ts";
import type { Settings } from "../../lease/settings.ts";
import type { Answer, Effect, Input, Machine } from "../../lease/state.ts";
import type { VirtualClock } from "../kernel/clock.ts";
import { Backlog, type DeferredEvent } from "./backlog.ts";
import { NO_DOMAIN } from "./guarantees.ts";
import type { Awaited, ProcessLife, ProcessWorld } from "./process-world.ts";
import type { Actor, KernelEvent } from "../kernel/kernel.ts";
import { addressOf, type AnswerMessage, type HintMessage, type RequestMessage, STORE_ADDRESS } from "./messages.ts";
import type { Node } from "../kernel/network.ts";
import type { Who } from "./observation.ts";
import { Reports } from "./reports.ts";
import type { CandidateSpec } from "./spec.ts";
import { Stamps } from "./stamps.ts";
import { streamOfBeats } from "./streams.ts";
import { type Loop, ThreadEnd } from "./thread-end.ts";
import { SimulatedWatches } from "./watches.ts";
import { type WorkHost, type Shift, SimulatedWork, type WorkEvent } from "./work.ts";

/** A timer fires this much after its instant, so that rounding never makes it early. */
const AFTER_MS = 1e-6;

export class LeaseProcess implements Actor, Node, WorkHost {
  readonly who: Who;
  readonly label: string;
  readonly #self: { readonly who: string; readonly slot: number };
  readonly clock: VirtualClock;
  readonly #world: ProcessWorld;
  readonly #spec: CandidateSpec;
  readonly #settings: Settings;
  readonly #rng: Rng;
  readonly #machine: Machine;
  readonly #stamps: Stamps;
  readonly #work: SimulatedWork;
  readonly #reports: Reports;
  /** Requests without an answer: never more than a few. */
  readonly #awaited: Awaited[] = [];
  readonly #backlog = new Backlog();
  readonly #watches: SimulatedWatches;
  readonly #wants = new Map<Name, Input>();
  isClosing = false;
  #isAlive = true;
  #heldAtPause: readonly Shift[] = [];
  #wake: KernelEvent | undefined;
  #wakeAt = Infinity;
  #thread: ThreadEnd | undefined;

  constructor(world: ProcessWorld, { who, spec, settings, clock, rng, machine }: ProcessLife) {
    this.#world = world;
    this.#self = { who: who.label, slot: who.slot };
    this.who = who;
    this.label = who.label;
    this.#spec = spec;
    this.#settings = settings;
    this.clock = clock;
    this.#rng = rng;
    this.#machine = machine ?? createMachine(settings, who.label, nextUint32(rng));
    this.#stamps = new Stamps(this.#machine, streamOfBeats(who));
    this.#watches = new SimulatedWatches(world, who);
    this.#work = new SimulatedWork(this, spec.work, spec.drainMs, rng);
    this.#reports = new Reports(world, who, spec, settings.margins.rho, this.#work);
    if (spec.renewal === "manual") this.#remindOfRenewal();
    if (spec.renewal === "thread") this.#startThread();
  }

  #startThread(): void {
    const [lateMs, beat] = [(): number => this.#lateMs(), (): string | undefined => this.#stamps.fresh()];
    const seed = nextUint32(this.#rng);
    const parts = { who: this.who, settings: this.#settings, clock: this.clock, seed, lateMs, beat };
    const { kernel } = this.#world;
    const loop: Loop = {
      machine: this.#machine,
      stepAt: (input, now) => this.#stepAt(input, now),
      soon: (act, afterMs) => void kernel.schedule(kernel.nowMs + afterMs, this, "thread", 0, act),
    };
    this.#thread = new ThreadEnd(this.#world, parts, loop);
  }

  // ---- events --------------------------------------------------------------------------------------------------------------------------

  handle(event: KernelEvent): void {
    if (event === this.#wake) this.#wake = undefined;
    this.#meet(event);
  }

  receive(_from: number, message: unknown): void {
    if (this.#thread?.receives(message as AnswerMessage | HintMessage) === true) return;
    this.#meet({ kind: "message", subject: 0, payload: message });
  }

  /** Passes on an act of its user: stand, withdraw, resign. */
  tell(input: Input): void {
    this.#meet({ kind: "user", subject: 0, payload: input });
  }

  /** The work on `election`, if any, ends by itself. */
  finish(election: Name): void {
    this.#meet({ kind: "finish", subject: 0, payload: election });
  }

  #meet(happening: DeferredEvent): void {
    if (!this.#isAlive) return;
    if (this.#backlog.isStanding) this.#backlog.wait(happening);
    else this.#dispatch(happening);
  }

  #dispatch({ kind, subject, payload }: DeferredEvent): void {
    switch (kind) {
      case "wake":
        return this.#woken();
      case "timeout":
        return this.#timedOut(subject);
      case "reset":
        return this.#answered(subject, unknown("connection reset"));
      case "message":
        return this.#hear(payload as AnswerMessage | HintMessage);
      case "user":
        return this.#told(payload as Input);
      case "thread":
        return (payload as () => void)();
      case "again":
        return this.#wants.forEach((input) => this.#step(input));
      case "finish":
        return this.#work.finish(payload as Name);
      case "renew":
        if (!this.#work.isIdle) this.#step({ type: "renew" });
        return this.#remindOfRenewal();
      default:
        return this.#work.due(kind as WorkEvent, payload as Shift);
    }
  }

  #hear(message: AnswerMessage | HintMessage): void {
    if (message.who !== this.who) return;
    if (message.kind === "answer") this.#answered(message.errand, message.answer);
    else this.#step({ type: "hint", hint: message.hint });
  }

  #told(input: Input): void {
    if (input.type === "stand") this.#wants.set(input.name, input);
    if (input.type === "withdraw") this.#wants.delete(input.name);
    if (input.type === "close") this.isClosing = true;
    if (input.type === "withdraw")
      this.#world.observe({ type: "withdrew", atMs: this.#world.kernel.nowMs, who: this.who, election: input.name });
    this.#step(input);
  }

  /** After a refusal for good, people mend something and try again. */
  #failed(): void {
    const { counts, kernel } = this.#world;
    counts.failures++;
    kernel.schedule(kernel.nowMs + this.#settings.ttlMs, this, "again");
  }

  #remindOfRenewal(): void {
    const everyMs = this.#settings.pace.renewEveryMs;
    const afterMs = nextChance(this.#rng, 0.05) ? everyMs * 4 : nextBetween(this.#rng, everyMs * 0.6, everyMs * 1.1);
    this.#world.kernel.schedule(this.#world.kernel.nowMs + afterMs, this, "renew");
  }

  // ---- steps ---------------------------------------------------------------------------------------------------------------------------

  #step(input: Input): void {
    this.#thread?.hear();
    this.#stepAt(input, this.clock.read(this.#world.kernel.nowMs));
  }

  #stepAt(input: Input, now: Reading): void {
    const { counts, kernel } = this.#world;
    const effects: Effect[] = [];
    step(this.#machine, input, now, effects);
    counts.steps++;
    for (const effect of effects) this.#carryOut(effect, now);
    const wakeAt = nextWake(this.#machine, now);
    this.#world.observe({ type: "stepped", atMs: kernel.nowMs, who: this.who, now, wakeAt });
    this.#armWake(wakeAt, now);
    this.#thread?.stepped();
  }

  #armWake(wakeAt: number, now: Reading): void {
    if (this.#wake !== undefined && wakeAt === this.#wakeAt) return;
    const { kernel } = this.#world;
    kernel.cancel(this.#wake);
    this.#wakeAt = wakeAt;
    this.#wake = undefined;
    if (wakeAt === Infinity) return;
    const dueMs = wakeAt <= now.mono ? kernel.nowMs : this.clock.trueTimeOf(wakeAt) + AFTER_MS;
    this.#wake = kernel.schedule(dueMs + this.#lateMs(), this, "wake");
  }

  #lateMs(): number {
    return this.#spec.timerLateMs === 0 ? 0 : nextBetween(this.#rng, 0, this.#spec.timerLateMs);
  }

  #woken(): void {
    const now = this.clock.read(this.#world.kernel.nowMs);
    // The monotonic clock may have stood still, and timers count by it.
    if (now.mono < this.#wakeAt) this.#armWake(this.#wakeAt, now);
    else this.#step({ type: "tick" });
  }

  #carryOut(effect: Effect, now: Reading): void {
    switch (effect.type) {
      case "call":
        return this.#call(effect, now);
      case "event":
        return this.#reports.hear(effect.event, now);
      case "carry":
        return this.#thread?.carry(effect);
      case "free":
      case "failed":
        return effect.error === undefined ? undefined : this.#failed();
      case "closed":
        return this.#world.observe({ type: "closed", atMs: this.#world.kernel.nowMs, who: this.who });
      case "watch":
        return this.#watches.watch(effect.question);
      case "unwatch":
        return this.#watches.unwatch(effect.name);
      case "contested":
      case "done":
      case "kept":
      case "unkept":
        return undefined; // these are for users
    }
  }

  // ---- calls ---------------------------------------------------------------------------------------------------------------------------

  #call({ errand, timeoutMs, request: asked }: Extract<Effect, { type: "call" }>, now: Reading): void {
    const { kernel, network, trace } = this.#world;
    const request = this.#stamps.stamped(errand, asked);
    this.#world.observe({ type: "sent", atMs: kernel.nowMs, who: this.who, errand, request, now });
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "request", ...this.#self, errand, method: request.method });
    if (this.#thread?.takes(errand, request) === true) return;
    const message: RequestMessage = {
      kind: "request",
      who: this.who,
      errand,
      request,
      sentAtMs: kernel.nowMs,
      isGivenUp: false,
    };
    const isUnderWay = network.send(addressOf(this.who.slot), STORE_ADDRESS, message);
    const dueAt = now.mono + timeoutMs;
    const timer = kernel.schedule(this.clock.trueTimeOf(dueAt) + AFTER_MS + this.#lateMs(), this, "timeout", errand);
    this.#awaited.push({ message, dueAt, timer });
    // Some losses are noticed at once: a connection is reset.
    if (!isUnderWay && nextChance(this.#rng, 0.3))
      kernel.schedule(kernel.nowMs + this.#lateMs(), this, "reset", errand);
  }

  #timedOut(errand: number): void {
    const awaited = this.#awaited.find(({ message }) => message.errand === errand);
    if (awaited === undefined) return;
    const { kernel } = this.#world;
    if (this.clock.read(kernel.nowMs).mono < awaited.dueAt) {
      awaited.timer = kernel.schedule(this.clock.trueTimeOf(awaited.dueAt) + AFTER_MS, this, "timeout", errand);
      return;
    }
    this.#answered(errand, unknown("no answer in time"));
  }

  /** Each call is answered exactly once: an answer that comes after the first is dropped. */
  #answered(errand: number, answer: Answer): void {
    this.#thread?.hear();
    const awaited = this.#awaited.find(({ message }) => message.errand === errand);
    if (awaited === undefined) return;
    const { kernel, counts, trace } = this.#world;
    this.#awaited.splice(this.#awaited.indexOf(awaited), 1);
    kernel.cancel(awaited.timer);
    if (answer.kind === "unknown") {
      awaited.message.isGivenUp = true;
      if (awaited.message.request.method === "keep" && this.holdsAny()) counts.unknownsWhileHeld++;
    }
    trace.hash.mixText(answer.kind);
    const { method } = awaited.message.request;
    if (trace.isRecorded)
      trace.record(kernel.nowMs, { type: "answered", ...this.#self, errand, method, kind: answer.kind });
    const now = this.clock.read(kernel.nowMs);
    this.#world.observe({ type: "answer", atMs: kernel.nowMs, who: this.who, errand, answer, now });
    this.#step({ type: "answer", errand, answer });
  }

  // ---- its user's desk -----------------------------------------------------------------------------------------------------------------

  isHeld(election: Name, bid: Bid): boolean {
    if (!this.#isAlive) return false;
    if (this.#thread !== undefined) return this.#thread.isHeld(election, bid);
    return isHeld(this.#machine, election, bid, this.clock.read(this.#world.kernel.nowMs));
  }

  remind(afterMs: number, kind: WorkEvent, shift: Shift): void {
    this.#world.kernel.schedule(this.#world.kernel.nowMs + afterMs, this, kind, 0, shift);
  }

  write(election: Name, token: Token): void {
    if (token.domain !== NO_DOMAIN) this.#world.writes.send(election, token, this.label);
  }

  say(input: Extract<Input, { type: "announce" | "memo" }>): void {
    this.#world.counts[input.type === "memo" ? "memosWanted" : "announcements"]++;
    this.#step(input);
  }

  settle(election: Name): void {
    this.#world.observe({ type: "settled", atMs: this.#world.kernel.nowMs, who: this.who, election });
    this.#step({ type: "settle", name: election });
  }

  leads(election: Name): boolean {
    return this.#heldShifts().some((shift) => shift.election === election);
  }

  holdsAny(): boolean {
    return this.#heldShifts().length > 0;
  }

  #heldShifts(): readonly Shift[] {
    return [...this.#work.shifts()].filter(({ election, token }) => this.isHeld(election, token.bid));
  }

  // ---- faults --------------------------------------------------------------------------------------------------------------------------

  pause(): void {
    this.#thread?.pause();
    this.block();
  }

  resume(): number {
    const isThreadFirst = this.#thread !== undefined && nextChance(this.#rng, 0.5);
    if (isThreadFirst) this.#thread?.resume();
    const over = this.unblock();
    if (!isThreadFirst) this.#thread?.resume();
    return over;
  }

  loseThread(): void {
    this.#thread?.lose();
  }

  /** The main loop stands still; a renewal thread does not. */
  block(): void {
    if (this.#backlog.stop()) this.#heldAtPause = this.#heldShifts();
  }

  /** Returns how many terms that were held when the loop stopped are not held any more. */
  unblock(): number {
    if (!this.#backlog.go() || !this.#isAlive) return 0;
    const over = this.#heldAtPause.filter(({ election, token }) => !this.isHeld(election, token.bid)).length;
    for (const happening of this.#backlog.take(this.#rng)) this.#meet(happening);
    return over;
  }

  die(): void {
    const { kernel, counts, store } = this.#world;
    if (this.holdsAny()) counts.crashesWhileHeld++;
    this.#isAlive = false;
    kernel.cancel(this.#wake);
    this.#thread?.end();
    this.#watches.end();
    store.died(this.who);
    this.#world.observe({ type: "died", atMs: kernel.nowMs, who: this.who });
  }

  /** Returns another process that goes on from here. Calls that are under way are answered to the original alone. */
  copy(who: Who, clock: VirtualClock, rng: Rng): LeaseProcess {
    const [spec, settings, machine] = [this.#spec, this.#settings, cloneGraph(this.#machine)];
    const twin = new LeaseProcess(this.#world, { who, spec, settings, clock, rng, machine });
    twin.#goOn(this);
    return twin;
  }

  #goOn(original: LeaseProcess): void {
    const { kernel } = this.#world;
    for (const [name, input] of original.#wants) this.#wants.set(name, input);
    this.#watches.follow(original.#watches);
    for (const { message, dueAt } of original.#awaited) {
      const timer = kernel.schedule(this.clock.trueTimeOf(dueAt) + AFTER_MS, this, "timeout", message.errand);
      this.#awaited.push({ message: { ...message, who: this.who }, dueAt, timer });
    }
    for (const shift of original.#work.shifts()) this.#work.goOn(shift);
    kernel.schedule(kernel.nowMs, this, "wake");
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isPaused(): boolean {
    return this.#backlog.isStanding;
  }
}
