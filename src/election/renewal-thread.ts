// The renewal thread: a worker that opens the candidate's store once more, from its URL, and carries out its keeps there. The deputy (lease/deputy.ts) decides what to send and
// when. This file gives the deputy readings and carries out what it asks for, as runner.ts does for the machine. By itself it claims nothing, looks at nothing and releases nothing.
// Where a session belongs to one connection, it also carries out what the main loop asks of the store (store-desk.ts). If it cannot go on it throws: the main loop hears
// of its end and renews by itself.
import { type MessagePort, workerData } from "node:worker_threads";
import type { Clock, Timer } from "../base/clock.ts";
import {
  carry,
  createDeputy,
  type Deputy,
  type DeputyEffect,
  deputize,
  heed,
  landed,
  nextDuty,
  rest,
  takeCharge,
  takeOrder,
  type Word,
} from "../lease/deputy.ts";
import type { Kept } from "../lease/exchange.ts";
import type { Store } from "../stores/contract.ts";
import { openStore } from "../drivers/open-store.ts";
import { nodeClock } from "./clock.ts";
import { exchange } from "./ask.ts";
import { freshBeat } from "./fresh-beat.ts";
import { plain, serveAt } from "./store-desk.ts";
import { SharedMemory, type ThreadData, type ToThread } from "./thread-messages.ts";

class RenewalThread {
  readonly #store: Store;
  readonly #port: MessagePort;
  readonly #desk: MessagePort | undefined;
  readonly #memory: SharedMemory;
  readonly #clock: Clock = nodeClock();
  readonly #deputy: Deputy;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(store: Store, { settings, seed, memory, port, desk }: ThreadData) {
    this.#store = store;
    this.#port = port;
    this.#desk = desk;
    this.#memory = new SharedMemory(memory);
    this.#deputy = createDeputy(settings, seed);
  }

  hear(said: ToThread): void {
    if (said.word === "end") return this.#end();
    const effects: DeputyEffect[] = [];
    if (said.word === "charge") takeCharge(this.#deputy, said.charge);
    else if (said.word === "carry") carry(this.#deputy, said.opened, said.keep, said.hold);
    else if (said.word === "order")
      takeOrder(this.#deputy, said.order, this.#memory.turnedAt(), this.#clock.now(), effects);
    else if (said.word === "beat") heed(this.#deputy, said.opened, said.beat);
    else rest(this.#deputy);
    this.#carryOut(effects);
  }

  #carryOut(effects: readonly DeputyEffect[]): void {
    for (const effect of effects) {
      if (effect.type === "call") this.#call(effect);
      else this.#tell(effect.word);
    }
    this.#arrange();
  }

  #call({ flight, timeoutMs, request }: Extract<DeputyEffect, { type: "call" }>): void {
    const sentAt = this.#deputy.flights.get(flight)?.sentAt ?? this.#clock.now();
    exchange(this.#store, this.#clock, request, timeoutMs, sentAt, (answer) => {
      if (this.#isOver) return;
      const effects: DeputyEffect[] = [];
      landed(this.#deputy, flight, answer as Kept, this.#clock.now(), effects);
      this.#carryOut(effects);
    });
  }

  #tell(word: Word): void {
    this.#port.postMessage(portable(word));
    this.#memory.countWord();
  }

  #arrange(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const now = this.#clock.now();
    const dueAt = nextDuty(this.#deputy, now);
    if (dueAt === Infinity || this.#isOver) return;
    this.#timer = this.#clock.timer(dueAt - now.mono, () => {
      const effects: DeputyEffect[] = [];
      const beat = this.#store.guarantee.refusesClones === true ? freshBeat(this.#clock) : undefined;
      deputize(this.#deputy, this.#memory.turnedAt(), this.#clock.now(), beat, effects);
      this.#carryOut(effects);
    });
  }

  #end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    // The thread ends by itself when both ports and the store are closed. A port that is left open would keep it until it is terminated.
    this.#port.close();
    this.#desk?.close();
    this.#store.close().catch(() => {});
  }
}

function portable(word: Word): Word {
  const { input } = word;
  if (input.type === "answer") return { ...word, input: { ...input, answer: plain(input.answer) } };
  if (input.type === "repeated") return { ...word, input: { ...input, kept: plain(input.kept) } };
  return word;
}

/** Messages that arrive before the store is open wait in the port. */
async function main(data: ThreadData): Promise<void> {
  const store = await openStore(data.url);
  if (data.desk !== undefined) serveAt(data.desk, store);
  const thread = new RenewalThread(store, data);
  data.port.on("message", (said: ToThread) => thread.hear(said));
  new SharedMemory(data.memory).listen();
}

main(workerData as ThreadData).catch((error: unknown) => {
  setImmediate(() => {
    throw error;
  });
});
