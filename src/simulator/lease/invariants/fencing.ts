// FENCING. A resource never accepts a token after a newer one of the same domain, nor the same value of another bid. In every world: with
// stopped clocks, forgetful stores and meddling operators too; this is what remains when exclusion is not promised.
// Source: laws 10 and 12. Not checked: whether a token of another domain is refused; the simulator has one domain.
import type { Name, Token } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation } from "../observation.ts";

export class Fencing implements Invariant {
  readonly name = "fencing";
  readonly hears: readonly Observation["type"][] = ["accepted"];
  readonly #judgement: Judgement;
  readonly #newest = new Map<Name, Token>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  observe(observation: Observation): void {
    if (observation.type !== "accepted") return;
    const { resource, token } = observation;
    const newest = this.#newest.get(resource);
    if (
      newest !== undefined &&
      (token.value < newest.value || (token.value === newest.value && token.bid !== newest.bid))
    ) {
      const story = `"${resource}" accepted token ${token.value} of ${token.bid} after token ${newest.value} of ${newest.bid}`;
      this.#judgement.violate(this.name, story);
    }
    this.#newest.set(resource, token);
  }
}
