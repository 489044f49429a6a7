// DRAINED RELEASE. The store is told that a term is given up only after its work has ended, and from that send on the term is not held. Ending a
// session gives up every term of it.
// Source: drain, then release (law 8). Not checked: work that outlives a crash of its process; fencing.ts judges its writes.
import type { Bid, Will } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";
import type { Proofs } from "./proofs.ts";

export class DrainedRelease implements LeaseInvariant {
  readonly name = "drained-release";
  readonly hears: Ears = {
    elected: ({ who, election, token }) => this.#working.set(who, election, token.bid),
    settled: ({ who, election }) => this.#working.delete(who, election),
    sent: ({ who, request }) => {
      if (request.method === "release") this.#released(who, request.will);
    },
    died: ({ who }) => this.#working.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #proofs: Proofs;
  readonly #working = new ByLife<Bid>();

  constructor(judgement: Judgement, proofs: Proofs) {
    this.#judgement = judgement;
    this.#proofs = proofs;
  }

  #released(who: Who, will: Will): void {
    for (const { election, value: bid } of this.#working.of(who)) {
      const isGivenUp =
        will.holds.some((hold) => hold.name === election && hold.bid === bid) ||
        (will.endSession && this.#proofs.sessionOf(who, bid) === will.session.id);
      if (isGivenUp)
        this.#judgement.violate(
          this.name,
          `${who.label} gave up "${election}" (bid ${bid}) while its work was running`,
        );
    }
    for (const { name, bid } of will.holds)
      if (this.#judgement.probes.isHeld(who, name, bid))
        this.#judgement.violate(
          this.name,
          `${who.label} still holds "${name}" (bid ${bid}) after the send of its release`,
        );
  }
}
