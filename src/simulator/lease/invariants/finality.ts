// FINALITY. A term that has not been held for an instant is never held again: an answer that arrives after the deadline revives nothing.
// Source: the deadline counts from the send, and a late answer never moves it (law 1); the signal stays aborted (law 5).
// Not checked between two steps of one machine: the next step would show everything that could be seen there.
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";

interface WatchedTerm {
  readonly bid: Bid;
  isOver: boolean;
}

export class Finality implements LeaseInvariant {
  readonly name = "finality";
  // The term is asked before an answer is handed over and after every step, so that a belief that ended in between is noticed.
  readonly hears: Ears = {
    elected: ({ who, election, token }) => this.#terms.set(who, election, { bid: token.bid, isOver: false }),
    answer: ({ who }) => this.#ask(who),
    stepped: ({ who }) => this.#ask(who),
    died: ({ who }) => this.#terms.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #terms = new ByLife<WatchedTerm>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #ask(who: Who): void {
    for (const { election, value: term } of this.#terms.of(who)) {
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
