// A witness of a store: it passes every call on unchanged, and notes what this process has there, so that a keeper can give it back. It notes what a call may write
// BEFORE the call is sent, because a claim may be applied although its answer never comes.
import {
  type Bid,
  type Call,
  type Claim,
  type Hold,
  type KeepsMemos,
  keepsMemos,
  type KeepWish,
  type Name,
  type PassesInvitations,
  passesInvitations,
  type Session,
  type SessionSpec,
  type Store,
  type Will,
} from "../stores/contract.ts";
import type { Estate } from "./keeper-messages.ts";

export interface Witness<S extends Store> {
  readonly store: S;
  /** Undefined while there is no session. */
  estate(url: string): Estate | undefined;
}

/** `changed` is called when the estate has changed. */
export function witness<S extends Store>(store: S, changed: () => void): Witness<S> {
  let session: Session | undefined;
  const holds = new Map<Name, Bid>();
  const note = (found: Session | undefined): void => {
    if (session?.id === found?.id) return;
    session = found;
    holds.clear();
    changed();
  };
  /** A will ends a session only if it has one of these beats (`Session.beats`), because another copy of this process may keep the session. */
  const name = ({ id, beats }: Session): void => {
    if (session?.id !== id || beats === undefined) return;
    session = { ...session, beats };
    changed();
  };
  const calls: Omit<Store, "guarantee"> = {
    async keep(spec: Session | SessionSpec, held: readonly Hold[], call: Call, wish?: KeepWish) {
      if ("id" in spec) name(spec);
      const answer = await store.keep(spec, held, call, wish);
      if (answer.kind === "kept") note(answer.session);
      if (answer.kind === "session-lost") note(undefined);
      return answer;
    },
    claim(claims: readonly Claim[], call: Call) {
      for (const { name, bid } of claims) holds.set(name, bid);
      changed();
      return store.claim(claims, call);
    },
    async release(will: Will, call: Call) {
      const answer = await store.release(will, call);
      if (answer.kind === "released" && will.endSession) note(undefined);
      return answer;
    },
    look: (questions, call) => store.look(questions, call),
    watch: (questions, call) => store.watch(questions, call),
    close: () => store.close(),
    ...(keepsMemos(store) ? memosOf(store) : {}),
    ...(passesInvitations(store) ? wordsOf(store) : {}),
  };
  return {
    store: Object.defineProperty(calls, "guarantee", { get: () => store.guarantee, enumerable: true }) as unknown as S,
    estate: (url) =>
      session === undefined
        ? undefined
        : { url, session: { ...session }, holds: [...holds].map(([name, bid]) => ({ name, bid })) },
  };
}

/** An invitation of other candidates changes nothing of the estate, either. */
function wordsOf(store: PassesInvitations): PassesInvitations {
  return {
    askToLeave: (name, token, call) => store.askToLeave(name, token, call),
    invite: (name, invitation, call) => store.invite(name, invitation, call),
  };
}

/** A memo changes nothing of the estate. */
function memosOf(store: KeepsMemos): KeepsMemos {
  return {
    writeMemo: (write, call) => store.writeMemo(write, call),
    readMemos: (name, key, call) => store.readMemos(name, key, call),
  };
}
