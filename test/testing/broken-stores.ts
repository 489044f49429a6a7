// Stores that are wrong on purpose, each in one way: `memory:` with one method that does not do what the contract asks.
import {
  type AskedToLeave,
  type AsksToLeave,
  type Bid,
  type Call,
  type Claim,
  type Claimed,
  type Guarantee,
  type Hold,
  type Kept,
  type Looked,
  type Released,
  type Seat,
  type Session,
  type Store,
  type Token,
  VACANT,
  type Version,
} from "conclave/stores/contract";

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
  const guarantee = { ...store.guarantee, fencing: "unfenced" as const, memos: undefined };
  const hide = (seat: Seat): Seat => ({ ...seat, holder: seat.holder && { ...seat.holder, token: undefined } });
  const strip = (claimed: Claimed): Claimed =>
    claimed.kind === "beaten" ? { ...claimed, seat: hide(claimed.seat) } : withToken(claimed, () => undefined);
  return change(store, {
    guarantee,
    claim: async (claims, call) => (await store.claim(claims, call)).map(strip),
    look: async (questions, call) => mapSeats(await store.look(questions, call), hide),
  });
}

function withToken(claimed: Claimed, token: (hold: Hold) => Hold["token"]): Claimed {
  if (claimed.kind !== "granted" && claimed.kind !== "waiting") return claimed;
  return { ...claimed, hold: { ...claimed.hold, token: token(claimed.hold) } };
}

function mapSeats(looked: Looked, map: (seat: Seat) => Seat): Looked {
  return looked.kind === "seen" ? { ...looked, seats: looked.seats.map(map) } : looked;
}

function mapKept(kept: Kept, map: (kept: Extract<Kept, { kind: "kept" }>) => Kept): Kept {
  return kept.kind === "kept" ? map(kept) : kept;
}

async function seatAt(store: Store, name: string, call: Parameters<Store["look"]>[1]): Promise<Seat | undefined> {
  const looked = await store.look([{ name }], call);
  return looked.kind === "seen" ? looked.seats[0] : undefined;
}

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

export function keepRevives(store: Store): Store {
  return change(store, {
    keep: async (session, holds, call): Promise<Kept> => {
      const kept = await store.keep(session, holds, call);
      return kept.kind === "session-lost" && "id" in session
        ? { kind: "kept", session, lost: holds, unsure: [], strays: [] }
        : kept;
    },
  });
}

/** A keep of a session that a taker ended goes on as if nothing had happened; one that ended by itself stays over. */
export function deadIsNotStable(store: Store): Store {
  const ended = new Set<string>();
  return change(store, {
    release: (will, call) => {
      if (will.endSession) ended.add(will.session.id);
      return store.release(will, call);
    },
    keep: async (session, holds, call): Promise<Kept> => {
      const kept = await store.keep(session, holds, call);
      const dead =
        kept.kind === "session-lost" && "id" in session && !ended.has(session.id) && session.id.includes(".s");
      return dead ? { kind: "kept", session, lost: holds, unsure: [], strays: [] } : kept;
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

/** Asking about a seat renews the session that holds it. */
export function lookExtends(store: Store): Store {
  const sessions = new Map<Bid, Session>();
  return change(store, {
    claim: (claims, call) => {
      for (const { bid, session } of claims) sessions.set(bid, session);
      return store.claim(claims, call);
    },
    look: async (questions, call) => {
      for (const { bid } of questions) {
        const session = bid && sessions.get(bid);
        if (session) await store.keep(session, [], call);
      }
      return await store.look(questions, call);
    },
  });
}

export function openingExtends(store: Store): Store {
  return change(store, {
    keep: async (session, holds, call) => {
      const kept = await store.keep(session, holds, call);
      return kept.kind === "kept" && "nonce" in session ? await store.keep(kept.session, holds, call) : kept;
    },
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

export function opensTwice(store: Store): Store {
  let openings = 0;
  return change(store, {
    keep: (session, holds, call) =>
      store.keep("nonce" in session ? { ...session, nonce: `${session.nonce}/${++openings}` } : session, holds, call),
  });
}

export function endIsIgnored(store: Store): Store {
  return change(store, { release: (will, call) => store.release({ ...will, endSession: false }, call) });
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

export function freesEarly(store: Store): Store {
  return change(store, {
    keep: async (session, holds, call) => {
      const asked =
        "nonce" in session
          ? { ...session, ttlMs: Math.ceil(session.ttlMs / 2) }
          : { ...session, ttlMs: session.ttlMs / 2 };
      return mapKept(await store.keep(asked, holds, call), (kept) => ({
        ...kept,
        session: { ...kept.session, ttlMs: kept.session.ttlMs * 2 },
      }));
    },
  });
}

export function keepReportsNo(field: "lost" | "strays", store: Store): Store {
  return change(store, {
    keep: async (session, holds, call) =>
      mapKept(await store.keep(session, holds, call), (kept) => ({ ...kept, [field]: [] })),
  });
}

/** A keep names these beats instead of its own. */
function keepNames(store: Store, named: (beats: readonly string[]) => readonly string[]): Store {
  return change(store, {
    keep: (session, holds, call) =>
      store.keep("id" in session && session.beats ? { ...session, beats: named(session.beats) } : session, holds, call),
  });
}

export function keepIgnoresBeats(store: Store): Store {
  return keepNames(store, (beats) => beats.slice(-1));
}

export function keepRenewsOverTheFirstBeatOnly(store: Store): Store {
  return keepNames(store, (beats) => [...beats.slice(0, 1), ...beats.slice(-1)]);
}

export function keepRenewsOverItsOwnBeat(store: Store): Store {
  return keepNames(store, (beats) => [...beats, ...beats.slice(-1)]);
}

export function openingIgnoresBeat(store: Store): Store {
  const first = new Map<string, string | undefined>();
  return change(store, {
    keep: (session, holds, call) => {
      if (!("nonce" in session)) return store.keep(session, holds, call);
      if (!first.has(session.nonce)) first.set(session.nonce, session.beat);
      return store.keep({ ...session, beat: first.get(session.nonce) }, holds, call);
    },
  });
}

export function endIgnoresBeats(store: Store): Store {
  return change(store, {
    release: (will, call) => store.release({ ...will, session: { ...will.session, beats: undefined } }, call),
  });
}

/** Says nothing of beats where it should, or something where it should not. */
export function declaresTheOtherWay(store: Store): Store {
  return change(store, { guarantee: { ...store.guarantee, refusesClones: store.guarantee.refusesClones !== true } });
}

// ---- requests to hand over

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
