// HANGING. A process whose main loop has not turned for `stallAfterMs` + ttl holds nothing, though its renewal thread may run: its last keep left before
// the first of the two had passed, and no belief outlives the second.
// Source: what docs/GUARANTEES.md says of a leader that hangs. By the mono hand of that process alone, and where it has a renewal thread.
// Not checked: that somebody else leads by then (succession.ts), and that it is not lost before (two-instants.ts).
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, ObservationOf, Who } from "../observation.ts";

export class Hanging implements Invariant {
  readonly name = "hanging";
  readonly hears: readonly Observation["type"][] = ["turned", "elected", "stepped", "died"];
  readonly #judgement: Judgement;
  readonly #turnedAt = new Map<Who, number>();
  readonly #latest = new Map<Who, Map<Name, Bid>>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  observe(observation: Observation): void {
    if (observation.type === "turned") this.#turnedAt.set(observation.who, observation.now.mono);
    if (observation.type === "stepped") this.#stepped(observation);
    if (observation.type === "elected") {
      const terms = this.#latest.get(observation.who) ?? new Map<Name, Bid>();
      this.#latest.set(observation.who, terms.set(observation.election, observation.token.bid));
    }
    if (observation.type !== "died") return;
    this.#turnedAt.delete(observation.who);
    this.#latest.delete(observation.who);
  }

  #stepped({ who, now }: ObservationOf<"stepped">): void {
    const { promises, probes } = this.#judgement;
    const turnedAt = this.#turnedAt.get(who);
    const stallAfterMs = promises.candidates[who.slot]?.stallAfterMs;
    if (turnedAt === undefined || stallAfterMs === undefined) return;
    const hungMs = now.mono - turnedAt;
    if (hungMs < stallAfterMs + promises.ttlMaxMs) return;
    for (const [election, bid] of this.#latest.get(who) ?? [])
      if (probes.isHeld(who, election, bid))
        this.#judgement.violate(
          this.name,
          `${who.label} holds "${election}" though its loop has not turned for ${hungMs.toFixed(0)} ms`,
        );
  }
}
