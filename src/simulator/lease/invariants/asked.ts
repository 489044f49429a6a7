// ASKED. A term that ends on request (`asked`) was really asked: a request with exactly its domain, value and bid had been sent. A request that comes late, or that a store still shows from before, ends
// only the term that it names.
// Source: the section on handing over in docs/GUARANTEES.md. Not checked: that a request is obeyed; a request that names the present term may be lost, or come too late.
import type { Token } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";

export class Asked implements LeaseInvariant {
  readonly name = "asked";
  readonly hears: Ears = {
    elected: ({ who, election, token }) => this.#terms.set(who, election, token),
    asked: ({ election, token }) => void this.#asked.add(keyOf(election, token)),
    ending: (observation) => this.#ending(observation),
    died: ({ who }) => this.#terms.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #terms = new ByLife<Token>();
  readonly #asked = new Set<string>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #ending({ who, election, reason }: ObservationOf<"ending">): void {
    const token = this.#terms.get(who, election);
    if (reason !== "asked" || token === undefined || this.#asked.has(keyOf(election, token))) return;
    this.#judgement.violate(
      this.name,
      `${who.label} gave "${election}" up on request, but nobody had asked for the end of its token ${token.value} (${token.domain}, bid ${token.bid})`,
    );
  }
}

function keyOf(election: string, { domain, value, bid }: Token): string {
  return JSON.stringify([election, domain, `${value}`, bid]);
}
