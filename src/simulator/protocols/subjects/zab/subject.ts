// The hunt for ZAB's election: under all faults, since its safety rests on nothing but its disk.
import { nextOf } from "../../../../base/rng.ts";
import { numberOf, type NodeSettings } from "../../../../protocols/node.ts";
import type { ZabCommand, ZabImage, ZabMessage, ZabState } from "../../../../protocols/zab/state.ts";
import { timingOf, zab as node } from "../../../../protocols/zab/zab.ts";
import { monotoneTerm } from "../../invariants/monotone-term.ts";
import { oneLeaderPerTerm } from "../../invariants/one-leader-per-term.ts";
import { type Subject, TOLERATES_ALL } from "../../subject.ts";
import { zabElectedInRound } from "./elected-in-round.ts";
import { zabEpochs } from "./epochs.ts";
import { zabHeededPeers } from "./heeded-peers.ts";
import { zabHeededVotes } from "./heeded-votes.ts";
import { zabKeptHistory } from "./kept-history.ts";
import { zabSoundDecision } from "./sound-decision.ts";
import { zabStandingCandidates } from "./standing-candidates.ts";
import { zabSupportingQuorum } from "./supporting-quorum.ts";

/** This is long enough for a few elections in a row that fail, after the slowest peer has spoken. */
function withinMs(settings: NodeSettings): number {
  const { initLimitMs, syncLimitMs, maxNotificationMs, finalizeWaitMs, minNotificationMs } = timingOf(settings);
  return 6 * (initLimitMs + syncLimitMs) + 3 * maxNotificationMs + 8 * (finalizeWaitMs + minNotificationMs);
}

export const zab: Subject<ZabState, ZabMessage, ZabImage, ZabCommand> = {
  node,
  commands: {
    campaign: { help: "leaves its leader and looks for one", command: () => ({ type: "campaign" }) },
    suspect: {
      help: "the same, if it follows the node of that number",
      command: (argument) => ({ type: "suspect", node: argument }),
    },
  },
  invariants: [
    oneLeaderPerTerm,
    monotoneTerm,
    zabEpochs,
    zabSupportingQuorum,
    zabKeptHistory,
    zabElectedInRound,
    zabStandingCandidates,
    zabSoundDecision,
    zabHeededVotes,
    zabHeededPeers,
  ],
  tolerates: { ...TOLERATES_ALL, drift: 0.1 },
  delayMaxMs: (settings) => numberOf(settings, "tickMs") / 4,
  liveness: { needs: "majority", withinMs, isPromised: ({ weightless }) => weightless === "", enduresHalfCuts: false },
  isPerpetual: () => true,
  electsBy: "attribute",
  initiators: "none",
  drawSettings: (rng) => ({
    finalizeWaitMs: nextOf(rng, [200, 50, 0, 0]),
    minNotificationMs: nextOf(rng, [200, 20]),
    maxNotificationMs: nextOf(rng, [200, 400, 1600, 6400]),
    initLimit: nextOf(rng, [20, 10, 5]),
    syncLimit: nextOf(rng, [5, 5, 3]),
    weightless: nextOf(rng, ["", "", "", "", "", "1", "2", "3,1"]),
  }),
};
