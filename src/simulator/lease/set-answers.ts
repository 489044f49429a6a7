// Answers of the modelled store that do not depend on what it keeps: that it is not ready, and keeps that prove nothing.
import type { Refused } from "../../base/outcome.ts";
import type { KeepWish, Kept, Session } from "../../lease/exchange.ts";

export const NOT_READY: Refused = {
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message: "the modelled store is not ready",
  retryable: true,
};

/** No more than was wished. */
export function asWished(kept: Kept, wish: KeepWish): Kept {
  if (kept.kind !== "kept") return kept;
  const strays = wish.strays === false ? [] : kept.strays;
  return wish.proof === false ? { ...kept, lost: [], strays, proves: false } : { ...kept, strays };
}

/** As if the session and all its holds had been renewed. */
export function pretended(session: Session): Kept {
  return { kind: "kept", session, lost: [], unsure: [], strays: [] };
}
