// ONE AT A TIME. Within one process a name is not led again before the work of its last term has settled.
// Source: work that overstays is not elected again (law 8), a name has one leader at a time in a process (law 11). Not checked: two candidates of one name in one
// process; the host queues them before the machine is asked.
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";

export class OneAtATime implements LeaseInvariant {
  readonly name = "one-at-a-time";
  readonly hears: Ears = {
    elected: (observation) => this.#elected(observation),
    settled: ({ who, election }) => this.#working.delete(who, election),
    died: ({ who }) => this.#working.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #working = new ByLife<true>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #elected({ who, election }: ObservationOf<"elected">): void {
    if (this.#working.get(who, election) === true)
      this.#judgement.violate(
        this.name,
        `${who.label} leads "${election}" again while work of its last term still runs`,
      );
    this.#working.set(who, election, true);
  }
}
