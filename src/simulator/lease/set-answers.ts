// Answers of the modelled store that do not depend on its data: that it is not ready, keeps that prove nothing, and its statements about itself.
import type { Refused } from "../../base/outcome.ts";
import type { KeepWish, Kept, Session, SessionSpec } from "../../lease/exchange.ts";
import type { StoreSpec } from "./spec.ts";

export const NOT_READY: Refused = {
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message: "the modelled store is not ready",
  retryable: true,
};

/** Returns no more than was wished for. */
export function asWished(kept: Kept, wish: KeepWish): Kept {
  if (kept.kind !== "kept") return kept;
  const { kind, session, unsure, asked, witness, met, road } = kept;
  const strays = wish.strays === false ? [] : kept.strays;
  if (wish.proof !== false) return { ...kept, strays };
  return { kind, session, lost: [], unsure, strays, asked, proves: false, witness, met, road };
}

/** The answer to an opening tells how early this store may judge, if the store has not declared that before. */
export function withMet(kept: Kept, session: Session | SessionSpec, store: StoreSpec): Kept {
  if (store.declaresWhenMet !== true || kept.kind !== "kept" || "id" in session) return kept;
  return { ...kept, met: { server: "simulated", extraMarginMs: store.extraMarginMs } };
}

/** Returns the answer as if the session and all its holds had been renewed. */
export function pretended(session: Session): Kept {
  return { kind: "kept", session, lost: [], unsure: [], strays: [] };
}
