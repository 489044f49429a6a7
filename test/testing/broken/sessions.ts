// Stores that are wrong about sessions: how they are opened, kept, and ended.
import type { Bid, Kept, Session, Store } from "conclave/stores/contract";
import { change, mapKept } from "./change.ts";

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
