// TOKENS GROW. Of two grants of one election the later has the greater token, in the order in which the store made them; and so in the
// order in which terms are announced, wherever exclusion is promised. One process never announces a token that is not greater than one
// of the same domain that it announced before while it stood, not even when the store has forgotten (it hands such a grant back).
// Source: tokens grow (law 10). Not checked: grants between which the store has forgotten, so that its counter was itself set back.
import type { Name, Token } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { NO_DOMAIN } from "../guarantees.ts";
import { ByLife } from "./by-life.ts";
import { Excuses } from "./excuses.ts";

export class Tokens implements LeaseInvariant {
  readonly name = "tokens";
  readonly hears: Ears;
  readonly #judgement: Judgement;
  readonly #excuses: Excuses;
  readonly #grants = new Map<Name, Token>();
  readonly #announced = new Map<Name, Token>();
  readonly #own = new ByLife<Token>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
    this.#excuses = new Excuses(judgement.promises);
    this.hears = {
      ...this.#excuses.hears,
      granted: (observation) => this.#granted(observation),
      elected: (observation) => this.#elected(observation),
      withdrew: ({ who, election }) => this.#own.delete(who, election),
      died: ({ who }) => this.#own.forget(who),
    };
  }

  #granted(observation: ObservationOf<"granted">): void {
    this.#excuses.granted(observation);
    this.#grew(this.#grants, observation.election, observation.token, "granted");
  }

  #elected({ who, election, token, atMs }: ObservationOf<"elected">): void {
    if (token.domain === NO_DOMAIN) return;
    const before = this.#own.get(who, election);
    if (before?.domain === token.domain && token.value <= before.value)
      this.#judgement.violate(
        this.name,
        `${who.label} announced token ${token.value} of "${election}" after its own ${before.value}`,
      );
    this.#own.set(who, election, token);
    const isVoid = this.#excuses.isFrozen(who) || this.#excuses.covers(token.bid, election, atMs);
    if (!isVoid) this.#grew(this.#announced, election, token, "announced");
  }

  #grew(book: Map<Name, Token>, election: Name, token: Token, verb: string): void {
    const last = book.get(election);
    const isComparable = last !== undefined && this.#excuses.epochOf(last) === this.#excuses.epochOf(token);
    if (isComparable && token.value <= last.value)
      this.#judgement.violate(
        this.name,
        `token ${token.value} of "${election}" (bid ${token.bid}) was ${verb} after ${last.value} (bid ${last.bid})`,
      );
    book.set(election, token);
  }
}
