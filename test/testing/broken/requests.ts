// Stores that are wrong about requests to hand over.
import type { AskedToLeave, AsksToLeave, Call, Hold, Store, Token, Version } from "conclave/stores/contract";
import { change, mapSeats, mapKept, seatAt } from "./change.ts";

type Asking = Store & AsksToLeave;

/** Requests are kept by `keepRequest`, and shown to the keeps of the present holder of the name. */
function withRequests(
  store: Store,
  keepRequest: (asked: Token, name: string, call: Call) => Promise<AskedToLeave>,
  shown: (asked: Token, hold: Hold) => Token | undefined,
): Store {
  const requests = new Map<string, Token>();
  const changed = change(store, {
    keep: async (session, holds, call) =>
      mapKept(await store.keep(session, holds, call), (kept) => ({
        ...kept,
        asked: holds.flatMap((hold) => {
          const asked = requests.get(hold.name);
          const token = asked && shown(asked, hold);
          return token === undefined ? [] : [{ ...hold, token }];
        }),
      })),
  });
  const askToLeave = async (name: string, token: Token, call: Call): Promise<AskedToLeave> => {
    const answer = await keepRequest(token, name, call);
    if (answer.kind === "asked") requests.set(name, token);
    return answer;
  };
  return Object.assign(changed, { askToLeave });
}

export function requestsUnchecked(store: Store): Store {
  return withRequests(
    store,
    async () => ({ kind: "asked" }),
    (asked) => asked,
  );
}

export function requestsOutliveGrants(store: Store): Store {
  return withRequests(
    store,
    (token, name, call) => (store as Asking).askToLeave(name, token, call),
    (asked) => asked,
  );
}

export function requestsUnseen(store: Store): Store {
  return withRequests(
    store,
    (token, name, call) => (store as Asking).askToLeave(name, token, call),
    () => undefined,
  );
}

/** A request for a name that nobody holds is kept for the next who does. */
export function requestsForNobody(store: Store): Store {
  return withRequests(
    store,
    async (token, name, call) => {
      const seat = await seatAt(store, name, call);
      return seat?.holder === undefined ? { kind: "asked" } : (store as Asking).askToLeave(name, token, call);
    },
    (asked, hold) => (asked.bid === hold.bid ? asked : undefined),
  );
}

/** The request is written into the holder's record, as a sign of its life would be. */
export function requestsMoveVersions(store: Store): Store {
  const requests = new Set<string>();
  const moved = change(store, {
    look: async (questions, call) =>
      mapSeats(await store.look(questions, call), (seat) =>
        requests.has(seat.name) ? { ...seat, version: `${seat.version} asked` as Version } : seat,
      ),
  });
  const askToLeave = async (name: string, token: Token, call: Call): Promise<AskedToLeave> => {
    requests.add(name);
    return (store as Asking).askToLeave(name, token, call);
  };
  return Object.assign(moved, { askToLeave });
}
