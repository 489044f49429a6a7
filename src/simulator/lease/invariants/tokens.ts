// TOKENS GROW. Of two grants of one election the later has the greater token, in the order in which the store made them; and so in the
// order in which terms are announced, wherever exclusion is promised. One process never announces a token that is not greater than one
// of the same domain that it announced before while it stood, not even when the store has forgotten (it hands such a grant back).
// Source: law 10. Not checked: grants with a forgetting between them, whose counter was itself set back.
import type { Name, Token } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, ObservationOf, Who } from "../observation.ts";
import { NO_DOMAIN } from "../guarantees.ts";
import { Excuses } from "./excuses.ts";

export class Tokens implements Invariant {
  readonly name = "tokens";
  readonly hears: readonly Observation["type"][] = [...Excuses.hears, "elected", "withdrew"];
  readonly #judgement: Judgement;
  readonly #excuses: Excuses;
  readonly #granted = new Map<Name, Token>();
  readonly #announced = new Map<Name, Token>();
  readonly #own = new Map<Who, Map<Name, Token>>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
    this.#excuses = new Excuses(judgement.promises);
  }

  observe(observation: Observation): void {
    if (observation.type === "elected") return this.#elected(observation);
    if (observation.type === "withdrew") this.#own.get(observation.who)?.delete(observation.election);
    this.#excuses.observe(observation);
    if (observation.type === "granted") this.#grew(this.#granted, observation.election, observation.token, "granted");
  }

  #elected({ who, election, token, atMs }: ObservationOf<"elected">): void {
    if (token.domain === NO_DOMAIN) return;
    const own = this.#own.get(who) ?? new Map<Name, Token>();
    this.#own.set(who, own);
    const before = own.get(election);
    if (before?.domain === token.domain && token.value <= before.value)
      this.#judgement.violate(
        this.name,
        `${who.label} announced token ${token.value} of "${election}" after its own ${before.value}`,
      );
    own.set(election, token);
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
