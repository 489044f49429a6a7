// The watchers of each name of the modelled store. A hint goes over the network, which may lose it; half of them show the seat.
import { nextChance, type Rng } from "../../base/rng.ts";
import type { Invitation, Name, Question, Seat } from "../../lease/exchange.ts";
import type { Network } from "../kernel/network.ts";
import { addressOf, type HintMessage, STORE_ADDRESS } from "./messages.ts";
import type { Who } from "./observation.ts";

export class Watchers {
  readonly #world: { readonly network: Network; readonly rng: Rng };
  readonly #wakes: "watch" | "poll";
  readonly #look: (question: Question) => Seat;
  readonly #watchers = new Map<Name, Map<Who, Question>>();

  constructor(
    world: { readonly network: Network; readonly rng: Rng },
    wakes: "watch" | "poll",
    look: (question: Question) => Seat,
  ) {
    this.#world = world;
    this.#wakes = wakes;
    this.#look = look;
  }

  add(question: Question, who: Who): void {
    if (this.#wakes !== "watch") return;
    const watchers = this.#watchers.get(question.name) ?? new Map<Who, Question>();
    this.#watchers.set(question.name, watchers.set(who, question));
  }

  remove(name: Name, who: Who): void {
    this.#watchers.get(name)?.delete(who);
  }

  /** Without `names` anything may have changed. `asked`: the holder was asked to hand over. */
  tell(names: Iterable<Name> = this.#watchers.keys(), asked?: true): void {
    const { network, rng } = this.#world;
    for (const name of names)
      for (const [who, question] of this.#watchers.get(name) ?? []) {
        const seat = nextChance(rng, 0.5) ? this.#look(question) : undefined;
        const message: HintMessage = { kind: "hint", who, hint: { name, seat, asked } };
        network.send(STORE_ADDRESS, addressOf(who.slot), message);
      }
  }
  invite(name: Name, invited: Invitation): void {
    for (const who of this.#watchers.get(name)?.keys() ?? []) {
      const message: HintMessage = { kind: "hint", who, hint: { name, invited } };
      this.#world.network.send(STORE_ADDRESS, addressOf(who.slot), message);
    }
  }
}
