// FENCING. A resource never accepts a token after a newer one of the same domain, nor the same value of another bid. This holds in every world, also with stopped clocks, forgetful stores and meddling
// operators: it still holds when exclusion is not promised.
// A token of another domain is accepted only after an operator has moved the resource there.
// Source: tokens grow (law 10); raise, then read, then write (law 12).
import type { Name, Token } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";

export class FencingInvariant implements LeaseInvariant {
  readonly name = "fencing";
  readonly hears: Ears = {
    accepted: (observation) => this.#accepted(observation),
    adopted: ({ resource, to }) => void this.#adopted.set(resource, to),
  };
  readonly #judgement: Judgement;
  readonly #newest = new Map<Name, Token>();
  /** Resource → the domain that it was last moved to. */
  readonly #adopted = new Map<Name, string>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #accepted({ resource, token }: ObservationOf<"accepted">): void {
    const newest = this.#newest.get(resource);
    if (newest !== undefined && token.domain !== newest.domain) {
      if (this.#adopted.get(resource) !== token.domain)
        this.#judgement.violate(
          this.name,
          `"${resource}" accepted a token of ${token.domain} after one of ${newest.domain}, and nobody had moved it`,
        );
    } else if (
      newest !== undefined &&
      (token.value < newest.value || (token.value === newest.value && token.bid !== newest.bid))
    ) {
      const story = `"${resource}" accepted token ${token.value} of ${token.bid} after token ${newest.value} of ${newest.bid}`;
      this.#judgement.violate(this.name, story);
    }
    this.#newest.set(resource, token);
  }
}
