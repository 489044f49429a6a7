// The seats that one life of a process watches at the store.
import type { Name, Question } from "../../lease/exchange.ts";
import type { Who } from "./observation.ts";
import type { ProcessWorld } from "./process-world.ts";

export class SimulatedWatches {
  readonly #store: ProcessWorld["store"];
  readonly #who: Who;
  readonly #questions = new Map<Name, Question>();

  constructor({ store }: ProcessWorld, who: Who) {
    this.#store = store;
    this.#who = who;
  }

  watch(question: Question): void {
    this.#questions.set(question.name, question);
    this.#store.watch(question, this.#who);
  }

  unwatch(name: Name): void {
    this.#questions.delete(name);
    this.#store.unwatch(name, this.#who);
  }

  /** The life is over. */
  end(): void {
    for (const name of this.#questions.keys()) this.#store.unwatch(name, this.#who);
  }

  /** Also watches everything that `other` watches. */
  follow(other: SimulatedWatches): void {
    for (const question of other.#questions.values()) this.watch(question);
  }
}
