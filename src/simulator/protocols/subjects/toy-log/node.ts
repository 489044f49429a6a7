// THE TOY LOG IS A TEST SUBJECT, NOT FOR USE. The least member is the leader, for ever: nobody takes over from it. It exists so that the contract of a node with a log (src/protocols/log-node.ts), and
// the world that drives one, are hunted before there is Raft's log.
//
// ASSUMES  A disk keeps the writes that it has acknowledged, in the order of the writes. Messages may be lost, late, doubled, reordered, and from before a restart.
// PROMISES  An entry that is applied anywhere is on the disks of a majority, the same at each index everywhere. A proposal that a client was told is done is never lost. A read sees everything that was
// done before it began. While the leader and a majority can talk, proposals are applied.
// DOES NOT PROMISE  Anything without the leader. Members do not change: `changeMembers` is refused.
//
//   node      input                            next
//   leader    start                            a new term goes to disk, and with it an entry of nothing
//   leader    propose                          the entry goes to disk
//   leader    stored                           APPEND to all
//   follower  APPEND                           the entries go to disk; APPENDED when they are there
//   leader    APPENDED of a majority           committed up to there: apply; followers hear of it with the next APPEND
//   leader    a peer lacks compacted entries   SNAPSHOT
//   follower  SNAPSHOT beyond its log          restore; APPENDED when it is on disk
//   leader    read                             APPEND in a new round; readable when a majority has answered it and an entry of this term is committed
//
// WHY LOGS MATCH  The leader sends only entries that are on its own disk. So the leader will have every entry of a follower in every later life, at the same index: each follower's log is a first part of
// the leader's, and nothing is ever taken back.
// WHY A READ IS FRESH  An acknowledged proposal was committed by this leader, perhaps in an earlier life, which did not write down what was committed. An entry of the leader's own term that is committed
// lies behind all of them. No other member could have committed anything. The round is there because a node with a log has one; with a leader that can be replaced, a fresh read rests on it.
import type { LogNode } from "../../../../protocols/log-node.ts";
import { NOBODY, numberOf } from "../../../../protocols/node.ts";
import { appendNothing, handleAppended, leadOn, refusal, sendAll, sendTo, tryReads } from "./leading.ts";
import { append, entryAt, lastOf, membersOf, persist, recall, shorten } from "./log.ts";
import type { Assignment, KeptShelf } from "./machine.ts";
import { handleAppend, handleSnapshot, tellStored } from "./following.ts";
import { HEARTBEAT, TIMERS, type ToyImage, type ToyMessage, type ToyState, type ToyWrite } from "./state.ts";

export const toyLogNode: LogNode<ToyState, ToyMessage, ToyWrite, never, ToyImage, Assignment, KeptShelf> = {
  name: "toy-log",
  summary: "a test subject for nodes with a log, not for use: the least member leads for ever",
  hasLog: true,
  messageTypes: ["APPEND", "SNAPSHOT", "APPENDED"],
  timers: TIMERS,
  parameters: {
    heartbeatMs: { default: 50, help: "how often the leader sends what is missing" },
    compactAfter: { default: 12, help: "how many entries a log has before its host takes a snapshot" },
  },

  create({ id, members, settings }) {
    const places = Math.max(...members) + 1;
    return {
      id,
      members,
      leader: Math.min(...members),
      majority: (members.length >> 1) + 1,
      heartbeatMs: numberOf(settings, "heartbeatMs"),
      term: 0,
      isLeading: false,
      snapshot: undefined,
      entries: [],
      committed: 0,
      stored: 0,
      ticket: 0,
      pending: [],
      firstOfTerm: Infinity,
      round: 0,
      storedBy: Array.from({ length: places }, () => -1),
      answered: Array.from({ length: places }, () => 0),
      reads: [],
    };
  },

  start(state, image, _now, effects) {
    recall(state, image, effects);
    if (state.id !== state.leader) return effects.announce("follower", NOBODY, 0);
    state.term++;
    effects.announce("candidate", NOBODY, state.term);
    appendNothing(state, effects);
  },

  receive(state, from, message, _now, effects) {
    switch (message.type) {
      case "APPEND":
        return handleAppend(state, from, message, effects);
      case "SNAPSHOT":
        return handleSnapshot(state, from, message, effects);
      case "APPENDED":
        return handleAppended(state, from, message, effects);
    }
  },

  expire(state, timer, _subject, _now, effects) {
    if (timer === HEARTBEAT && state.isLeading) sendAll(state, effects);
  },

  stored(state, ticket, _now, effects) {
    while ((state.pending[0]?.ticket ?? Infinity) <= ticket) {
      const done = state.pending.shift();
      if (done === undefined) return;
      state.stored = Math.max(state.stored, done.last);
      if (done.reply !== undefined) tellStored(state, done.reply, effects);
    }
    if (state.id === state.leader) leadOn(state, effects);
  },

  command: () => undefined,

  propose(state, proposal, _now, effects) {
    if (!state.isLeading) return refusal(state);
    const entry = append(state, { kind: "proposal", proposal });
    persist(state, { entries: [entry] }, undefined, effects);
    return { outcome: "appended", index: entry.index, term: entry.term };
  },

  read(state, request, _now, effects) {
    if (!state.isLeading) return effects.unreadable(request, state.id === state.leader ? NOBODY : state.leader);
    state.round++;
    state.reads.push({ request, round: state.round });
    for (const peer of state.members) sendTo(state, peer, effects);
    tryReads(state, effects);
  },

  compact(state, index, kept, _now, effects) {
    if (index <= (state.snapshot?.index ?? 0) || index > state.committed) return;
    const term = entryAt(state, index)?.term ?? 0;
    const snapshot = { index, term, members: membersOf(state), kept };
    shorten(state, snapshot);
    persist(state, { snapshot }, undefined, effects);
  },

  changeMembers: (state) => (state.isLeading ? { ...refusal(state), why: "not-supported" } : refusal(state)),
  members: membersOf,
  bounds: (state) => ({
    snapshot: state.snapshot?.index ?? 0,
    applied: state.committed,
    committed: state.committed,
    last: lastOf(state),
  }),
  entryAt,

  fold(image = { term: 0, snapshot: undefined, entries: [] }, { term = image.term, entries = [], snapshot }) {
    const all = [...image.entries, ...entries];
    if (snapshot === undefined) return { term, snapshot: image.snapshot, entries: all };
    return { term, snapshot, entries: all.filter(({ index }) => index > snapshot.index) };
  },
};
