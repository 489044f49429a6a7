// Collects hints from the store's watch, for as many names as are watched. Names that come together are watched together. A name that is no longer of
// interest costs nothing except for its place, until its group is empty. A watch that breaks is begun again; meanwhile the machine polls.
import type { Clock, Timer } from "../base/clock.ts";
import type { Hint, Name, Question } from "../lease/exchange.ts";
import type { Store } from "../stores/contract.ts";

const AGAIN_AFTER_MS = 250;

interface Group {
  readonly questions: Map<Name, Question>;
  readonly controller: AbortController;
  again: Timer | undefined;
}

export class Watches {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #hear: (hint: Hint) => void;
  readonly #groups = new Map<Name, Group>();
  #coming = new Map<Name, Question>();

  constructor(store: Store, clock: Clock, hear: (hint: Hint) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#hear = hear;
  }

  add(question: Question): void {
    const { wakes, tellsFew } = this.#store.guarantee;
    if (wakes === "poll" && tellsFew !== true) return;
    const present = this.#groups.get(question.name)?.questions.get(question.name);
    if (present !== undefined && present.bid === question.bid && present.session?.id === question.session?.id) return;
    if (this.#coming.size === 0) queueMicrotask(() => this.#begin());
    this.#coming.set(question.name, question);
  }

  remove(name: Name): void {
    this.#coming.delete(name);
    const group = this.#groups.get(name);
    if (group === undefined) return;
    this.#groups.delete(name);
    group.questions.delete(name);
    if (group.questions.size > 0) return;
    group.again?.cancel();
    group.controller.abort();
  }

  close(): void {
    for (const name of [...this.#coming.keys(), ...this.#groups.keys()]) this.remove(name);
  }

  #begin(): void {
    const questions = this.#coming;
    this.#coming = new Map();
    for (const name of questions.keys()) this.remove(name);
    if (questions.size === 0) return;
    const group: Group = { questions, controller: new AbortController(), again: undefined };
    for (const name of questions.keys()) this.#groups.set(name, group);
    void this.#follow(group);
  }

  /** Never rejects: a broken watch only means that hints are missing for a while. */
  async #follow(group: Group): Promise<void> {
    const { signal } = group.controller;
    try {
      const call = { signal, sentAtMs: this.#clock.now().mono };
      for await (const hint of this.#store.watch([...group.questions.values()], call)) {
        if (signal.aborted) return;
        if (group.questions.has(hint.name)) this.#hear(hint);
      }
    } catch {
      // Hints are not needed for safety, and the machine's own requests report a store that cannot be reached.
    }
    if (signal.aborted) return;
    group.again = this.#clock.timer(AGAIN_AFTER_MS, () => void this.#follow(group));
  }
}
