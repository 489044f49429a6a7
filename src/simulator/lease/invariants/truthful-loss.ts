// TRUTHFUL LOSS. A term that ends because the store said so (`superseded`, `session-lost`) has really ended there: its entry is gone. An
// outage is not a conflict, and an answer meant for an earlier session ends nothing of the present one.
// Source: laws 5 and 6. Not checked after a failover that forgot, nor after a deletion in a line: what was gone may stand again there, by the old
// state, or by a claim that is applied a second time.
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Invariant, Judgement, Meddling, Observation, ObservationOf, Who } from "../observation.ts";
import type { Proofs } from "./proofs.ts";

export class TruthfulLoss implements Invariant {
  readonly name = "truthful-loss";
  readonly hears: readonly Observation["type"][] = ["elected", "lost", "meddled", "died"];
  readonly #judgement: Judgement;
  readonly #proofs: Proofs;
  readonly #terms = new Map<Who, Map<Name, Bid>>();
  #mayStandAgain = false;

  constructor(judgement: Judgement, proofs: Proofs) {
    this.#judgement = judgement;
    this.#proofs = proofs;
  }

  observe(observation: Observation): void {
    if (observation.type === "died") this.#terms.delete(observation.who);
    if (observation.type === "meddled") this.#mayStandAgain ||= this.#revives(observation.act);
    if (observation.type === "elected") {
      const terms = this.#terms.get(observation.who) ?? new Map<Name, Bid>();
      this.#terms.set(observation.who, terms.set(observation.election, observation.token.bid));
    }
    if (observation.type === "lost") this.#lost(observation);
  }

  #revives(act: Meddling): boolean {
    return act === "forgot" || (act === "record" && this.#judgement.promises.shape === "line");
  }

  #lost({ who, election, reason }: ObservationOf<"lost">): void {
    const bid = this.#terms.get(who)?.get(election);
    if (bid === undefined || this.#mayStandAgain || (reason !== "superseded" && reason !== "session-lost")) return;
    const session = this.#proofs.sessionOf(who, bid);
    if (session !== undefined && this.#judgement.probes.stands(election, bid, session))
      this.#judgement.violate(
        this.name,
        `${who.label} gave "${election}" up as ${reason}, but its entry (bid ${bid}) stands at the store`,
      );
  }
}
