// The hunt for the toy log: under all faults, with clients that propose, read and, in half of the worlds, change members, and hosts that take snapshots. On this subject the contract of a node with a log, and the invariants of a log, are
// tried.
import { nextChance, nextInteger, nextOf } from "../../../../base/rng.ts";
import { numberOf } from "../../../../protocols/node.ts";
import { appliedInOrder } from "../../invariants/log/applied-in-order.ts";
import { committedOnMajority } from "../../invariants/log/committed-on-majority.ts";
import { freshReads } from "../../invariants/log/fresh-reads.ts";
import { keptAcknowledgements } from "../../invariants/log/kept-acknowledgements.ts";
import { leaderCompleteness } from "../../invariants/log/leader-completeness.ts";
import { logBounds } from "../../invariants/log/log-bounds.ts";
import { logMatching } from "../../invariants/log/log-matching.ts";
import { oneChange } from "../../invariants/log/one-change.ts";
import { soundSnapshots } from "../../invariants/log/sound-snapshots.ts";
import { stateMachineSafety } from "../../invariants/log/state-machine-safety.ts";
import { monotoneTerm } from "../../invariants/monotone-term.ts";
import { oneLeaderPerTerm } from "../../invariants/one-leader-per-term.ts";
import { type LogSubject, TOLERATES_ALL } from "../../subject.ts";
import { toyConfirmedReads } from "./confirmed-reads.ts";
import { type Assignment, type KeptShelf, type ToyShelf, toyMachine } from "./machine.ts";
import { toyLogNode } from "./node.ts";
import type { ToyImage, ToyMessage, ToyState, ToyWrite } from "./state.ts";

export const toyLog: LogSubject<ToyState, ToyMessage, ToyWrite, never, ToyImage, ToyShelf, Assignment, KeptShelf> = {
  node: toyLogNode,
  commands: {},
  invariants: [
    oneLeaderPerTerm,
    monotoneTerm,
    logMatching,
    logBounds,
    appliedInOrder,
    stateMachineSafety,
    leaderCompleteness,
    oneChange,
    committedOnMajority,
    keptAcknowledgements,
    freshReads,
    toyConfirmedReads,
    soundSnapshots(toyMachine),
  ],
  tolerates: { ...TOLERATES_ALL, drift: 0.1 },
  delayMaxMs: (settings) => numberOf(settings, "heartbeatMs") / 5,
  liveness: {
    needs: "majority",
    withinMs: (settings) => 100 * numberOf(settings, "heartbeatMs"),
    // A majority of all nodes may be none of the voters.
    isPromised: ({ membersChange }) => membersChange !== true,
    // A voter that does not hear the leader tries again and again.
    enduresHalfCuts: false,
  },
  isPerpetual: () => true,
  electsBy: "any",
  initiators: "none",
  drawSettings: (rng) => ({
    heartbeatMs: nextOf(rng, [20, 50, 100]),
    compactAfter: nextOf(rng, [3, 6, 12, 1000]),
    membersChange: nextChance(rng, 0.5),
  }),
  log: {
    machine: toyMachine,
    clientEveryMs: (settings) => numberOf(settings, "heartbeatMs") / 2,
    drawProposal: (rng, serial) => ({ key: nextOf(rng, ["a", "b", "c"]), value: serial * 10 + nextInteger(rng, 0, 9) }),
    drawChange(rng, nodes, { membersChange }) {
      if (membersChange !== true || !nextChance(rng, 0.2)) return undefined;
      return { type: nextOf(rng, ["remove", "add-learner", "promote"]), node: nextInteger(rng, 1, nodes) };
    },
    compactAfter: (settings) => numberOf(settings, "compactAfter"),
    holds: (image, { index, term }) =>
      image !== undefined &&
      ((image.snapshot?.index ?? 0) >= index || image.entries[index - (image.snapshot?.index ?? 0) - 1]?.term === term),
  },
};
