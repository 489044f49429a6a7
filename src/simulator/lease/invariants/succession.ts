// SUCCESSION. Once faults have stopped, some candidate leads each election within a bound; and when all candidates but one withdraw, that one leads each within the same bound. The world states the bound
// (world.ts, `successionMs`).
// Source: a loss is not the end, so a candidate campaigns again (law 9). Not checked: how long it takes while faults last, and which of several candidates wins.
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";

export class Succession implements LeaseInvariant {
  readonly name = "succession";
  readonly hears: Ears = {
    elected: (observation) => this.#elected(observation),
    awaited: (observation) => this.#await(observation),
    overdue: () => this.#overdue(),
    died: ({ who }) => this.#latest.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #latest = new ByLife<Bid>();
  #awaited: ObservationOf<"awaited"> | undefined;
  readonly #missing = new Set<Name>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  /** Every candidate that was waited for has led. */
  get isComplete(): boolean {
    return this.#missing.size === 0;
  }

  #overdue(): void {
    if (this.#awaited === undefined || this.#missing.size === 0) return;
    const { slot, boundMs } = this.#awaited;
    const whom = slot === undefined ? "nobody" : `candidate ${slot}, who stands alone,`;
    const names = [...this.#missing].map((name) => `"${name}"`).join(", ");
    const leads = slot === undefined ? "leads" : "does not lead";
    this.#judgement.violate(this.name, `${whom} ${leads} ${names} within ${boundMs.toFixed(0)} ms of calm`);
  }

  #elected({ who, election, token }: ObservationOf<"elected">): void {
    this.#latest.set(who, election, token.bid);
    if (this.#awaited !== undefined && this.#awaited.slot === (this.#awaited.slot === undefined ? undefined : who.slot))
      this.#missing.delete(election);
  }

  #await(awaited: ObservationOf<"awaited">): void {
    this.#awaited = awaited;
    this.#missing.clear();
    for (const election of awaited.elections) this.#missing.add(election);
    for (const { who, elections } of this.#latest.all()) {
      if (awaited.slot !== undefined && awaited.slot !== who.slot) continue;
      for (const { election, value: bid } of elections)
        if (this.#judgement.probes.isHeld(who, election, bid)) this.#missing.delete(election);
    }
  }
}
