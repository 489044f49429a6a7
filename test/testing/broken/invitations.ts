// Stores that are wrong about who leads next.
import type { Invitation, Invited, PassesInvitations, ShownNext, ShowsNext, Store } from "conclave/stores/contract";
import { change, mapSeats } from "./change.ts";

type Inviting = Store & PassesInvitations;

/** `invite` does this. */
function withInvite(store: Store, invite: PassesInvitations["invite"]): Store {
  const askToLeave: PassesInvitations["askToLeave"] = (...args) => (store as Inviting).askToLeave(...args);
  return Object.assign(change(store, {}), { invite, askToLeave });
}

export function invitationsLost(store: Store): Store {
  return withInvite(store, async (): Promise<Invited> => ({ kind: "told" }));
}

export function invitationsWithoutPriority(store: Store): Store {
  return withInvite(store, (name, { token, to }: Invitation, call) =>
    (store as Inviting).invite(name, { token, to }, call),
  );
}

/** Whom somebody invites, the leader is asked to make way for. */
export function invitationsAsk(store: Store): Store {
  return withInvite(store, async (name, invitation, call) => {
    await (store as Inviting).askToLeave(name, invitation.token, call);
    return await (store as Inviting).invite(name, invitation, call);
  });
}

/** An invitation is written into the holder's record, as a sign of its life would be. */
export function invitationsMoveVersions(store: Store): Store {
  const invited = new Set<string>();
  const moved = change(store, {
    look: async (questions, call) =>
      mapSeats(await store.look(questions, call), (seat) =>
        invited.has(seat.name) ? { ...seat, version: `${seat.version} invited` as typeof seat.version } : seat,
      ),
  });
  const invite: PassesInvitations["invite"] = (name, invitation, call) => {
    invited.add(name);
    return (store as Inviting).invite(name, invitation, call);
  };
  const askToLeave: PassesInvitations["askToLeave"] = (...args) => (store as Inviting).askToLeave(...args);
  return Object.assign(moved, { invite, askToLeave });
}

/** The first is shown itself. */
export function nextIsFirst(store: Store): Store {
  const showNext: ShowsNext["showNext"] = async (name, _token, call): Promise<ShownNext> => {
    const looked = await store.look([{ name }], call);
    return { kind: "next", candidate: looked.kind === "seen" ? looked.seats[0]?.holder?.candidate : undefined };
  };
  return Object.assign(change(store, {}), { showNext });
}
