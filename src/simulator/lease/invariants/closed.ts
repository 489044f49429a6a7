// CLOSED. Once a candidate has closed, it asks the store for nothing and holds nothing. It may still give back: a session that lapsed before is ended there
// until the store has answered.
// Source: law 16, and what `close` promises. Not checked: how long closing takes; it waits for the work of the last term.
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, Who } from "../observation.ts";

export class Closed implements Invariant {
  readonly name = "closed";
  readonly hears: readonly Observation["type"][] = ["elected", "closed", "sent", "died"];
  readonly #judgement: Judgement;
  readonly #latest = new Map<Who, Map<Name, Bid>>();
  readonly #closed = new Set<Who>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  observe(observation: Observation): void {
    if (observation.type === "died") this.#latest.delete(observation.who);
    if (observation.type === "closed") this.#close(observation.who);
    const isAsking = observation.type === "sent" && observation.request.method !== "release";
    if (isAsking && this.#closed.has(observation.who))
      this.#judgement.violate(
        this.name,
        `${observation.who.label} sends ${observation.request.method} after it has closed`,
      );
    if (observation.type !== "elected") return;
    const { who, election, token } = observation;
    const terms = this.#latest.get(who) ?? new Map<Name, Bid>();
    this.#latest.set(who, terms.set(election, token.bid));
    if (this.#closed.has(who))
      this.#judgement.violate(this.name, `${who.label} leads "${election}" after it has closed`);
  }

  #close(who: Who): void {
    this.#closed.add(who);
    for (const [election, bid] of this.#latest.get(who) ?? [])
      if (this.#judgement.probes.isHeld(who, election, bid))
        this.#judgement.violate(this.name, `${who.label} has closed and holds "${election}" (bid ${bid})`);
  }
}
