// The term that a member announces never falls while it lives. Where the term is durable, `durable-term` judges it across lives.
import { perMember } from "./memory.ts";
import type { Invariant } from "./invariant.ts";

interface Memory {
  readonly terms: number[];
  readonly lives: number[];
}

export const monotoneTerm: Invariant<Memory> = {
  name: "monotone-term",
  remember: (nodes) => ({
    terms: perMember(nodes, () => 0),
    lives: perMember(nodes, () => 0),
  }),
  announced({ terms, lives }, _view, { id, term, life }) {
    const before = lives[id] === life ? (terms[id] ?? 0) : 0;
    terms[id] = term;
    lives[id] = life;
    return term < before ? `${id} was in term ${before} and is now in ${term}` : undefined;
  },
};
