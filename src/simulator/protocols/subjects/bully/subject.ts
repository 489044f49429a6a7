// The hunt for Bully: under crashes, with messages that keep to the bound that it assumes.
import { nextOf } from "../../../../base/rng.ts";
import { answerTimeoutOf, bully as node, coordinatorTimeoutOf } from "../../../../protocols/bully/bully.ts";
import type { BullyCommand, BullyImage, BullyMessage, BullyState } from "../../../../protocols/bully/state.ts";
import { numberOf } from "../../../../protocols/node.ts";
import { bestAnnounced } from "../../invariants/best-announced.ts";
import { bestElected } from "../../invariants/best-elected.ts";
import { fencedWrites } from "../../invariants/fenced-writes.ts";
import { oneLeader } from "../../invariants/one-leader.ts";
import { type Subject, TOLERATES_CRASHES } from "../../subject.ts";
import { answeredElection } from "./answered-election.ts";
import { freshNumber } from "./fresh-number.ts";

export const bully: Subject<BullyState, BullyMessage, BullyImage, BullyCommand> = {
  node,
  commands: {
    campaign: { help: "begins an election", command: () => ({ type: "campaign" }) },
    suspect: {
      help: "says that the node of that number is dead",
      command: (argument) => ({ type: "suspect", node: argument }),
    },
  },
  invariants: [answeredElection, bestAnnounced, bestElected, oneLeader, freshNumber, fencedWrites],
  tolerates: { ...TOLERATES_CRASHES, reordering: true },
  delayMaxMs: (settings) => numberOf(settings, "delayMs"),
  liveness: {
    needs: "everybody",
    withinMs: (settings, nodes) =>
      (nodes + 2) * (answerTimeoutOf(settings) + coordinatorTimeoutOf(settings)) +
      3 * numberOf(settings, "heartbeatTimeoutMs"),
  },
  isPerpetual: ({ detector }) => detector !== "told",
  electsBy: "id",
  initiators: "none",
  drawSettings: (rng) => ({
    detector: nextOf(rng, ["told", "told", "heartbeat", "phi"]),
    delayMs: nextOf(rng, [5, 10, 20]),
  }),
};
