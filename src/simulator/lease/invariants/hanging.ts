// HANGING. A process whose main loop has not turned for `stallAfterMs` + ttl holds nothing, though its renewal thread may run: its last keep left before `stallAfterMs` had passed, and no belief outlives
// the ttl.
// Source: the section on a leader that hangs in docs/GUARANTEES.md. It is judged by the monotonic clock of that process alone, and only where it has a renewal thread.
// Not checked: that another process leads by then (succession.ts), and that the term is not lost before (two-instants.ts).
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";

export class Hanging implements LeaseInvariant {
  readonly name = "hanging";
  readonly hears: Ears = {
    turned: ({ who, now }) => void this.#turnedAt.set(who, now.mono),
    elected: ({ who, election, token }) => this.#latest.set(who, election, token.bid),
    stepped: (observation) => this.#stepped(observation),
    died: ({ who }) => {
      this.#turnedAt.delete(who);
      this.#latest.forget(who);
    },
  };
  readonly #judgement: Judgement;
  readonly #turnedAt = new Map<Who, number>();
  readonly #latest = new ByLife<Bid>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #stepped({ who, now }: ObservationOf<"stepped">): void {
    const { promises, probes } = this.#judgement;
    const turnedAt = this.#turnedAt.get(who);
    const stallAfterMs = promises.candidates[who.slot]?.stallAfterMs;
    if (turnedAt === undefined || stallAfterMs === undefined) return;
    const hungMs = now.mono - turnedAt;
    if (hungMs < stallAfterMs + promises.ttlMaxMs) return;
    for (const { election, value: bid } of this.#latest.of(who))
      if (probes.isHeld(who, election, bid))
        this.#judgement.violate(
          this.name,
          `${who.label} holds "${election}" though its loop has not turned for ${hungMs.toFixed(0)} ms`,
        );
  }
}
