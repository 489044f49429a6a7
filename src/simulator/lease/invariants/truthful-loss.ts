// TRUTHFUL LOSS. A term that ends because the store said so (`superseded`, `session-lost`) has really ended there: its entry is gone. An outage is not a conflict, and an answer meant for an earlier
// session ends nothing of the present one.
// Source: if the store says that the term is over, signal and loss come at once (law 5); a refused renewal is not an outage, and an outage is not a refusal (law 6).
// Not checked after a process was copied, because its entry stands for its twin. Not checked after a failover that forgot, nor after a deletion in a line: there an entry that was gone may be there
// again, by the old state, or by a claim that is applied a second time. Not checked after a ban either: it takes the session of its node from the holder, and leaves the entry until the ttl is over.
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, Meddling, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";
import type { Proofs } from "./proofs.ts";

export class TruthfulLoss implements LeaseInvariant {
  readonly name = "truthful-loss";
  readonly hears: Ears = {
    elected: ({ who, election, token }) => this.#terms.set(who, election, token.bid),
    lost: (observation) => this.#lost(observation),
    meddled: ({ act }) => {
      this.#mayStandAgain ||= this.#revives(act);
    },
    died: ({ who }) => this.#terms.forget(who),
    noted: ({ write }) => {
      this.#mayStandAgain ||= write.ban?.stands === true;
    },
    cloned: () => {
      this.#mayStandAgain = true;
    },
  };
  readonly #judgement: Judgement;
  readonly #proofs: Proofs;
  readonly #terms = new ByLife<Bid>();
  #mayStandAgain = false;

  constructor(judgement: Judgement, proofs: Proofs) {
    this.#judgement = judgement;
    this.#proofs = proofs;
  }

  #revives(act: Meddling): boolean {
    return act === "forgot" || (act === "record" && this.#judgement.promises.shape === "line");
  }

  #lost({ who, election, reason }: ObservationOf<"lost">): void {
    const bid = this.#terms.get(who, election);
    if (bid === undefined || this.#mayStandAgain || (reason !== "superseded" && reason !== "session-lost")) return;
    const session = this.#proofs.sessionOf(who, bid);
    if (session !== undefined && this.#judgement.probes.stands(election, bid, session))
      this.#judgement.violate(
        this.name,
        `${who.label} gave "${election}" up as ${reason}, but its entry (bid ${bid}) stands at the store`,
      );
  }
}
