// The hunt for Chang–Roberts and LeLann: under crashes, with messages that keep to the bound that they assume, and a detector that makes no mistakes.
import { nextOf } from "../../../../base/rng.ts";
import { numberOf, type NodeSettings } from "../../../../protocols/node.ts";
import { changRoberts as changRobertsNode } from "../../../../protocols/ring/chang-roberts.ts";
import { lelann as lelannNode } from "../../../../protocols/ring/lelann.ts";
import { type RingNode, roundTimeoutOf } from "../../../../protocols/ring/ring.ts";
import type { RingCommand, RingImage, RingMessage, RingState } from "../../../../protocols/ring/state.ts";
import { bestElected } from "../../invariants/best-elected.ts";
import { exclusiveLeader } from "../../invariants/exclusive-leader.ts";
import { fencedWrites } from "../../invariants/fenced-writes.ts";
import { monotoneTerm } from "../../invariants/monotone-term.ts";
import { type Subject, TOLERATES_CRASHES } from "../../subject.ts";
import { bestInRound } from "./best-in-round.ts";
import { oneElected } from "./one-elected.ts";
import { tokenOnce } from "./token-once.ts";

type RingSubject = Subject<RingState, RingMessage, RingImage, RingCommand>;

/** Returns how long a death goes unnoticed; phi-accrual has no bound, and this is one for a calm network. */
function detectionOf(settings: NodeSettings): number {
  const isPhi = settings["detector"] === "phi";
  return isPhi ? 10 * numberOf(settings, "heartbeatEveryMs") : numberOf(settings, "heartbeatTimeoutMs");
}

function ringSubject(node: RingNode, reordering: boolean): RingSubject {
  return {
    node,
    commands: {
      campaign: { help: "begins a round", command: () => ({ type: "campaign" }) },
      suspect: {
        help: "says that the node of that number is dead",
        command: (argument) => ({ type: "suspect", node: argument }),
      },
    },
    invariants: [bestElected, bestInRound, exclusiveLeader, oneElected, monotoneTerm, tokenOnce, fencedWrites],
    tolerates: { ...TOLERATES_CRASHES, reordering },
    delayMaxMs: (settings) => numberOf(settings, "delayMs"),
    liveness: {
      needs: "everybody",
      withinMs: (settings, nodes) => (nodes + 1) * (roundTimeoutOf(settings, nodes) + detectionOf(settings)),
    },
    isPerpetual: ({ detector }) => detector !== "told",
    electsBy: "attribute",
    initiators: "first",
    drawSettings: (rng) => ({
      delayMs: nextOf(rng, [5, 10, 20]),
      // Both wait longer than any answer that can still come: the ring relies on a detector that makes no mistakes.
      ...nextOf(rng, [{ detector: "heartbeat" }, { detector: "phi", phiThreshold: 40 }]),
    }),
  };
}

export const changRoberts: RingSubject = ringSubject(changRobertsNode, true);
/** LeLann tolerates no reordering: a token that overtook another would come home before every member has been seen. */
export const lelann: RingSubject = ringSubject(lelannNode, false);
