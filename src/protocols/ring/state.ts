// The state of a node of a ring, and the messages that nodes of a ring send to each other. They are the same for Chang–Roberts and for LeLann.
import type { DetectorSettings, Watch } from "../detector/detector.ts";
import type { Effects, NodeId } from "../node.ts";

/** `id:attr` of the member that a message is about. The greater attribute is better; of equal ones the greater id. */
export interface RingBid {
  readonly id: NodeId;
  readonly attr: number;
}

/** A token of one round, about one member; it is passed on clockwise. */
export interface ElectionToken extends RingBid {
  readonly type: "ELECTION";
  readonly round: number;
}

/** The winner's token, which goes once around. */
export interface ElectedToken extends RingBid {
  readonly type: "ELECTED";
  readonly round: number;
}

/** The messages that nodes of a ring send to each other. */
export type RingMessage =
  | ElectionToken
  | ElectedToken
  /** Asks whether a node is alive. It goes to the successor, and to the nodes that were skipped before it. */
  | { readonly type: "PROBE" }
  /** The answer: the sender is alive, and this is the greatest round that it has met. */
  | { readonly type: "ALIVE"; readonly round: number }
  /** The sender has started. It goes to all: the predecessor must not skip the sender, and the sender has lost its state. */
  | { readonly type: "BACK" };

/** Begin a round; the member `node` is dead. */
export type RingCommand = { readonly type: "campaign" } | { readonly type: "suspect"; readonly node: NodeId };

/**
 *   waiting     knows no leader and takes part in nothing: before its first round, or in a new life
 *   running     takes part in `round`, which is not decided here
 *   following   `round` was decided: `leader` leads
 *   leading     `round` was decided: this node leads
 */
export type RingPhase = "waiting" | "running" | "following" | "leading";

/** The state of a node of a ring. */
export interface RingState {
  readonly id: NodeId;
  readonly attr: number;
  /** All other nodes, clockwise, from the next one on. */
  readonly others: readonly NodeId[];
  readonly detector: DetectorSettings;
  readonly roundTimeoutMs: number;
  readonly answerTimeoutMs: number;
  phase: RingPhase;
  leader: NodeId;
  /** The round that this node is in, or was in last. */
  round: number;
  /** The greatest round it has heard of. ≥ round. */
  met: number;
  /** The greatest round on its disk. ≤ round. Nothing of `round` is sent before they are equal. */
  stored: number;
  /** The messages that are sent when `round` is on disk. */
  outbox: RingMessage[];
  /** The best bid that has passed here in this round; at first the node's own. */
  best: RingBid;
  /** Whether the node has sent anything on in this round. */
  isParticipant: boolean;
  /** LeLann: the nodes whose tokens have passed here in this round. */
  readonly seen: Set<NodeId>;
  /** The nodes that are believed to be dead. */
  readonly dead: Set<NodeId>;
  /** The next node clockwise that is not believed to be dead; the node itself, if no other is left. */
  successor: NodeId;
  /** The watch over the successor, where a detector listens. */
  watch: Watch | undefined;
  /** Whether the successor has been asked since the round began; true where a detector asks all the time. */
  isAsked: boolean;
}

/** The data that survives a crash: the last round this node was in, so that it is in none twice. */
export interface RingImage {
  readonly round: number;
}

export type RingEffects = Effects<RingMessage, RingImage>;

export const TIMERS: readonly string[] = ["round", "probe", "silence"];
/** The timer for a round in which no ELECTED has come. */
export const ROUND = 0;
/** The timer for the next PROBE, where a detector listens. */
export const PROBE = 1;
/** The timer for a successor that has not answered. */
export const SILENCE = 2;

/** Tells whether the first bid is to be preferred. */
export function isBetter(a: RingBid, b: RingBid): boolean {
  return a.attr !== b.attr ? a.attr > b.attr : a.id > b.id;
}

export function listens({ detector }: RingState): boolean {
  return detector.kind !== "told";
}
