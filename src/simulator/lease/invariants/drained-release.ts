// DRAINED RELEASE. The store is told that a term is given up only after its work has ended, and from that send on the term is not held. Ending a
// session gives up every term of it.
// Source: law 8. Not checked: work that outlives a crash of its process; its writes are the resource's matter (fencing.ts).
import type { Bid, Name, Will } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Observation, Who } from "../observation.ts";
import type { Proofs } from "./proofs.ts";

export class DrainedRelease implements Invariant {
  readonly name = "drained-release";
  readonly hears: readonly Observation["type"][] = ["elected", "settled", "sent", "died"];
  readonly #judgement: Judgement;
  readonly #proofs: Proofs;
  readonly #working = new Map<Who, Map<Name, Bid>>();

  constructor(judgement: Judgement, proofs: Proofs) {
    this.#judgement = judgement;
    this.#proofs = proofs;
  }

  observe(observation: Observation): void {
    if (observation.type === "died") this.#working.delete(observation.who);
    if (observation.type === "settled") this.#working.get(observation.who)?.delete(observation.election);
    if (observation.type === "elected") {
      const working = this.#working.get(observation.who) ?? new Map<Name, Bid>();
      this.#working.set(observation.who, working.set(observation.election, observation.token.bid));
    }
    if (observation.type === "sent" && observation.request.method === "release")
      this.#released(observation.who, observation.request.will);
  }

  #released(who: Who, will: Will): void {
    for (const [election, bid] of this.#working.get(who) ?? []) {
      const isGivenUp =
        will.holds.some((hold) => hold.bid === bid) ||
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
