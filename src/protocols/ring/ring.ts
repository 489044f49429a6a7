// The common part of Chang–Roberts and LeLann: everything except the treatment of a token. Each algorithm is this frame and one function.
//
//   phase       input                              next
//   not running campaign, or the leader is dead    running: the next round goes to disk, then the own token to the successor
//   any         ELECTION, newer round              running, in that round; then as the algorithm says
//   running     ELECTION, this round               as the algorithm says
//   running     own token back                     leading: ELECTED to the successor, once around
//   any         ELECTED, this or a newer round     following; passed on. If the elected node is a lesser one, or dead: a new round
//   any         anything of an older round         dropped
//   decided     anything of this round             dropped
//   any         the successor is dead              skip it; in an undecided round, or if it led or was about to: a new round
//   any         BACK of the new successor          a new round: it has forgotten the tokens that passed through it, and may be the best
//   running     no ELECTED for a whole round       ask the successor whether it lives; if it does and still nothing comes: a new round
//
// A ROUND IN WHICH THE RING CHANGES IS LOST. A node that changes its successor in an undecided round begins a new one; so in one round a node sends to one successor only, and tokens stay in order. A
// node could instead send the tokens that the dead node may have swallowed to the next one. That would save a part of a round, but such tokens would have to be told from doubled ones.
// The hunt cannot test two rules, because too much must go wrong at once: a node that is better than the elected one objects (lelann.test.ts shows how), and no node follows one that an operator has
// called dead (ring.test.ts). Their mutants are found by those tests.
// A TOKEN PASSES A NODE ONCE. A token whose owner has died does not circulate for ever, and a doubled one goes no further than one hop; no hop counter is needed.
import { DETECTOR_PARAMETERS, detectorOf } from "../detector/detector.ts";
import { NOBODY, type NodeId, numberOf, type ProtocolNode, type NodeSettings, type Setup } from "../node.ts";
import { askSuccessor, chooseSuccessor, hearAlive, isSilent, probe, watchSuccessor } from "./neighbours.ts";
import { beginRound, follow, hearElected, hearElection, sendStored, takeLead, type TakeToken } from "./round.ts";
import {
  listens,
  PROBE,
  type RingCommand,
  type RingEffects,
  type RingImage,
  type RingMessage,
  type RingState,
  ROUND,
  SILENCE,
  TIMERS,
} from "./state.ts";

/** The way to the best node, the round of its token, and the round of ELECTED: each has at most N hops. */
export function roundTimeoutOf(settings: NodeSettings, nodes: number): number {
  const asked = numberOf(settings, "roundTimeoutMs");
  return asked > 0 ? asked : 3 * nodes * (numberOf(settings, "delayMs") + numberOf(settings, "processMs"));
}

// ---- the living and the dead -----------------------------------------------------------------------------------------------------------

function bury(state: RingState, peer: NodeId, now: number, effects: RingEffects): void {
  if (peer === state.id) return;
  state.dead.add(peer);
  const isSkipped = chooseSuccessor(state, now, effects);
  if (isSkipped) effects.explain("the successor is dead: skipped");
  const isRunning = state.phase === "running";
  if (peer === state.leader || (isRunning && (isSkipped || peer === state.best.id))) beginRound(state, effects);
}

/** The peer has started, or was taken for dead and is not. Only its predecessor has to act. */
function welcome(state: RingState, peer: NodeId, now: number, effects: RingEffects): void {
  state.dead.delete(peer);
  const isNew = chooseSuccessor(state, now, effects);
  if (state.successor !== peer) return;
  if (!isNew) watchSuccessor(state, now, effects);
  effects.explain("the successor is back: begin a new round");
  beginRound(state, effects);
}

function sayBack(state: RingState, effects: RingEffects): void {
  const message: RingMessage = { type: "BACK" };
  for (const peer of state.others) effects.send(peer, message);
  effects.setTimer(ROUND, state.roundTimeoutMs);
}

function hang(state: RingState, effects: RingEffects): void {
  if (state.isAsked) {
    effects.explain("no ELECTED came: begin a new round");
    // Another node may have been told that this one is dead. Where there is a detector, a node that skips this one goes on asking it.
    if (!listens(state)) sayBack(state, effects);
    return beginRound(state, effects);
  }
  effects.explain("no ELECTED came: is the successor alive?");
  askSuccessor(state, effects);
  effects.setTimer(ROUND, state.roundTimeoutMs);
}

// ---- the node --------------------------------------------------------------------------------------------------------------------------

export type RingNode = ProtocolNode<RingState, RingMessage, RingImage, RingCommand>;

interface Algorithm {
  readonly name: string;
  readonly summary: string;
  readonly takeToken: TakeToken;
}

export function ringNode({ name, summary, takeToken }: Algorithm): RingNode {
  return {
    ...FRAME,
    name,
    summary,
    receive(state, from, message, now, effects) {
      if (message.type === "ALIVE") state.met = Math.max(state.met, message.round);
      if (message.type === "BACK" || state.dead.has(from)) welcome(state, from, now, effects);
      switch (message.type) {
        case "BACK":
          return;
        case "ELECTION":
          return hearElection(state, message, takeToken, effects);
        case "ELECTED":
          return hearElected(state, message, effects);
        case "PROBE":
          return effects.send(from, { type: "ALIVE", round: state.met });
        case "ALIVE":
          return hearAlive(state, from, now, effects);
      }
    },
  };
}

function createState({ id, members, attribute, settings, leader }: Setup): RingState {
  const place = members.indexOf(id);
  return {
    id,
    attr: attribute,
    others: [...members.slice(place + 1), ...members.slice(0, place)],
    detector: detectorOf(settings),
    roundTimeoutMs: roundTimeoutOf(settings, members.length),
    answerTimeoutMs: 2 * numberOf(settings, "delayMs") + 2 * numberOf(settings, "processMs"),
    phase: "waiting",
    leader,
    round: 0,
    met: 0,
    stored: -1,
    outbox: [],
    best: { id, attr: attribute },
    isParticipant: false,
    seen: new Set(),
    dead: new Set(),
    successor: id,
    watch: undefined,
    isAsked: false,
  };
}

const FRAME: Omit<RingNode, "name" | "summary" | "receive"> = {
  messageTypes: ["ELECTION", "ELECTED", "PROBE", "ALIVE", "BACK"],
  timers: TIMERS,
  parameters: {
    delayMs: { default: 10, help: "no message takes longer" },
    processMs: { default: 1, help: "no node takes longer to answer, nor a disk to write" },
    roundTimeoutMs: { default: 0, help: "how long to wait for ELECTED; 0: 3·N·(delay + process)" },
    ...DETECTOR_PARAMETERS,
  },

  create: createState,

  /** Without a detector a first start waits to be told; a node that has a disk image ran before, and says that it is back. */
  start(state, image, now, effects) {
    state.round = image?.round ?? 0;
    state.met = state.round;
    effects.persist(state.round, { round: state.round });
    chooseSuccessor(state, now, effects);
    if (state.leader === state.id) takeLead(state, effects);
    else if (state.leader !== NOBODY) follow(state, state.leader, effects);
    else if (image !== undefined || listens(state)) sayBack(state, effects);
  },

  expire(state, timer, _subject, now, effects) {
    if (timer === ROUND && (state.phase === "running" || state.phase === "waiting")) hang(state, effects);
    else if (timer === PROBE) probe(state, effects);
    else if (timer === SILENCE && isSilent(state, now, effects)) bury(state, state.successor, now, effects);
  },

  stored: (state, ticket, _now, effects) => sendStored(state, ticket, effects),

  command(state, command, now, effects) {
    if (command.type === "suspect") bury(state, command.node, now, effects);
    else if (state.phase !== "running") beginRound(state, effects);
  },

  fold: (_image, write) => write,
};
