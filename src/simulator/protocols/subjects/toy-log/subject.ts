// The hunt for the toy log: under all faults, with clients that propose and read, and hosts that take snapshots. On this subject the contract of a node with a log, and the invariants of a log, are
// tried.
import { nextInteger, nextOf } from "../../../../base/rng.ts";
import { numberOf } from "../../../../protocols/node.ts";
import { appliedInOrder } from "../../invariants/log/applied-in-order.ts";
import { committedOnMajority } from "../../invariants/log/committed-on-majority.ts";
import { freshReads } from "../../invariants/log/fresh-reads.ts";
import { keptAcknowledgements } from "../../invariants/log/kept-acknowledgements.ts";
import { logBounds } from "../../invariants/log/log-bounds.ts";
import { logMatching } from "../../invariants/log/log-matching.ts";
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
    withinMs: (settings) => 40 * numberOf(settings, "heartbeatMs"),
    mustInclude: [1],
  },
  isPerpetual: () => true,
  electsBy: "any",
  initiators: "none",
  drawSettings: (rng) => ({ heartbeatMs: nextOf(rng, [20, 50, 100]), compactAfter: nextOf(rng, [3, 6, 12, 1000]) }),
  log: {
    machine: toyMachine,
    clientEveryMs: (settings) => numberOf(settings, "heartbeatMs") / 2,
    drawProposal: (rng, serial) => ({ key: nextOf(rng, ["a", "b", "c"]), value: serial * 10 + nextInteger(rng, 0, 9) }),
    compactAfter: (settings) => numberOf(settings, "compactAfter"),
    holds: (image, { index, term }) =>
      image !== undefined &&
      ((image.snapshot?.index ?? 0) >= index || image.entries[index - (image.snapshot?.index ?? 0) - 1]?.term === term),
  },
};
