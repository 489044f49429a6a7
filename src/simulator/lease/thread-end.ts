// The main loop's end of its renewal thread: the part that runner.ts and thread-link.ts do in a real process. It hands keeps to the thread, passes the thread's words to the machine before the machine is
// told or asked anything else, and shows that the loop turns.
import type { Reading } from "../../base/clock.ts";
import { unknown } from "../../base/outcome.ts";
import { chargeOf, keptSession, orderOf } from "../../lease/deputy.ts";
import type { Bid, Kept, Name } from "../../lease/exchange.ts";
import type { Answer, Effect, Input, Machine, Request } from "../../lease/state.ts";
import type { AnswerMessage, HintMessage } from "./messages.ts";
import { DeputyHost, type DeputyWorld, type ThreadParts } from "./deputy-host.ts";

export interface Loop {
  readonly machine: Machine;
  stepAt(input: Input, now: Reading): void;
  /** Acts as soon as the loop can: a blocked loop cannot. */
  soon(act: () => void, afterMs: number): void;
}

export class ThreadEnd {
  readonly #world: DeputyWorld;
  readonly #parts: Omit<ThreadParts, "news">;
  readonly #loop: Loop;
  readonly #host: DeputyHost;
  readonly #ordered = new Set<number>();
  /** The number of the session that the thread keeps. */
  #keeps = 0;
  #isHearing = false;
  #isLost = false;

  constructor(world: DeputyWorld, parts: Omit<ThreadParts, "news">, loop: Loop) {
    this.#world = world;
    this.#parts = parts;
    this.#loop = loop;
    this.#host = new DeputyHost(world, { news: () => loop.soon(() => this.hear(), 0), ...parts });
    this.#turn();
  }

  #turn(): void {
    const { who, clock, settings } = this.#parts;
    const { nowMs } = this.#world.kernel;
    this.#host.turn();
    this.#world.observe({ type: "turned", atMs: nowMs, who, now: clock.read(nowMs) });
    this.#loop.soon(() => this.#turn(), settings.stallAfterMs / 20);
  }

  /** The words are heard in order, each at the reading of its receipt. A word stays in the list until its step is done, so that a question in the meantime is answered with it. */
  hear(): void {
    if (this.#isHearing) return;
    this.#isHearing = true;
    const { words } = this.#host;
    for (let said = words[0]; said !== undefined; said = words[0]) {
      const { input, at, errand } = said;
      if (input.type === "answer") this.#answered(errand, input.answer, at);
      if (input.type === "repeated") this.#answered(errand, input.kept, at);
      this.#loop.stepAt(input, at);
      words.shift();
      this.#host.changed();
    }
    this.#isHearing = false;
  }

  #answered(errand: number, answer: Answer, now: Reading): void {
    this.#ordered.delete(errand);
    this.#world.observe({
      type: "answer",
      atMs: this.#world.kernel.nowMs,
      who: this.#parts.who,
      errand,
      answer,
      now,
    });
  }

  /** Tells whether the thread carries this call out. */
  takes(errand: number, request: Request): boolean {
    const order = this.#isLost ? undefined : orderOf(this.#loop.machine, errand, request);
    if (order === undefined) return false;
    this.#ordered.add(errand);
    this.#host.order(order);
    return true;
  }

  carry({ opened, keep, hold }: Extract<Effect, { type: "carry" }>): void {
    this.#host.carry(opened, keep, hold);
  }

  /** Called after each step: another session may have to be kept than before, or none. */
  stepped(): void {
    const { machine } = this.#loop;
    this.#host.changed();
    if (keptSession(machine) === this.#keeps) return;
    this.#keeps = keptSession(machine);
    const charge = this.#keeps === 0 ? undefined : chargeOf(machine);
    if (charge === undefined) this.#host.rest();
    else this.#host.charge(charge);
  }

  isHeld(election: Name, bid: Bid): boolean {
    return this.#host.isHeld(this.#loop.machine, election, bid);
  }

  /** Tells whether this message was for the thread. */
  receives(message: AnswerMessage | HintMessage): boolean {
    if (message.kind !== "answer" || message.who !== this.#parts.who) return false;
    return this.#host.hear(message.errand, message.answer as Kept);
  }

  pause(): void {
    this.#host.pause();
  }

  resume(): void {
    this.#host.resume();
  }

  end(): void {
    this.#host.end();
  }

  /** The thread ends by itself; the loop hears of it when it can. */
  lose(): void {
    this.#host.end();
    this.#loop.soon(() => this.#ended(), 0);
  }

  /** Calls that the thread has not answered are answered by nobody; from now on the loop renews. */
  #ended(): void {
    this.hear();
    this.#isLost = true;
    const answer = unknown("the renewal thread is lost");
    for (const errand of this.#ordered) {
      const now = this.#parts.clock.read(this.#world.kernel.nowMs);
      this.#answered(errand, answer, now);
      this.#loop.stepAt({ type: "answer", errand, answer }, now);
    }
  }
}
