// Raft's election (Ongaro and Ousterhout 2014, section 5.2; Ongaro's thesis 2014, sections 3.4, 3.10, 4.2.3, 6.2, 9): at most one leader per term, by a majority of votes that are on disk.
//
// ASSUMES  For safety nothing but that a disk keeps the writes that it has acknowledged, and that members and their ids are fixed and known. Messages may be lost, late, doubled, reordered, and from
// before a restart; clocks may run as they like. For liveness: a majority whose members can talk to each other, messages and disk writes that take a small part of the election timeout, and CheckQuorum.
// PROMISES  Election Safety: in one term at most one member ever leads. A term or vote that anybody was told of in an answer outlives a crash. With PreVote and CheckQuorum: a leader that a majority
// hears and answers is deposed by nobody but itself (transfer), and a majority whose members can all talk agrees on a leader among them within a few timeouts, whatever the other members do.
// DOES NOT PROMISE  One leader at one instant: an old leader believes in itself until it hears of a newer term or, with CheckQuorum, for up to two election timeouts. Its actions must carry its term, and
// be refused by everything that has seen a greater one (a log does that; so does a fence). There is no lease for reads either: a restarted member votes at once. Without PreVote or without CheckQuorum
// some partial partitions never end; testdata/raft-election shows them. Leader Completeness and the other properties of the log mean nothing without a log: log.ts has the questions that an election asks
// of one.
//
//   role           input                              next
//   not leader     election timer                     pre-candidate (PreVote) or candidate
//   pre-candidate  a majority of pre-votes            candidate: a new term and the own vote go to disk, VOTE to all
//   candidate      own vote on disk                   it counts
//   candidate      a majority of votes                leader: APPEND to all, heartbeat timer
//   any            APPEND, term not older             follower of its sender; election timer anew
//   any            APPEND, older term                 APPENDED with the newer term
//   any            PRE-VOTE                           answered; nothing changes
//   any            VOTE, newer term                   follower in that term; ignored if CheckQuorum is on, a leader was heard and no transfer is meant
//   any            VOTE, this term                    granted once, to a log that is as good; election timer anew
//   any            a newer term in any answer         follower in that term; not so in a granted pre-vote, where it is only asked for
//   leader         no majority answered (CheckQuorum) follower of nobody
//   leader         told to transfer                   TIMEOUT-NOW to the target; given up after an election timeout
//   follower       TIMEOUT-NOW                        candidate, without PreVote, its VOTE marked as transfer
//
// FILES  role.ts the data of a role and of a term · storage.ts term and vote on disk · follower.ts · pre-vote.ts · vote.ts · leader.ts · check-quorum.ts · transfer.ts ·
// log.ts the parts that depend on the log. Members are fixed: learners and removed servers (thesis, chapter 4) come with the log.
import { NOBODY, numberOf, type ProtocolNode } from "../node.ts";
import { checkQuorum } from "./check-quorum.ts";
import { handleAppend } from "./follower.ts";
import { beat, becomeLeader, handleAppended } from "./leader.ts";
import { becomePreCandidate, handlePreVote, handlePreVoted } from "./pre-vote.ts";
import { becomeFollower, enterRole } from "./role.ts";
import { heartbeatOf, PARAMETERS, problemWith } from "./settings.ts";
import {
  CHECK_QUORUM,
  ELECTION,
  HEARTBEAT,
  type RaftCommand,
  type RaftEffects,
  type RaftMessage,
  type RaftState,
  type RaftWrite,
  TIMERS,
  TRANSFER,
} from "./state.ts";
import { recall, release, save } from "./storage.ts";
import { beginTransfer, giveUpTransfer, handleTimeoutNow } from "./transfer.ts";
import { becomeCandidate, countOwnVote, handleVote, handleVoted } from "./vote.ts";

function campaign(state: RaftState, effects: RaftEffects): void {
  if (state.role === "leader") return;
  if (state.hasPreVote) becomePreCandidate(state, effects);
  else becomeCandidate(state, false, effects);
}

/** The node of Raft's election, without a log. */
export const raftElection: ProtocolNode<RaftState, RaftMessage, RaftWrite, RaftCommand> = {
  name: "raft-election",
  summary: "the candidate with a majority of votes leads for a term (Ongaro and Ousterhout 2014)",
  messageTypes: ["PRE-VOTE", "PRE-VOTED", "VOTE", "VOTED", "APPEND", "APPENDED", "TIMEOUT-NOW"],
  timers: TIMERS,
  parameters: PARAMETERS,
  problemWith,

  create({ id, members, attribute, settings, leader, rng }) {
    const size = Math.max(...members) + 1;
    return {
      id,
      peers: members.filter((peer) => peer !== id),
      quorum: (members.length >> 1) + 1,
      timeoutMinMs: numberOf(settings, "electionTimeoutMinMs"),
      timeoutMaxMs: numberOf(settings, "electionTimeoutMaxMs"),
      heartbeatMs: heartbeatOf(settings),
      hasPreVote: settings["preVote"] === true,
      hasCheckQuorum: settings["checkQuorum"] === true,
      rng,
      log: { term: 0, index: settings["logs"] === "attribute" ? attribute : 0 },
      role: "follower",
      term: 0,
      vote: NOBODY,
      leader,
      heardAtMs: 0,
      timeoutMs: 0,
      votes: new Uint8Array(size),
      active: new Uint8Array(size),
      transferee: NOBODY,
      isTransfer: false,
      savedTerm: 0,
      savedVote: NOBODY,
      ticket: 0,
      durable: 0,
      withheld: [],
    };
  },

  /** A leader from before the world began has term 0, for which nobody can vote. */
  start(state, image, now, effects) {
    recall(state, image);
    state.heardAtMs = now;
    if (state.leader === state.id) return becomeLeader(state, effects);
    enterRole(state, "follower", effects);
    becomeFollower(state, state.term, state.leader, effects);
  },

  receive(state, from, message, now, effects) {
    switch (message.type) {
      case "APPEND":
        handleAppend(state, from, message.term, now, effects);
        break;
      case "APPENDED":
        handleAppended(state, from, message.term, effects);
        break;
      case "PRE-VOTE":
        handlePreVote(state, from, message, now, effects);
        break;
      case "PRE-VOTED":
        handlePreVoted(state, from, message, effects);
        break;
      case "VOTE":
        handleVote(state, from, message, now, effects);
        break;
      case "VOTED":
        handleVoted(state, from, message, effects);
        break;
      case "TIMEOUT-NOW":
        handleTimeoutNow(state, message.term, effects);
        break;
    }
    save(state, effects);
  },

  expire(state, timer, _subject, _now, effects) {
    if (timer === ELECTION) campaign(state, effects);
    else if (state.role !== "leader") return;
    else if (timer === HEARTBEAT) beat(state, effects);
    else if (timer === CHECK_QUORUM) checkQuorum(state, effects);
    else if (timer === TRANSFER) giveUpTransfer(state);
    save(state, effects);
  },

  stored(state, ticket, _now, effects) {
    release(state, ticket, effects);
    countOwnVote(state, effects);
  },

  command(state, command, _now, effects) {
    if (command.type === "campaign") campaign(state, effects);
    else beginTransfer(state, command.to, effects);
    save(state, effects);
  },

  fold: (_image, write) => write,
};
