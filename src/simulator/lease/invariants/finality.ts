// FINALITY. A term that has not been held for an instant is not held ever again: an answer that arrives after the deadline revives nothing.
// Source: laws 1 ("success never re-dates") and 5 (the signal never un-aborts).
// Not checked between two steps of one machine: nothing can be seen there that a step would not show.
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, Who } from "../observation.ts";

interface Term {
  readonly bid: Bid;
  isOver: boolean;
}

export class Finality implements Invariant {
  readonly name = "finality";
  readonly hears: readonly Observation["type"][] = ["elected", "stepped", "answer", "died"];
  readonly #judgement: Judgement;
  readonly #terms = new Map<Who, Map<Name, Term>>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  observe(observation: Observation): void {
    if (observation.type === "died") this.#terms.delete(observation.who);
    if (observation.type === "elected") {
      const terms = this.#terms.get(observation.who) ?? new Map<Name, Term>();
      this.#terms.set(observation.who, terms);
      terms.set(observation.election, { bid: observation.token.bid, isOver: false });
    }
    // Asked before an answer is handed over and after every step, so that a belief that ended in between is noticed.
    if (observation.type === "answer" || observation.type === "stepped") this.#ask(observation.who);
  }

  #ask(who: Who): void {
    const terms = this.#terms.get(who);
    if (terms === undefined) return;
    for (const [election, term] of terms) {
      const isHeld = this.#judgement.probes.isHeld(who, election, term.bid);
      if (isHeld && term.isOver)
        this.#judgement.violate(
          this.name,
          `${who.label} holds "${election}" (bid ${term.bid}) again after it was over`,
        );
      if (!isHeld) term.isOver = true;
    }
  }
}
