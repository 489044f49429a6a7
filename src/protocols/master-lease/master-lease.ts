// A master lease as in Chubby (Burrows 2006, section 2.1; Gray and Cheriton 1989): a majority promises to one replica not to elect another for a while. That replica is master for a little less than that
// while, and has the lease renewed before it ends.
//
// ASSUMES  Every clock's rate is within `driftBound` of real time, and a reading lags by at most `grain`; a clock runs on while its replica is paused. Replicas crash and come back with their disk;
// messages are lost, doubled, late, out of order.
// PROMISES  At no instant of true time do two replicas lead, paused ones included. An epoch has at most one master, and epochs grow. When the members of a majority can talk to each other, one of them
// leads within a few leases, and stays.
// DOES NOT PROMISE  That a write which left in time arrives in time: it must carry the epoch, or a token. Anything at all with clocks beyond `driftBound`. A mastership without interruption: a replica
// that was cut off and stood in vain comes back in a later epoch, and the master, told so, asks anew, which takes a message and its answer.
//
//   replica   input                                        answer
//   any       ASK, bound to another                        DENY; forced: GRANT, with how long the other may still rely on it
//   any       ASK, in an epoch that is not later           DENY
//   any       ASK, free                                    GRANT
//   any       RENEW of its epoch, or a later one           RENEWED: bound for another lease
//   any       RENEW of an earlier epoch                    STALE
//   any       RELEASE                                      free
//   new life                                               bound for a full lease to the holder on disk; and a replica to which it grants waits as long
//   tenure    input                                        next
//   none      free for a while, or told to                 preparing: the next epoch, promised to oneself, goes to disk
//   preparing stored                                       asking: ASK
//   asking    GRANT of a majority                          waiting, until of a majority no earlier promise can be relied on; RENEW again and again
//   asking    DENY of too many, or too long                none: RELEASE
//   waiting   the wait is over                             leading
//   either    RENEWED of a majority                        the deadline moves: it counts from the send of the proven request
//   either    deadline                                     none: RELEASE
//   either    STALE                                        preparing, in a later epoch
//   any       a later epoch promised to another            none
//
// WHY NO TWO LEAD  Let M lead at t, and N too, of a later epoch. M has proofs of a majority for requests that were sent less than D before t; N has grants of a majority that have waited until t. Some
// replica x is in both majorities. It gave M's proof before N's grant, since afterwards M's epoch was too small for it. So when x granted to N, either it was bound to M, and N waited for the rest of
// that promise; or it was no longer bound. Either way M's belief, which is shorter (deadlines.ts), was over. If x had died in between, its new life made N wait a full lease, which is not less than the
// rest of the promise.
// WHY THE PROMISE IS NOT ON DISK  Only epoch and holder are. A deadline on disk would be a reading of a clock that the next life does not have, and every renewal would cost a write. The price is a full
// lease of waiting after a restart.
// WHY EVERY ATTEMPT HAS ITS OWN EPOCH  A grant is dated at the send of its question. If a question were asked twice under one epoch, the answer to the first could be taken for an answer to the second,
// and the master would believe longer than it was promised.
import { NOBODY, type NodeId, numberOf, type ProtocolNode, type NodeSettings } from "../node.ts";
import { beliefMs, type ReplicaMargins } from "./deadlines.ts";
import { armStand, beginPledged, hearAsk, hearRelease, hearRenew, isBound, pledgeStored, remember } from "./pledge.ts";
import {
  ATTEMPT,
  BEGIN,
  LAPSE,
  type MasterLeaseCommand,
  type MasterLeaseEffects,
  type MasterLeaseImage,
  type MasterLeaseMessage,
  type MasterLeaseState,
  RENEW,
  STAND,
  type Tenure,
  TIMERS,
} from "./state.ts";
import {
  ask,
  begin,
  beginLeading,
  hearDenied,
  hearGrant,
  hearRenewed,
  isOver,
  renew,
  resign,
  stand,
  stop,
} from "./tenure.ts";

function marginsOf(settings: NodeSettings): ReplicaMargins {
  return {
    leaseMs: numberOf(settings, "leaseMs"),
    rho: numberOf(settings, "driftBound"),
    grainMs: numberOf(settings, "grainMs"),
  };
}

// ---- messages --------------------------------------------------------------------------------------------------------------------------

type ToReplica = Extract<MasterLeaseMessage, { type: "ASK" | "RENEW" | "RELEASE" }>;
type ToMaster = Exclude<MasterLeaseMessage, ToReplica>;

function receiveAsReplica(
  state: MasterLeaseState,
  from: NodeId,
  message: ToReplica,
  now: number,
  effects: MasterLeaseEffects,
): void {
  if (message.type === "RELEASE") return hearRelease(state, from, message.epoch, now, effects);
  if (message.type === "ASK") {
    if (!hearAsk(state, from, message, now, effects)) return;
    yieldTo(state, now, effects);
    return effects.announce("follower", NOBODY, message.epoch);
  }
  if (!hearRenew(state, from, message.epoch, message.sequence, now, effects)) return;
  yieldTo(state, now, effects);
  effects.announce("follower", message.leads ? from : NOBODY, message.epoch);
}

/** A replica that has promised to another replica neither stands nor leads. */
function yieldTo(state: MasterLeaseState, now: number, effects: MasterLeaseEffects): void {
  if (state.tenure !== undefined && state.pledge.holder !== state.id) stop(state, now, effects);
}

function receiveAsMaster(
  state: MasterLeaseState,
  tenure: Tenure,
  from: NodeId,
  message: ToMaster,
  now: number,
  effects: MasterLeaseEffects,
): void {
  if (isOver(tenure, now)) return resign(state, tenure, now, effects);
  if (message.type === "STALE") {
    if (message.seen > tenure.epoch && tenure.phase !== "preparing") {
      effects.explain("a replica is in a later epoch: it asks anew");
      stand(state, false, now, effects);
    }
    return;
  }
  if (message.epoch !== tenure.epoch) return;
  if (message.type === "GRANT") hearGrant(state, tenure, from, message.waitMs, now, effects);
  else if (message.type === "RENEWED") hearRenewed(state, tenure, from, message.sequence, now, effects);
  else hearDenied(state, tenure, from, now, effects);
}

// ---- the node --------------------------------------------------------------------------------------------------------------------------

/** The node of a master lease: a majority of members promises to elect nobody else for a time. */
export const masterLease: ProtocolNode<MasterLeaseState, MasterLeaseMessage, MasterLeaseImage, MasterLeaseCommand> = {
  name: "master-lease",
  summary: "replicas promise not to elect another for a while (Chubby)",
  messageTypes: ["ASK", "GRANT", "DENY", "RENEW", "RENEWED", "STALE", "RELEASE"],
  timers: TIMERS,
  parameters: {
    leaseMs: { default: 1000, help: "how long a replica is bound" },
    renewEveryMs: { default: 250, help: "how often a master has it renewed" },
    driftBound: { default: 0.01, help: "how far a clock's rate may be from real time" },
    grainMs: { default: 5, help: "how far a clock's reading may lag" },
    attemptMs: { default: 200, help: "how long to wait for a majority's promises" },
    spreadMs: { default: 400, help: "a free replica stands at a random instant within this" },
  },
  problemWith(settings) {
    const [renewEveryMs, usableMs] = [numberOf(settings, "renewEveryMs"), beliefMs(marginsOf(settings))];
    if (renewEveryMs < usableMs) return undefined;
    return `a master can rely on its lease for ${Number(usableMs.toFixed(3))} ms; it must be renewed more often than every ${renewEveryMs} ms`;
  },

  create({ id, members, settings, rng, leader }) {
    const epoch = leader === NOBODY ? 0 : 1;
    return {
      id,
      peers: members.filter((peer) => peer !== id),
      majority: (members.length >> 1) + 1,
      margins: marginsOf(settings),
      renewEveryMs: numberOf(settings, "renewEveryMs"),
      attemptMs: numberOf(settings, "attemptMs"),
      spreadMs: numberOf(settings, "spreadMs"),
      rng,
      pledge: { epoch, holder: leader, until: -Infinity, othersUntil: -Infinity },
      seen: epoch,
      tenure: undefined,
      ticket: 0,
      pending: [],
    };
  },

  /** A replica that never had a promise on disk has never given one. */
  start(state, image, now, effects) {
    const isSettled = state.pledge.holder !== NOBODY;
    if (isSettled) beginPledged(state, now, effects);
    else if (image !== undefined) remember(state, image.epoch, image.holder, now);
    if (isSettled && state.pledge.holder === state.id) beginLeading(state, now, effects);
    else armStand(state, now, effects);
  },

  receive(state, from, message, now, effects) {
    switch (message.type) {
      case "ASK":
      case "RENEW":
      case "RELEASE":
        return receiveAsReplica(state, from, message, now, effects);
      case "GRANT":
      case "DENY":
      case "RENEWED":
      case "STALE":
        state.seen = Math.max(state.seen, message.type === "DENY" || message.type === "STALE" ? message.seen : 0);
        if (state.tenure !== undefined) receiveAsMaster(state, state.tenure, from, message, now, effects);
    }
  },

  expire(state, timer, _subject, now, effects) {
    const { tenure } = state;
    if (timer === STAND) {
      if (tenure !== undefined) return;
      if (isBound(state, state.id, now)) armStand(state, now, effects);
      else stand(state, false, now, effects);
    } else if (tenure === undefined) return;
    else if (isOver(tenure, now) || timer === LAPSE || timer === ATTEMPT) resign(state, tenure, now, effects);
    else if (timer === BEGIN && tenure.phase === "waiting") begin(state, tenure, now, effects);
    else if (timer === RENEW) renew(state, tenure, now, effects);
  },

  stored(state, ticket, now, effects) {
    while ((state.pending[0]?.ticket ?? Infinity) <= ticket) {
      const stored = state.pending.shift();
      if (stored === undefined) return;
      const { tenure } = state;
      if (stored.type !== "ask") pledgeStored(state, stored, effects);
      else if (tenure?.phase === "preparing" && tenure.epoch === stored.epoch) ask(state, tenure, now, effects);
    }
  },

  command(state, { type }, now, effects) {
    if (state.tenure !== undefined) return;
    if (type === "takeover" || !isBound(state, state.id, now)) stand(state, type === "takeover", now, effects);
  },

  fold: (_image, write) => write,
  leads: ({ tenure }, now) => tenure?.phase === "leading" && now < tenure.deadline,
};
