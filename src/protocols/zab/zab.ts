// ZAB's election: ZooKeeper's Fast Leader Election finds the peer with the newest history, and ZAB's discovery and synchronisation (Junqueira, Reed, Serafini 2011, section IV) make it a leader. The
// first part is a hint, quick and fallible; the second part makes it safe.
//
// ASSUMES  Members and weights are known to all. Peers crash and come back with their disk; messages are lost, doubled, late, out of order; clocks have any rate. Timeouts matter only for progress.
// PROMISES  An epoch has at most one leader. A leader had, when it was elected, a history not older than that of each member of a quorum; so the history that an epoch has established is that of every
// later one. A peer's epochs never fall. A peer of weight 0 never leads. When a quorum by weight can talk, it agrees on one leader, and keeps it, if the other peers are out of earshot or can be reached.
// DOES NOT PROMISE  That an old leader knows that it has been replaced: two may believe that they lead, in different epochs, for up to `syncLimit`. Every write must carry the epoch, or a token. Nor that
// the best peer leads: a peer that comes back with a better history follows the present leader. Nor progress while a better peer is known by hearsay only: votes travel further than the candidate's own
// messages, so a quorum may elect, again and again, a peer that it cannot hear. (ZooKeeper has the same weakness.)
// Broadcast is not here: a history is one number, the zxid of its last transaction, and grows by being taken over.
//
//   mode        input                                  next
//   any         start, leader lost, command            looking: next round, propose oneself, tell everybody
//   looking     vote of a later round                  adopt the round, forget the counted votes, propose the better of it and one's FIRST vote
//   looking     better vote of this round              propose that
//   looking     vote of an earlier round               answered, not counted
//   looking     a quorum votes alike                   finalizing: wait `finalizeWait` for something better, anew once for each peer that speaks
//   finalizing  better vote                            looking, with that vote
//   finalizing  silence of `finalizeWait`              leading or following
//   looking     somebody follows or leads, same round  join, if a quorum of this round's votes says so and the leader itself says that it leads
//   looking     the same, any round                    join, if a quorum of the peers that do not look says so and the leader itself says that it leads
//   looking     no quorum                              tell everybody again; wait twice as long, 200 ms to 60 s
//   following   vote of a peer that looks              answered with the vote that this peer follows, of that vote's round
//   following   its leader looks, in a later round     looking
//   following                                          CEPOCH → NEWEPOCH → ACKEPOCH → NEWLEADER → ACKLEADER → UPTODATE, then PING and PONG
//   leading     CEPOCH of a quorum                     NEWEPOCH, one greater than any of theirs, and on the own disk
//   leading     ACKEPOCH of a quorum                   NEWLEADER
//   leading     ACKLEADER of a quorum                  leads: UPTODATE
//   leading     CEPOCH with a later epoch              looking: its epoch is too small for a peer that wants to follow
//   leading     its electors look again                looking: they will not come (ZOOKEEPER-3109)
//   either      `initLimit` without UPTODATE, `syncLimit` without the leader, or without a quorum      looking
//
// ONE LEADER PER EPOCH  A peer accepts an epoch once, for one leader, and its acceptance is on disk before it says so. Two leaders of one epoch would need two quorums, which share a peer. After a
// restart a peer does not know for which leader it accepted, so it counts for none in that epoch.
// HISTORIES ARE KEPT  A peer that accepts epoch e takes no history of a lesser epoch afterwards. So if a quorum had taken the history of an epoch before e, one of its members told so in its ACKEPOCH,
// and a leader with an older history would not have counted it. The history is on disk before the epoch that vouches for it.
//
// THE PARTS OF ZOOKEEPER THAT ARE NOT HERE  Connections: a leader that gives up closes them, and its followers know at once; here they know when they hear that it looks, in a later round. Votes of mixed
// versions, observers, oracles, and reconfiguration.
// ZooKeeper starts `finalizeWait` anew at every message. Its peers soon repeat themselves seldom, so the wait ends; here they may be set to repeat themselves more often.
// Some rules only save time, or matter so seldom that liveness would not suffer in thousands of worlds; so invariants look at the reaction of a peer to each vote (zab-heeded-votes, zab-heeded-peers). No
// drawn world needs the rule that a leader whose epoch is too small gives way: a test shows it.
import { NOBODY, type NodeId, numberOf, type ProtocolNode, type NodeSetting, type NodeSettings } from "../node.ts";
import {
  applyToLeader,
  follow,
  followerStored,
  hearNewEpoch,
  hearNewLeader,
  hearPing,
  hearUpToDate,
  persist,
} from "./following.ts";
import {
  beginReign,
  hearAccepted,
  hearJoiner,
  hearSynced,
  keepsElectors,
  leaderStored,
  ping,
  resumeReign,
} from "./leading.ts";
import { answer, type RoundResult, finalize, hear, isSound, look, resend } from "./looking.ts";
import {
  FINALIZE,
  LIMIT,
  type Notification,
  PING,
  type Reign,
  RESEND,
  RETRY,
  TIMERS,
  type Timing,
  type ZabCommand,
  type ZabEffects,
  type ZabImage,
  type ZabMessage,
  type ZabState,
} from "./state.ts";

export function timingOf(settings: NodeSettings): Timing {
  const tickMs = numberOf(settings, "tickMs");
  return {
    finalizeWaitMs: numberOf(settings, "finalizeWaitMs"),
    minNotificationMs: numberOf(settings, "minNotificationMs"),
    maxNotificationMs: numberOf(settings, "maxNotificationMs"),
    tickMs,
    initLimitMs: numberOf(settings, "initLimit") * tickMs,
    syncLimitMs: numberOf(settings, "syncLimit") * tickMs,
  };
}

function numbersOf(weightless: NodeSetting | undefined): readonly number[] {
  return String(weightless).split(",").filter(Boolean).map(Number);
}

function weightsOf(members: readonly NodeId[], { weightless }: NodeSettings): ReadonlyMap<NodeId, number> {
  const without = new Set(numbersOf(weightless));
  return new Map(members.map((id) => [id, without.has(id) ? 0 : 1]));
}

// ---- votes -----------------------------------------------------------------------------------------------------------------------------

function hearNotification(state: ZabState, from: NodeId, vote: Notification, effects: ZabEffects): void {
  if (!isSound(state, from, vote)) return effects.explain("a notification that makes no sense: ignored");
  if (state.mode === "looking") return decide(state, hear(state, from, vote, effects), effects);
  if (vote.state !== "looking") return;
  if (from === state.vote.leader && vote.round > state.vote.round) {
    effects.explain("its leader looks again");
    look(state, effects);
    return decide(state, hear(state, from, vote, effects), effects);
  }
  if (state.reign !== undefined && !keepsElectors(state, state.reign, from, vote)) {
    effects.explain("those who elected it look again");
    return look(state, effects);
  }
  answer(state, from, effects);
}

function decide(state: ZabState, decision: RoundResult | undefined, effects: ZabEffects): void {
  if (decision === undefined) return;
  if (decision.leader === state.id) beginReign(state, decision, effects);
  else follow(state, effects);
}

// ---- messages to leaders and followers -------------------------------------------------------------------------------------------------

type ToLeader = Extract<ZabMessage, { type: "CEPOCH" | "ACKEPOCH" | "ACKLEADER" | "PONG" }>;
type ToFollower = Exclude<ZabMessage, ToLeader | Notification>;

function receiveAsLeader(
  state: ZabState,
  reign: Reign,
  from: NodeId,
  message: ToLeader,
  now: number,
  effects: ZabEffects,
): void {
  if (message.type === "CEPOCH") {
    if (hearJoiner(state, reign, from, message.acceptedEpoch, effects)) return;
    effects.explain("a follower has accepted a later epoch");
    return look(state, effects);
  }
  if (message.epoch !== reign.epoch) return;
  if (message.type === "ACKEPOCH") hearAccepted(state, reign, from, message, effects);
  else if (message.type === "ACKLEADER") hearSynced(state, reign, from, now, effects);
  else if (reign.synced.has(from)) reign.heardAt.set(from, now);
}

function receiveAsFollower(state: ZabState, from: NodeId, message: ToFollower, effects: ZabEffects): void {
  switch (message.type) {
    case "NEWEPOCH":
      return hearNewEpoch(state, from, message.epoch, effects);
    case "NEWLEADER":
      return hearNewLeader(state, from, message.epoch, message.zxid, effects);
    case "UPTODATE":
      return hearUpToDate(state, message.epoch, effects);
    case "PING":
      return hearPing(state, from, message.epoch, effects);
  }
}

// ---- the node --------------------------------------------------------------------------------------------------------------------------

/** The node of ZooKeeper's fast leader election. */
export const zab: ProtocolNode<ZabState, ZabMessage, ZabImage, ZabCommand> = {
  name: "zab",
  summary: "ZooKeeper's Fast Leader Election, then an epoch with a quorum",
  messageTypes: [
    "NOTIFICATION",
    "CEPOCH",
    "NEWEPOCH",
    "ACKEPOCH",
    "NEWLEADER",
    "ACKLEADER",
    "UPTODATE",
    "PING",
    "PONG",
  ],
  timers: TIMERS,
  parameters: {
    finalizeWaitMs: { default: 200, help: "how long to wait for a better vote when a quorum agrees" },
    minNotificationMs: { default: 200, help: "silence after which votes are sent again, at first" },
    maxNotificationMs: { default: 60_000, help: "and at most, after doubling" },
    tickMs: { default: 200, help: "a leader pings twice as often" },
    initLimit: { default: 10, help: "ticks until an elected leader must have its quorum" },
    syncLimit: { default: 5, help: "ticks without the leader, or without a quorum, until an election" },
    weightless: { default: "", help: "members whose votes count nothing and who never lead: 4,5" },
  },
  problemWith({ weightless }, nodes) {
    const wrong = numbersOf(weightless).find((id) => !(id >= 1 && id <= nodes));
    return wrong === undefined ? undefined : `weightless: there is no member ${wrong}; members are 1…${nodes}`;
  },

  create({ id, members, settings, attribute, leader }) {
    const isSettled = leader !== NOBODY;
    const epoch = isSettled ? 1 : 0;
    // Peers that have settled have one history.
    const zxid = isSettled ? 0 : attribute;
    const timing = timingOf(settings);
    return {
      id,
      voters: members,
      weights: weightsOf(members, settings),
      timing,
      acceptedEpoch: epoch,
      currentEpoch: epoch,
      zxid,
      acceptedFor: leader,
      mode: leader === id ? "leading" : isSettled ? "following" : "looking",
      round: epoch,
      vote: { leader, zxid, round: epoch, peerEpoch: epoch },
      received: new Map(),
      settled: new Map(),
      isFinalizing: false,
      waitedFor: new Set(),
      resendMs: timing.minNotificationMs,
      reign: undefined,
      isUpToDate: false,
      ticket: 0,
      pending: [],
    };
  },

  start(state, image, now, effects) {
    if (image !== undefined) Object.assign(state, image);
    if (state.mode === "looking") return look(state, effects);
    persist(state, effects);
    if (state.mode === "leading") resumeReign(state, now, effects);
    else hearUpToDate(state, state.currentEpoch, effects);
  },

  receive(state, from, message, now, effects) {
    switch (message.type) {
      case "NOTIFICATION":
        return hearNotification(state, from, message, effects);
      case "CEPOCH":
      case "ACKEPOCH":
      case "ACKLEADER":
      case "PONG":
        if (state.reign !== undefined) receiveAsLeader(state, state.reign, from, message, now, effects);
        return;
      case "NEWEPOCH":
      case "NEWLEADER":
      case "UPTODATE":
      case "PING":
        if (state.mode === "following" && from === state.vote.leader) receiveAsFollower(state, from, message, effects);
    }
  },

  expire(state, timer, _subject, now, effects) {
    if (timer === RESEND) resend(state, effects);
    else if (timer === FINALIZE) decide(state, finalize(state), effects);
    else if (timer === RETRY) applyToLeader(state, effects);
    else if (timer === LIMIT) {
      effects.explain("no leader with a quorum in time");
      look(state, effects);
    } else if (timer === PING && state.reign !== undefined && !ping(state, state.reign, now, effects)) {
      effects.explain("it has lost its quorum");
      look(state, effects);
    }
  },

  stored(state, ticket, now, effects) {
    while ((state.pending[0]?.ticket ?? Infinity) <= ticket) {
      const pending = state.pending.shift();
      if (pending === undefined) return;
      if (pending.leader !== state.id) {
        if (state.mode === "following") followerStored(state, pending, effects);
      } else if (state.reign !== undefined) leaderStored(state, state.reign, pending, now, effects);
    }
  },

  command(state, command, _now, effects) {
    const isApt = state.mode !== "looking" && (command.type === "campaign" || command.node === state.vote.leader);
    if (isApt) look(state, effects);
  },

  fold: (_image, write) => write,
};
