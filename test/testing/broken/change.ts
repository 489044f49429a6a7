// Stores that are wrong on purpose, each in one way: `memory:` with one method that does not do what the contract asks. What the files beside this one build them with.
import type { Claimed, Guarantee, Hold, Kept, Looked, Seat, Store } from "conclave/stores/contract";

type Changes = { [M in "keep" | "claim" | "release" | "look" | "watch"]?: Store[M] } & { guarantee?: Guarantee };

/** `store`, with some methods changed. */
export function change(store: Store, changes: Changes): Store {
  return {
    guarantee: changes.guarantee ?? store.guarantee,
    keep: changes.keep ?? ((...args) => store.keep(...args)),
    claim: changes.claim ?? ((...args) => store.claim(...args)),
    release: changes.release ?? ((...args) => store.release(...args)),
    look: changes.look ?? ((...args) => store.look(...args)),
    watch: changes.watch ?? ((...args) => store.watch(...args)),
    close: () => store.close(),
  };
}

/** `store` without tokens, and saying so. */
export function unfenced(store: Store): Store {
  const guarantee = {
    ...store.guarantee,
    fencing: "unfenced" as const,
    memos: undefined,
    bans: undefined,
    invites: undefined,
  };
  const hide = (seat: Seat): Seat => ({ ...seat, holder: seat.holder && { ...seat.holder, token: undefined } });
  const strip = (claimed: Claimed): Claimed =>
    claimed.kind === "beaten" ? { ...claimed, seat: hide(claimed.seat) } : withToken(claimed, () => undefined);
  return change(store, {
    guarantee,
    claim: async (claims, call) => (await store.claim(claims, call)).map(strip),
    look: async (questions, call) => mapSeats(await store.look(questions, call), hide),
  });
}

export function withToken(claimed: Claimed, token: (hold: Hold) => Hold["token"]): Claimed {
  if (claimed.kind !== "granted" && claimed.kind !== "waiting") return claimed;
  return { ...claimed, hold: { ...claimed.hold, token: token(claimed.hold) } };
}

export function mapSeats(looked: Looked, map: (seat: Seat) => Seat): Looked {
  return looked.kind === "seen" ? { ...looked, seats: looked.seats.map(map) } : looked;
}

export function mapKept(kept: Kept, map: (kept: Extract<Kept, { kind: "kept" }>) => Kept): Kept {
  return kept.kind === "kept" ? map(kept) : kept;
}

export async function seatAt(
  store: Store,
  name: string,
  call: Parameters<Store["look"]>[1],
): Promise<Seat | undefined> {
  const looked = await store.look([{ name }], call);
  return looked.kind === "seen" ? looked.seats[0] : undefined;
}
