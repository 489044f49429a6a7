// Answers of the modelled store that its own weaknesses do not change: that it is not ready, keeps that prove nothing, what it says of itself, and memos.
import type { Refused } from "../../base/outcome.ts";
import type { KeepWish, Kept, Session, SessionSpec } from "../../lease/exchange.ts";
import type { Answer, Request } from "../../lease/state.ts";
import type { Shelf } from "../models/shelf.ts";
import type { StoreSpec } from "./spec.ts";

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

/** The answer to an opening tells how early this store may judge, where it has not declared that before. */
export function withMet(kept: Kept, session: Session | SessionSpec, store: StoreSpec): Kept {
  if (store.declaresWhenMet !== true || kept.kind !== "kept" || "id" in session) return kept;
  return { ...kept, met: { server: "simulated", extraMarginMs: store.extraMarginMs } };
}

/** As if the session and all its holds had been renewed. */
export function pretended(session: Session): Kept {
  return { kind: "kept", session, lost: [], unsure: [], strays: [] };
}

/** A write is one step at the store, and a read shows what stands: never an old copy. */
export function memoAnswer(
  shelf: Shelf,
  request: Extract<Request, { method: "writeMemo" | "readMemos" }>,
  nowMs: number,
): Answer {
  if (request.method === "writeMemo") return shelf.writeMemo(request.write, nowMs);
  return { kind: "memos", memos: shelf.readMemos(request.name, request.key) };
}
