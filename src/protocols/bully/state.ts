// The state of a Bully node, and the messages that Bully nodes send to each other.
import type { DetectorSettings, Watch } from "../detector/detector.ts";
import type { Effects, NodeId } from "../node.ts";

/** The messages that nodes of the bully algorithm send to each other. */
export type BullyMessage =
  /** Asks which nodes with a greater id are alive. */
  | { readonly type: "ELECTION"; readonly number: number }
  /** The answer: the sender is alive and takes over the election. It carries the number of the election it answers, and the greatest that its sender has met. */
  | { readonly type: "OK"; readonly number: number; readonly seen: number }
  /** The sender leads. */
  | { readonly type: "COORDINATOR"; readonly number: number }
  /** The sender still leads. Sent only where a detector listens. */
  | { readonly type: "HEARTBEAT"; readonly number: number };

/** Begin an election; the member `node` is dead. */
export type BullyCommand = { readonly type: "campaign" } | { readonly type: "suspect"; readonly node: NodeId };

/**
 *   idle        follows `leader`, or nobody yet
 *   preparing   has chosen an election number, which is not yet on disk
 *   asking      has sent ELECTION; the answer timer runs
 *   yielding    got an OK; the coordinator timer runs
 *   leading     has announced itself
 */
export type BullyPhase = "idle" | "preparing" | "asking" | "yielding" | "leading";

/** The state of a node of the bully algorithm. */
export interface BullyState {
  readonly id: NodeId;
  readonly lower: readonly NodeId[];
  readonly higher: readonly NodeId[];
  readonly answerTimeoutMs: number;
  readonly coordinatorTimeoutMs: number;
  readonly detector: DetectorSettings;
  phase: BullyPhase;
  leader: NodeId;
  /** The number under which `leader` announced itself. */
  leaderNumber: number;
  /** The greatest election number met. ≥ leaderNumber, ≥ election. */
  number: number;
  /** The number of the own election, while preparing, asking or yielding. */
  election: number;
  /** The watch over the leader. */
  watch: Watch | undefined;
}

/** The data that survives a crash: the greatest number this node has used, so that it never uses one twice. */
export interface BullyImage {
  readonly number: number;
}

export type BullyEffects = Effects<BullyMessage, BullyImage>;

export const TIMERS: readonly string[] = ["answer", "coordinator", "heartbeat", "detect"];
export const ANSWER = 0;
export const COORDINATOR = 1;
export const HEARTBEAT = 2;
export const DETECT = 3;
