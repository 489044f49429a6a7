// Stores that are wrong about seats: claims, releases, versions, tokens, the line, and what is seen of them.
import {
  VACANT,
  type Bid,
  type Claim,
  type Claimed,
  type Hold,
  type Released,
  type Seat,
  type Session,
  type Store,
  type Version,
} from "conclave/stores/contract";
import { change, withToken, mapSeats, seatAt } from "./change.ts";

export function tokenWithoutDomain(store: Store): Store {
  const hide = (seat: Seat): Seat => ({ ...seat, holder: seat.holder && { ...seat.holder, domain: undefined } });
  return change(store, { look: async (questions, call) => mapSeats(await store.look(questions, call), hide) });
}

export function tokensRestart(store: Store): Store {
  let restarted = 0n;
  return change(store, {
    release: (will, call) => {
      restarted = 0n;
      return store.release(will, call);
    },
    claim: async (claims, call) =>
      (await store.claim(claims, call)).map((claimed) =>
        withToken(claimed, ({ token }) => token && { ...token, value: ++restarted }),
      ),
  });
}

/** A vacant seat has no version of its own. */
export function versionsRepeat(store: Store): Store {
  const FREE = "free" as Version;
  return change(store, {
    look: async (questions, call) =>
      mapSeats(await store.look(questions, call), (seat) =>
        seat.state === "vacant" ? { ...seat, version: FREE } : seat,
      ),
    claim: async (claims, call) => {
      const now = await Promise.all(claims.map(({ name }) => seatAt(store, name, call)));
      return await store.claim(
        claims.map((claim, index) =>
          claim.over === FREE && now[index]?.state === "vacant" ? { ...claim, over: now[index]?.version } : claim,
        ),
        call,
      );
    },
  });
}

export function releaseIgnoresBid(store: Store): Store {
  return change(store, {
    release: async (will, call) => {
      const holds: Hold[] = [];
      for (const hold of will.holds)
        holds.push({ ...hold, bid: (await seatAt(store, hold.name, call))?.holder?.bid ?? hold.bid });
      return await store.release({ ...will, holds }, call);
    },
  });
}

/** Release frees whatever stands at the name, also what is another's. */
export function releaseIgnoresSession(store: Store): Store {
  const sessions = new Map<Bid, Session>();
  return change(store, {
    claim: (claims, call) => {
      for (const { bid, session } of claims) sessions.set(bid, session);
      return store.claim(claims, call);
    },
    release: async (will, call) => {
      for (const hold of will.holds)
        await store.release(
          { session: sessions.get(hold.bid) ?? will.session, holds: [hold], endSession: false },
          call,
        );
      return await store.release({ ...will, holds: [] }, call);
    },
  });
}

/** The first version a bid's seat had is needed to release it. */
export function releaseNeedsVersion(store: Store): Store {
  const versions = new Map<Bid, Version | undefined>();
  return change(store, {
    claim: async (claims, call) => {
      const claimed = await store.claim(claims, call);
      for (const { name, bid } of claims)
        if (!versions.has(bid)) versions.set(bid, (await seatAt(store, name, call))?.version);
      return claimed;
    },
    release: async (will, call): Promise<Released> => {
      const holds: Hold[] = [];
      for (const hold of will.holds)
        if ((await seatAt(store, hold.name, call))?.version === versions.get(hold.bid)) holds.push(hold);
      return await store.release({ ...will, holds }, call);
    },
  });
}

export function claimIsNotIdempotent(store: Store): Store {
  let sent = 0n;
  return change(store, {
    claim: async (claims, call) =>
      (await store.claim(claims, call)).map((claimed) =>
        withToken(claimed, ({ token }) => token && { ...token, value: token.value * 1000n + ++sent }),
      ),
  });
}

export function swapIgnoresOver(store: Store): Store {
  return change(store, {
    claim: async (claims, call) => {
      const claimed: Claimed[] = [];
      for (const claim of claims)
        claimed.push(
          ...(await store.claim([{ ...claim, over: (await seatAt(store, claim.name, call))?.version }], call)),
        );
      return claimed;
    },
  });
}

/** Asked for what is vacant, takes what stands there. */
export function vacantIsAnything(store: Store): Store {
  return overVacant(store, () => true);
}

/** Forgets who held a vacant seat last. */
export function vacantComesTwice(store: Store): Store {
  return overVacant(store, (seat) => seat?.state === "vacant");
}

function overVacant(store: Store, mayTake: (seat: Seat | undefined) => boolean): Store {
  return change(store, {
    claim: async (claims, call) => {
      const claimed: Claimed[] = [];
      for (const claim of claims) {
        const seat = claim.over === VACANT ? await seatAt(store, claim.name, call) : undefined;
        claimed.push(...(await store.claim([mayTake(seat) && seat ? { ...claim, over: seat.version } : claim], call)));
      }
      return claimed;
    },
  });
}

/** What a taker watches is the record alone, not the session's beat. */
export function keepMovesNoVersion(store: Store): Store {
  const shown = new Map<Bid, Version>();
  const real = new Map<Version, Version>();
  return change(store, {
    look: async (questions, call) =>
      mapSeats(await store.look(questions, call), (seat) => {
        const bid = seat.holder?.bid;
        if (bid === undefined) return seat;
        const version = shown.get(bid) ?? seat.version;
        shown.set(bid, version);
        real.set(version, seat.version);
        return { ...seat, version };
      }),
    claim: (claims, call) =>
      store.claim(
        claims.map((claim) => ({ ...claim, over: claim.over && (real.get(claim.over) ?? claim.over) })),
        call,
      ),
  });
}

export function lineIsLastInFirstOut(store: Store): Store {
  const waiting: Claim[] = [];
  return change(store, {
    release: async (will, call) => {
      const released = await store.release(will, call);
      for (const { session, name, bid } of waiting.splice(0).toReversed()) {
        await store.release({ session, holds: [{ name, bid }], endSession: false }, call);
        await store.claim([{ session, name, bid, value: "" }], call);
      }
      return released;
    },
    claim: async (claims, call) => {
      const claimed = await store.claim(claims, call);
      claimed.forEach(({ kind }, index) => {
        const claim = claims[index];
        if (kind === "waiting" && claim !== undefined && !waiting.some(({ bid }) => bid === claim.bid))
          waiting.push(claim);
      });
      return claimed;
    },
  });
}

/** Another bid of the same session takes the place of the old one. */
export function lineHasNoLeftovers(store: Store): Store {
  return change(store, {
    claim: async (claims, call) => {
      const claimed = await store.claim(claims, call);
      return claimed.map((answer, index): Claimed => {
        const claim = claims[index];
        return answer.kind === "leftover" && claim !== undefined
          ? { kind: "granted", hold: { name: claim.name, bid: claim.bid } }
          : answer;
      });
    },
  });
}

export function watchIsSilent(store: Store): Store {
  return change(store, {
    watch: (_questions, { signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve({ done: true, value: undefined }))),
      }),
    }),
  });
}

export function throwsOnAbort(store: Store): Store {
  return change(store, {
    look: (questions, call) => {
      call.signal.throwIfAborted();
      return store.look(questions, call);
    },
  });
}
