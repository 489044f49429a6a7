// The hunt for master leases: under all faults but clocks beyond the bound that they assume.
import { nextOf } from "../../../../base/rng.ts";
import { masterLease as node } from "../../../../protocols/master-lease/master-lease.ts";
import type {
  MasterLeaseCommand,
  MasterLeaseImage,
  MasterLeaseMessage,
  MasterLeaseState,
} from "../../../../protocols/master-lease/state.ts";
import { numberOf } from "../../../../protocols/node.ts";
import { exclusiveLeader } from "../../invariants/exclusive-leader.ts";
import { monotoneTerm } from "../../invariants/monotone-term.ts";
import { oneLeaderPerTerm } from "../../invariants/one-leader-per-term.ts";
import { type Subject, TOLERATES_ALL } from "../../subject.ts";
import { masterLeaseKeptWord } from "./kept-word.ts";
import { masterLeasePledges } from "./pledges.ts";
import { masterLeaseProofs } from "./proofs.ts";

export const masterLease: Subject<MasterLeaseState, MasterLeaseMessage, MasterLeaseImage, MasterLeaseCommand> = {
  node,
  commands: {
    campaign: { help: "asks for the lease, if it is not bound to another", command: () => ({ type: "campaign" }) },
    takeover: {
      help: "asks for the lease although another has it, and waits that one out",
      command: () => ({ type: "takeover" }),
    },
  },
  invariants: [
    exclusiveLeader,
    oneLeaderPerTerm,
    monotoneTerm,
    masterLeasePledges,
    masterLeaseKeptWord,
    masterLeaseProofs,
  ],
  tolerates: { ...TOLERATES_ALL, drift: 0.01 },
  delayMaxMs: (settings) => numberOf(settings, "attemptMs") / 8,
  liveness: {
    needs: "majority",
    withinMs: (settings) =>
      3 * numberOf(settings, "leaseMs") + 12 * (numberOf(settings, "attemptMs") + numberOf(settings, "spreadMs")),
  },
  isPerpetual: () => true,
  electsBy: "any",
  initiators: "none",
  drawSettings: (rng) => ({
    leaseMs: nextOf(rng, [1000, 1000, 600, 10_000]),
    renewEveryMs: nextOf(rng, [250, 150, 50]),
    grainMs: nextOf(rng, [0, 0, 5]),
    spreadMs: nextOf(rng, [400, 400, 200]),
  }),
};
