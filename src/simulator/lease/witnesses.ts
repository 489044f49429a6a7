// Witnesses of keeps that prove nothing, as the modelled store hands them out. Each is the witness of one keep as it was served once. A claim that names the witness of a keep that the judge has heard
// confirms that keep, if the store has not forgotten or been replaced since. It does not always do so: the answer may come from another member, or another raft term.
import { nextChance } from "../../base/rng.ts";
import type { Claim, Claimed, Kept } from "../../lease/exchange.ts";
import type { LeaseSurroundings } from "./surroundings.ts";

const WITHHELD = 0.2;

export class Witnesses {
  readonly #heard = new Set<string>();
  readonly #world: Pick<LeaseSurroundings, "rng" | "counts">;
  #given = 0;

  constructor(world: Pick<LeaseSurroundings, "rng" | "counts">) {
    this.#world = world;
  }

  /** `isHeard`: the judge counts from this keep. */
  attest(kept: Kept, isHeard: boolean): Kept {
    if (kept.kind !== "kept" || kept.proves !== false) return kept;
    this.#world.counts.weakKeeps++;
    const witness = `w${++this.#given}`;
    if (isHeard) this.#heard.add(witness);
    return { ...kept, witness };
  }

  confirm({ witness }: Claim, claimed: Claimed): Claimed {
    if (claimed.kind !== "granted" || witness === undefined) return claimed;
    const { rng, counts } = this.#world;
    const confirms = this.#heard.has(witness) && !nextChance(rng, WITHHELD);
    counts[confirms ? "confirmedKeeps" : "unconfirmedGrants"]++;
    return confirms ? { kind: claimed.kind, hold: claimed.hold, confirms } : claimed;
  }

  forget(): void {
    this.#heard.clear();
  }
}
