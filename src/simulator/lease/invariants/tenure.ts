// TENURE. No step leaves a term leading that has been led for `maxTenureMs`, and while a term leads its machine wants to be woken no later than at the end of that time: by its own monotonic clock, from
// the reading with which the term was announced. And a term that ends for that reason (`tenure`) has been led for that long.
// Source: the section on handing over in docs/GUARANTEES.md. Not checked: that another candidate leads afterwards; there may be none. A timer may be late, and a loop blocked.
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";

interface Led {
  readonly bid: Bid;
  /** A time on the monotonic clock. */
  readonly until: number;
}

export class TenureInvariant implements LeaseInvariant {
  readonly name = "tenure";
  readonly hears: Ears = {
    elected: ({ who, election, token, now }) => {
      const maxTenureMs = this.#maxTenureMs(who);
      if (maxTenureMs !== undefined)
        this.#leading.set(who, election, { bid: token.bid, until: now.mono + maxTenureMs });
    },
    ending: (observation) => this.#ending(observation),
    lost: ({ who, election }) => this.#leading.delete(who, election),
    cloned: ({ who, copy }) => {
      for (const { election, value: led } of this.#leading.of(who)) this.#leading.set(copy, election, led);
    },
    stepped: (observation) => this.#stepped(observation),
    died: ({ who }) => this.#leading.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #leading = new ByLife<Led>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #maxTenureMs({ slot }: Who): number | undefined {
    return this.#judgement.promises.candidates[slot]?.maxTenureMs;
  }

  #ending({ who, election, reason, now }: ObservationOf<"ending">): void {
    const led = this.#leading.get(who, election);
    this.#leading.delete(who, election);
    if (reason !== "tenure" || (led !== undefined && now.mono >= led.until)) return;
    this.#judgement.violate(this.name, `${who.label} gave "${election}" up as if its time were over, and it is not`);
  }

  #stepped({ who, now, wakeAt }: ObservationOf<"stepped">): void {
    if (this.#maxTenureMs(who) === undefined) return;
    for (const { election, value } of this.#leading.of(who)) {
      const { until, bid } = value;
      if (now.mono < until && wakeAt <= until) continue;
      this.#judgement.violate(
        this.name,
        `${who.label} leads "${election}" (bid ${bid}) until ${until}, is at ${now.mono}, and sleeps until ${wakeAt}`,
      );
    }
  }
}
