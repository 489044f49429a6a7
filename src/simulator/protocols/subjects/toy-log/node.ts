// THE TOY LOG IS A TEST SUBJECT, NOT FOR USE. It exists so that the contract of a node with a log (src/protocols/log-node.ts), and the world that drives one, are hunted before there is Raft's log. It is
// Raft with everything left out that safety does not need: nobody hands leadership over, and a leader sends one batch at a time.
//
// ASSUMES  A disk keeps the writes that it has acknowledged, in the order of the writes. Messages may be lost, late, doubled, reordered, and from before a restart.
// PROMISES  An entry that is applied anywhere is on the disks of a majority of the voters, the same at each index everywhere. A proposal that a client was told is done is never lost. A read sees everything
// that was done before it began. At most one change of members is not committed. While the members stay the same and a majority can talk, proposals are applied.
// DOES NOT PROMISE  Anything to its members while they change, but safety: no leader hands over when it is removed (it refuses to remove itself), and a node that is removed goes on being sent the log.
//
//   node       input                            next
//   voter      watch: no leader was heard       a new term and the own vote go to disk; WANT to all
//   any        WANT of a log that is not behind the vote goes to disk; GRANTED
//   candidate  GRANTED of a majority            an entry of nothing goes to disk; leader when it is there
//   leader     propose, changeMembers           the entry goes to disk
//   leader     stored                           APPEND to all
//   follower   APPEND after a place that it has the entries go to disk in place of those that differ; APPENDED when they are there
//   follower   APPEND after any other place     APPENDED with the place that it lacks: the leader goes back
//   leader     APPENDED of a majority           committed up to there, if that is of its own term: apply; followers hear of it with the next APPEND
//   leader     a peer lacks compacted entries   SNAPSHOT
//   follower   SNAPSHOT beyond its log          restore; APPENDED when it is on disk
//   leader     read                             APPEND in a new round; readable when a majority has answered it and an entry of this term is committed
//
// WHY LOGS MATCH  A term has one leader, which puts one entry at an index, and a follower takes entries only behind a place that both have.
// WHY NOTHING COMMITTED IS TAKEN BACK  A committed entry is on the disks of a majority. Each later leader was voted for by one of these, whose log is then not ahead of its own. Members change one at a
// time, so the majorities of two neighbouring memberships share a voter.
// WHY A READ IS FRESH  An entry of the leader's own term that is committed lies behind all that was acknowledged before. The round says that nobody else led when the read was asked.
import type { LogNode } from "../../../../protocols/log-node.ts";
import { NOBODY, numberOf } from "../../../../protocols/node.ts";
import { handleAppend, handleSnapshot } from "./following.ts";
import { change, handleAppended, leadOn, refusal, sendAll, sendTo, tryReads } from "./leading.ts";
import { append, entryAt, fold, lastOf, membersAt, persist, recall, shorten } from "./log.ts";
import type { Assignment, KeptShelf } from "./machine.ts";
import { HEARTBEAT, TIMERS, type ToyImage, type ToyMessage, type ToyState, type ToyWrite, WATCH } from "./state.ts";
import { campaign, handleGranted, handleWant, watch } from "./voting.ts";

export const toyLogNode: LogNode<ToyState, ToyMessage, ToyWrite, never, ToyImage, Assignment, KeptShelf> = {
  name: "toy-log",
  summary: "a test subject for nodes with a log, not for use: as much of Raft as safety needs",
  hasLog: true,
  messageTypes: ["WANT", "GRANTED", "APPEND", "SNAPSHOT", "APPENDED"],
  timers: TIMERS,
  parameters: {
    heartbeatMs: { default: 50, help: "how often the leader sends what is missing" },
    compactAfter: { default: 12, help: "how many entries a log has before its host takes a snapshot" },
    membersChange: { default: false, help: "whether clients change the members too" },
  },

  create({ id, members, settings, rng }) {
    const places = (): number[] => Array.from({ length: Math.max(...members) + 1 }, () => 0);
    return {
      id,
      nodes: members,
      heartbeatMs: numberOf(settings, "heartbeatMs"),
      rng,
      term: 0,
      vote: NOBODY,
      leader: NOBODY,
      grants: [],
      isLeading: false,
      snapshot: undefined,
      entries: [],
      inForce: { voters: members, learners: [] },
      committed: 0,
      stored: 0,
      ticket: 0,
      pending: [],
      firstOfTerm: Infinity,
      round: 0,
      storedBy: places(),
      next: places(),
      answered: places(),
      reads: [],
    };
  },

  start(state, image, _now, effects) {
    recall(state, image, effects);
    effects.announce("follower", NOBODY, state.term);
    watch(state, effects);
  },

  receive(state, from, message, _now, effects) {
    switch (message.type) {
      case "WANT":
        return handleWant(state, from, message, effects);
      case "GRANTED":
        return handleGranted(state, from, message.term, effects);
      case "APPEND":
        return handleAppend(state, from, message, effects);
      case "SNAPSHOT":
        return handleSnapshot(state, from, message, effects);
      case "APPENDED":
        return handleAppended(state, from, message, effects);
    }
  },

  expire(state, timer, _subject, _now, effects) {
    if (timer === WATCH && !state.isLeading) campaign(state, effects);
    if (timer === HEARTBEAT && state.isLeading) sendAll(state, effects);
  },

  /** A letter of an older term is not sent: since then the log may have been cut. */
  stored(state, ticket, _now, effects) {
    while ((state.pending[0]?.ticket ?? Infinity) <= ticket) {
      const done = state.pending.shift();
      if (done === undefined) return;
      state.stored = Math.max(state.stored, done.last);
      for (const { to, message } of done.letters) if (message.term === state.term) effects.send(to, message);
    }
    leadOn(state, effects);
  },

  command: () => undefined,

  propose(state, proposal, _now, effects) {
    if (!state.isLeading) return refusal(state);
    const { index, term } = append(state, { kind: "proposal", proposal }, effects);
    return { outcome: "appended", index, term };
  },

  read(state, request, _now, effects) {
    if (!state.isLeading) return effects.unreadable(request, refusal(state).leader);
    state.round++;
    state.reads.push({ request, round: state.round });
    for (const peer of state.nodes) sendTo(state, peer, effects);
    tryReads(state, effects);
  },

  compact(state, index, kept, _now, effects) {
    if (index <= (state.snapshot?.index ?? 0) || index > state.committed) return;
    const term = entryAt(state, index)?.term ?? 0;
    const snapshot = { index, term, members: membersAt(state, index), kept };
    shorten(state, snapshot);
    persist(state, { snapshot }, effects);
  },

  changeMembers: (state, wish, _now, effects) => change(state, wish, effects),
  members: ({ inForce }) => inForce,
  bounds: (state) => ({
    snapshot: state.snapshot?.index ?? 0,
    applied: state.committed,
    committed: state.committed,
    last: lastOf(state),
  }),
  entryAt,
  fold,
};
