// The renewal thread of one life of one process: it plays the worker to the real deputy (lease/deputy.ts). It has the process's clock and its network, but not its main loop: a blocked loop does not stop
// it; a stopped process does. Its messages lie in `words` as in a port, and the main loop reads them before each of its steps, or when its user asks whether a term is held.
import type { Reading } from "../../base/clock.ts";
import { cloneGraph } from "../../base/clone.ts";
import { unknown } from "../../base/outcome.ts";
import {
  carry,
  type Charge,
  createDeputy,
  type Deputy,
  type DeputyEffect,
  deputize,
  landed,
  nextDuty,
  type KeepOrder,
  rest,
  takeCharge,
  takeOrder,
  type Word,
} from "../../lease/deputy.ts";
import type { Bid, Hold, Kept, Name } from "../../lease/exchange.ts";
import { isHeld, step } from "../../lease/machine.ts";
import type { Settings } from "../../lease/settings.ts";
import type { Machine } from "../../lease/state.ts";
import type { VirtualClock } from "../kernel/clock.ts";
import type { Counts } from "./counts.ts";
import type { Actor, Kernel, KernelEvent } from "../kernel/kernel.ts";
import { addressOf, type RequestMessage, STORE_ADDRESS } from "./messages.ts";
import type { Network } from "../kernel/network.ts";
import type { Observation, Who } from "./observation.ts";

export interface DeputyWorld {
  readonly kernel: Kernel;
  readonly network: Network;
  readonly counts: Counts;
  observe(observation: Observation): void;
}

export interface ThreadParts {
  readonly who: Who;
  readonly settings: Settings;
  readonly clock: VirtualClock;
  readonly seed: number;
  /** Returns the beat of a repeat; undefined if the store ignores beats. */
  readonly beat: () => string | undefined;
  /** Returns how late the next timer is. */
  readonly lateMs: () => number;
  /** Called when there is a word. */
  readonly news: () => void;
}

/** Timers fire this much after their instant, so that rounding never makes them early. */
const AFTER_MS = 1e-6;

/** A word, and the errand by which the world knows the request that it answers; 0 if there is none. */
interface Said extends Word {
  readonly errand: number;
}

export class DeputyHost implements Actor {
  readonly words: Said[] = [];
  readonly #world: DeputyWorld;
  readonly #parts: ThreadParts;
  readonly #deputy: Deputy;
  /** Errand of each request under way → its flight. Those of repeats are negative. */
  readonly #flights = new Map<number, number>();
  readonly #backlog: (() => void)[] = [];
  #turnedAt: Reading;
  /** The machine as it will be once it has heard all words. It is a copy, so asking it changes nothing. */
  #foreseen: Machine | undefined;
  #wake: KernelEvent | undefined;
  #paused = 0;
  #isOver = false;

  constructor(world: DeputyWorld, parts: ThreadParts) {
    this.#world = world;
    this.#parts = parts;
    this.#deputy = createDeputy(parts.settings, parts.seed);
    this.#turnedAt = this.#now();
  }

  // ---- words of the main loop

  turn(): void {
    this.#turnedAt = this.#now();
  }

  charge(charge: Charge): void {
    takeCharge(this.#deputy, charge);
    this.#arrange();
  }

  carry(opened: number, keep: number, hold: Hold): void {
    carry(this.#deputy, opened, keep, hold);
  }

  order(order: KeepOrder): void {
    const effects: DeputyEffect[] = [];
    takeOrder(this.#deputy, order, this.#turnedAt, this.#now(), effects);
    this.#carryOut(effects, order.errand, order.errand);
  }

  rest(): void {
    rest(this.#deputy);
  }

  /** The thread ends, and its open requests get no answer. */
  end(): void {
    this.#isOver = true;
    this.#world.kernel.cancel(this.#wake);
  }

  pause(): void {
    this.#paused++;
  }

  resume(): void {
    if (--this.#paused > 0) return;
    for (const happening of this.#backlog.splice(0)) this.#meet(happening);
  }

  /** Returns the answer that a user gets now: that of the machine after it has heard all words that lie here. A copy is asked, so that asking changes nothing. */
  isHeld(machine: Machine, election: Name, bid: Bid): boolean {
    const now = this.#now();
    if (this.words.length === 0) return isHeld(machine, election, bid, now);
    if (this.#foreseen === undefined) {
      this.#foreseen = cloneGraph(machine);
      for (const { input, at } of this.words) step(this.#foreseen, input, at, []);
    }
    return isHeld(this.#foreseen, election, bid, now);
  }

  /** The machine has taken a step, or a word was added or read. */
  changed(): void {
    this.#foreseen = undefined;
  }

  // ---- events

  /** Returns whether the answer was for the thread. */
  hear(errand: number, answer: Kept): boolean {
    const flight = this.#flights.get(errand);
    if (flight === undefined) return false;
    this.#meet(() => this.#landed(errand, flight, answer));
    return true;
  }

  handle(event: KernelEvent): void {
    if (event.kind === "duty") {
      this.#wake = undefined;
      this.#meet(() => this.#act());
    } else
      this.#meet(() =>
        this.#landed(event.subject, this.#flights.get(event.subject) ?? 0, unknown("no answer in time")),
      );
  }

  #meet(happening: () => void): void {
    if (this.#isOver) return;
    if (this.#paused > 0) this.#backlog.push(happening);
    else happening();
  }

  #landed(errand: number, flight: number, kept: Kept): void {
    if (this.#flights.get(errand) !== flight) return;
    this.#flights.delete(errand);
    const effects: DeputyEffect[] = [];
    landed(this.#deputy, flight, kept, this.#now(), effects);
    this.#carryOut(effects, 0, errand);
  }

  #act(): void {
    const effects: DeputyEffect[] = [];
    deputize(this.#deputy, this.#turnedAt, this.#now(), this.#parts.beat(), effects);
    this.#carryOut(effects, 0, 0);
  }

  /** `ordered`: the errand that the main loop gave to the request that is sent. `answered`: the errand that was answered. */
  #carryOut(effects: readonly DeputyEffect[], ordered: number, answered: number): void {
    const { counts } = this.#world;
    for (const effect of effects) {
      if (effect.type === "call") this.#call(effect, ordered);
      else {
        if (effect.word.input.type === "stalled") counts.stalls++;
        this.words.push({ input: effect.word.input, at: effect.word.at, errand: answered });
        this.changed();
        this.#parts.news();
      }
    }
    this.#arrange();
  }

  #call({ flight, timeoutMs, request }: Extract<DeputyEffect, { type: "call" }>, ordered: number): void {
    const { kernel, network, counts } = this.#world;
    const { who, clock } = this.#parts;
    const errand = ordered > 0 ? ordered : -flight;
    const now = this.#now();
    if (ordered === 0) {
      counts.repeats++;
      this.#world.observe({ type: "sent", atMs: kernel.nowMs, who, errand, request, now });
    }
    this.#flights.set(errand, flight);
    const message: RequestMessage = { kind: "request", who, errand, request, sentAtMs: kernel.nowMs, isGivenUp: false };
    network.send(addressOf(who.slot), STORE_ADDRESS, message);
    const dueMs = clock.trueTimeOf(now.mono + timeoutMs);
    kernel.schedule(dueMs + AFTER_MS + this.#parts.lateMs(), this, "timeout", errand);
  }

  #arrange(): void {
    const { kernel } = this.#world;
    kernel.cancel(this.#wake);
    this.#wake = undefined;
    const now = this.#now();
    const dueAt = nextDuty(this.#deputy, now);
    if (dueAt === Infinity || this.#isOver) return;
    const dueMs = dueAt <= now.mono ? kernel.nowMs : this.#parts.clock.trueTimeOf(dueAt) + AFTER_MS;
    this.#wake = kernel.schedule(dueMs + this.#parts.lateMs(), this, "duty");
  }

  #now(): Reading {
    return this.#parts.clock.read(this.#world.kernel.nowMs);
  }
}
