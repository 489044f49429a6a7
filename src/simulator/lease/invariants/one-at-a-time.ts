// ONE AT A TIME. Within one process a name is not led again before the work of its last term has settled.
// Source: laws 8 and 11. Not checked: two candidates of one name in one process; the host queues them before the machine is asked.
import type { Name } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, Who } from "../observation.ts";

export class OneAtATime implements Invariant {
  readonly name = "one-at-a-time";
  readonly hears: readonly Observation["type"][] = ["elected", "settled", "died"];
  readonly #judgement: Judgement;
  readonly #working = new Map<Who, Set<Name>>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  observe(observation: Observation): void {
    if (observation.type === "died") this.#working.delete(observation.who);
    if (observation.type === "settled") this.#working.get(observation.who)?.delete(observation.election);
    if (observation.type !== "elected") return;
    const working = this.#working.get(observation.who) ?? new Set<Name>();
    this.#working.set(observation.who, working);
    if (working.has(observation.election))
      this.#judgement.violate(
        this.name,
        `${observation.who.label} leads "${observation.election}" again while work of its last term still runs`,
      );
    working.add(observation.election);
  }
}
