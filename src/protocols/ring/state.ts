// What a node of a ring knows, and what nodes of a ring say to each other. The same for Chang–Roberts and for LeLann.
import type { DetectorSettings, Watch } from "../detector/detector.ts";
import type { Effects, NodeId } from "../node.ts";

/** `id:attr` of the member that a message is about. The greater attribute is better; of equal ones the greater id. */
export interface RingBid {
  readonly id: NodeId;
  readonly attr: number;
}

/** Of one round, and about one member; passed on clockwise. */
export interface ElectionToken extends RingBid {
  readonly type: "ELECTION";
  readonly round: number;
}

/** The winner's, once around. */
export interface ElectedToken extends RingBid {
  readonly type: "ELECTED";
  readonly round: number;
}

/** What nodes of a ring send to each other. */
export type RingMessage =
  | ElectionToken
  | ElectedToken
  /** Are you alive? To the successor, and to those that were skipped before it. */
  | { readonly type: "PROBE" }
  /** I am; and this is the greatest round that I have met. */
  | { readonly type: "ALIVE"; readonly round: number }
  /** I have started. Sent to all: my predecessor must not skip me, and what I knew is lost. */
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

/** What a node of a ring knows. */
export interface RingState {
  readonly id: NodeId;
  readonly attr: number;
  /** All others, clockwise, from the next one on. */
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
  /** What is to be sent then. */
  outbox: RingMessage[];
  /** The best that has passed here in this round; at first its own. */
  best: RingBid;
  /** Whether it has sent anything on in this round. */
  isParticipant: boolean;
  /** LeLann: whose tokens have passed here in this round. */
  readonly seen: Set<NodeId>;
  /** Who is believed to be dead. */
  readonly dead: Set<NodeId>;
  /** The next one clockwise that is not; itself, if nobody is left. */
  successor: NodeId;
  /** Over the successor, where a detector listens. */
  watch: Watch | undefined;
  /** Whether the successor has been asked since the round began; true where a detector asks all the time. */
  isAsked: boolean;
}

/** What outlives a crash: the last round this node was in, so that it is in none twice. */
export interface RingImage {
  readonly round: number;
}

export type RingEffects = Effects<RingMessage, RingImage>;

export const TIMERS: readonly string[] = ["round", "probe", "silence"];
/** No ELECTED has come. */
export const ROUND = 0;
/** When to ask next, where a detector listens. */
export const PROBE = 1;
/** The successor has not answered. */
export const SILENCE = 2;

/** For `seen` and comparisons: whether the first is to be preferred. */
export function isBetter(a: RingBid, b: RingBid): boolean {
  return a.attr !== b.attr ? a.attr > b.attr : a.id > b.id;
}

export function listens({ detector }: RingState): boolean {
  return detector.kind !== "told";
}
