// CLOSED. Once a candidate has closed, it asks the store for nothing and holds nothing. It may still release: a session that expired before is ended at the store until the store has answered.
// Source: no error is lost, and none crashes the process (law 16), and the promise of `close`. Not checked: how long closing takes; it waits for the work of the last term.
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";

export class Closed implements LeaseInvariant {
  readonly name = "closed";
  readonly hears: Ears = {
    elected: (observation) => this.#elected(observation),
    closed: ({ who }) => this.#close(who),
    sent: (observation) => this.#sent(observation),
    died: ({ who }) => this.#latest.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #latest = new ByLife<Bid>();
  readonly #closed = new Set<Who>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #sent({ who, request }: ObservationOf<"sent">): void {
    if (request.method !== "release" && this.#closed.has(who))
      this.#judgement.violate(this.name, `${who.label} sends ${request.method} after it has closed`);
  }

  #elected({ who, election, token }: ObservationOf<"elected">): void {
    this.#latest.set(who, election, token.bid);
    if (this.#closed.has(who))
      this.#judgement.violate(this.name, `${who.label} leads "${election}" after it has closed`);
  }

  #close(who: Who): void {
    this.#closed.add(who);
    for (const { election, value: bid } of this.#latest.of(who))
      if (this.#judgement.probes.isHeld(who, election, bid))
        this.#judgement.violate(this.name, `${who.label} has closed and holds "${election}" (bid ${bid})`);
  }
}
