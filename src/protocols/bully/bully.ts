// Bully (Garcia-Molina 1982): the greatest id that is alive leads, and takes over from a lesser one when it comes back.
//
// ASSUMES  Links lose nothing and deliver within `delayMs`; a node answers within `processMs`; members and their ids are known to all; a crashed node returns with the number it had on disk. Then a
// missing answer means that the node is dead. The algorithm knows nothing else.
// PROMISES  While that holds: every node that is up follows the greatest id that is up, soon after the last crash or restart; two nodes lead at once for no longer than one message takes.
// DOES NOT PROMISE  Anything under partition: each side elects its own leader, and both act. There is no quorum to forbid it and no term to tell the two apart. Everything that a Bully leader writes must
// be fenced at the resource. A wrong suspicion alone is harmless: the live leader answers and wins again.
//
//   phase       input                    next
//   idle        leader suspected         preparing: the next election number goes to disk
//   preparing   stored                   asking: ELECTION to all greater ids, answer timer; nobody is greater: leading
//   asking      OK of this election      yielding: coordinator timer
//   asking      answer timer             leading: COORDINATOR to all lesser ids
//   yielding    coordinator timer        preparing: the node that answered has died since; begin again
//   any         ELECTION of a lesser id  OK back; begin an own election, unless one runs
//   idle        an older ELECTION        OK back, and no more: the leader has answered it, or will
//   leading     an older ELECTION        OK back, and COORDINATOR to the asker alone
//   any         COORDINATOR, greater id  idle, following it
//   any         COORDINATOR, lesser id   begin an own election: this node is the better one
//
// ELECTION NUMBERS  Every election has a number greater than any that its node has met, and the number is on disk before it is sent. An OK answers one number: a late OK of an earlier election stops
// nothing. A COORDINATOR of a lesser id than the known leader counts only with a greater number: then its sender knew that leader and outlived it; with a lesser number it is an old announcement that was
// slow.
// A node that returns may not know how far the numbers have come. It leads at once (its id is the greatest), and the leader that it deposes answers with an election, which tells it the number.
import { DETECTOR_PARAMETERS, detectorOf, heard, suspects, suspectsAt, watch } from "../detector/detector.ts";
import { NOBODY, type NodeId, numberOf, type ProtocolNode, type NodeSettings } from "../node.ts";
import {
  ANSWER,
  type BullyCommand,
  type BullyEffects,
  type BullyImage,
  type BullyMessage,
  type BullyState,
  COORDINATOR,
  DETECT,
  HEARTBEAT,
  TIMERS,
} from "./state.ts";

export function answerTimeoutOf(settings: NodeSettings): number {
  const asked = numberOf(settings, "answerTimeoutMs");
  return asked > 0 ? asked : 2 * numberOf(settings, "delayMs") + 2 * numberOf(settings, "processMs");
}

/** The node that said OK asks in its turn, waits as long as we do, and announces itself; a greater node may begin one delay later. */
export function coordinatorTimeoutOf(settings: NodeSettings): number {
  const asked = numberOf(settings, "coordinatorTimeoutMs");
  if (asked > 0) return asked;
  return answerTimeoutOf(settings) + 2 * numberOf(settings, "delayMs") + 2 * numberOf(settings, "processMs");
}

// ---- elections -------------------------------------------------------------------------------------------------------------------------

function beginElection(state: BullyState, effects: BullyEffects): void {
  effects.cancelTimer(COORDINATOR);
  effects.cancelTimer(HEARTBEAT);
  effects.cancelTimer(DETECT);
  state.phase = "preparing";
  state.leader = NOBODY;
  state.watch = undefined;
  state.number++;
  state.election = state.number;
  effects.announce("candidate", NOBODY, state.number);
  effects.persist(state.election, { number: state.election });
}

/**
 * The leader's announcement has answered every ELECTION that is older than it: a follower only says that it lives, and the leader announces itself to the asker alone. If that leader has died
 * meanwhile, the asker finds no coordinator and asks again, with a number that it has from the OK.
 */
function answer(state: BullyState, from: NodeId, number: number, effects: BullyEffects): void {
  const isOld = state.leader !== NOBODY && number <= state.leaderNumber;
  state.number = Math.max(state.number, number);
  effects.send(from, { type: "OK", number, seen: state.number });
  if (!isOld) joinElection(state, effects);
  else if (state.phase === "leading") effects.send(from, { type: "COORDINATOR", number: state.leaderNumber });
}

/** Begins an election, unless one runs already. */
function joinElection(state: BullyState, effects: BullyEffects): void {
  if (state.phase === "idle" || state.phase === "leading") beginElection(state, effects);
}

function askHigher(state: BullyState, effects: BullyEffects): void {
  if (state.higher.length === 0) return lead(state, effects);
  state.phase = "asking";
  const message: BullyMessage = { type: "ELECTION", number: state.election };
  for (const peer of state.higher) effects.send(peer, message);
  effects.setTimer(ANSWER, state.answerTimeoutMs);
}

function yieldTo(state: BullyState, effects: BullyEffects): void {
  state.phase = "yielding";
  effects.cancelTimer(ANSWER);
  effects.setTimer(COORDINATOR, state.coordinatorTimeoutMs);
}

function lead(state: BullyState, effects: BullyEffects): void {
  takeLead(state, effects);
  const message: BullyMessage = { type: "COORDINATOR", number: state.election };
  for (const peer of state.lower) effects.send(peer, message);
}

function takeLead(state: BullyState, effects: BullyEffects): void {
  state.phase = "leading";
  state.leader = state.id;
  state.leaderNumber = state.election;
  effects.announce("leader", state.id, state.number);
  if (state.detector.kind !== "told") effects.setTimer(HEARTBEAT, state.detector.everyMs);
}

function follow(state: BullyState, leader: NodeId, number: number, now: number, effects: BullyEffects): void {
  effects.cancelTimer(ANSWER);
  effects.cancelTimer(COORDINATOR);
  effects.cancelTimer(HEARTBEAT);
  state.phase = "idle";
  state.leader = leader;
  state.leaderNumber = number;
  state.watch = watch(state.detector, now);
  armDetection(state, now, effects);
  effects.announce("follower", leader, state.number);
}

// ---- the leader ------------------------------------------------------------------------------------------------------------------------

function hearCoordinator(state: BullyState, from: NodeId, number: number, now: number, effects: BullyEffects): void {
  const isBehind = number <= state.leaderNumber && state.phase === "leading";
  const isLate = from <= state.leader && number <= state.leaderNumber;
  state.number = Math.max(state.number, number);
  if (from < state.id) {
    effects.explain("a lesser id announces itself: bully it");
    joinElection(state, effects);
  } else if (isBehind) {
    effects.explain("a greater id is back and does not know the numbers: an election tells it");
    beginElection(state, effects);
  } else if (isLate) effects.explain("an old announcement, overtaken: ignored");
  else follow(state, from, number, now, effects);
}

function hearHeartbeat(state: BullyState, from: NodeId, number: number, now: number, effects: BullyEffects): void {
  if (from !== state.leader || state.watch === undefined) return hearCoordinator(state, from, number, now, effects);
  heard(state.watch, now);
  armDetection(state, now, effects);
}

function armDetection(state: BullyState, now: number, effects: BullyEffects): void {
  if (state.watch === undefined) return;
  const at = suspectsAt(state.watch);
  if (at === Infinity) effects.cancelTimer(DETECT);
  else effects.setTimer(DETECT, at - now);
}

function beat(state: BullyState, effects: BullyEffects): void {
  const message: BullyMessage = { type: "HEARTBEAT", number: state.leaderNumber };
  for (const peer of state.lower) effects.send(peer, message);
  for (const peer of state.higher) effects.send(peer, message);
  effects.setTimer(HEARTBEAT, state.detector.everyMs);
}

// ---- the node --------------------------------------------------------------------------------------------------------------------------

/** The node of the bully algorithm (Garcia-Molina 1982): the greatest id that is alive leads. */
export const bully: ProtocolNode<BullyState, BullyMessage, BullyImage, BullyCommand> = {
  name: "bully",
  summary: "the greatest id that is alive leads (Garcia-Molina 1982)",
  messageTypes: ["ELECTION", "OK", "COORDINATOR", "HEARTBEAT"],
  timers: TIMERS,
  parameters: {
    delayMs: { default: 10, help: "no message takes longer" },
    processMs: { default: 1, help: "no node takes longer to answer, nor a disk to write" },
    answerTimeoutMs: { default: 0, help: "how long to wait for an OK; 0: 2·delay + 2·process" },
    coordinatorTimeoutMs: {
      default: 0,
      help: "how long after an OK to wait for COORDINATOR; 0: answer timeout + 2·delay + 2·process",
    },
    ...DETECTOR_PARAMETERS,
  },

  create({ id, members, settings, leader }) {
    return {
      id,
      lower: members.filter((peer) => peer < id),
      higher: members.filter((peer) => peer > id),
      answerTimeoutMs: answerTimeoutOf(settings),
      coordinatorTimeoutMs: coordinatorTimeoutOf(settings),
      detector: detectorOf(settings),
      phase: "idle",
      leader,
      leaderNumber: 0,
      number: 0,
      election: 0,
      watch: undefined,
    };
  },

  /** A node that comes back holds an election; the node with the greatest id has nobody to ask and announces itself. */
  start(state, image, now, effects) {
    state.number = image?.number ?? 0;
    if (state.leader === NOBODY) beginElection(state, effects);
    else if (state.leader === state.id) takeLead(state, effects);
    else follow(state, state.leader, 0, now, effects);
  },

  receive(state, from, message, now, effects) {
    switch (message.type) {
      case "ELECTION":
        if (from > state.id) return;
        return answer(state, from, message.number, effects);
      case "OK":
        state.number = Math.max(state.number, message.seen);
        if (state.phase === "asking" && message.number === state.election) yieldTo(state, effects);
        return;
      case "COORDINATOR":
        return hearCoordinator(state, from, message.number, now, effects);
      case "HEARTBEAT":
        return hearHeartbeat(state, from, message.number, now, effects);
    }
  },

  expire(state, timer, _subject, now, effects) {
    if (timer === ANSWER && state.phase === "asking") lead(state, effects);
    else if (timer === COORDINATOR && state.phase === "yielding") {
      effects.explain("answered, and then no coordinator came: begin again");
      beginElection(state, effects);
    } else if (timer === HEARTBEAT && state.phase === "leading") beat(state, effects);
    else if (timer === DETECT && state.watch !== undefined && state.phase === "idle") {
      if (suspects(state.watch, now)) joinElection(state, effects);
      else armDetection(state, now, effects);
    }
  },

  stored(state, ticket, _now, effects) {
    if (state.phase === "preparing" && ticket === state.election) askHigher(state, effects);
  },

  command(state, command, _now, effects) {
    if (command.type === "campaign" || command.node === state.leader) joinElection(state, effects);
  },

  fold: (_image, write) => write,
};
