// The few moves of which tests of stores are made: open a session, claim what stands, hold it.
import { expect } from "vitest";
import type { Bid, Call, Claimed, Hold, Session, Store } from "conclave/stores/contract";

let count = 0;

export function call(signal: AbortSignal = new AbortController().signal): Call {
  return { signal, sentAtMs: 0 };
}

export async function open(store: Store, ttlMs = 30_000): Promise<Session> {
  const kept = await store.keep({ nonce: `s.${++count}`, candidate: `candidate-${count}`, ttlMs }, [], call());
  if (kept.kind !== "kept") throw new Error(`no session: ${kept.kind}`);
  return kept.session;
}

/** Over what stands now. */
export async function claim(
  store: Store,
  session: Session,
  name: string,
  bid: Bid = `b${++count}.1` as Bid,
  signal?: AbortSignal,
): Promise<Claimed> {
  const looked = await store.look([{ name }], call());
  const over = looked.kind === "seen" ? looked.seats[0]?.version : undefined;
  const [claimed] = await store.claim([{ session, name, bid, over, value: "" }], call(signal));
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
}

export async function hold(store: Store, session: Session, name: string): Promise<Hold> {
  const claimed = await claim(store, session, name);
  expect(claimed.kind).toBe("granted");
  if (claimed.kind !== "granted") throw new Error(claimed.kind);
  return claimed.hold;
}
