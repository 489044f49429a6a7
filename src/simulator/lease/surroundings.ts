// The surroundings of the modelled store: its parts draw from them and write into them.
import type { Rng } from "../../base/rng.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Network } from "../kernel/network.ts";
import type { Counts } from "./counts.ts";
import type { Observation } from "./observation.ts";
import type { LeaseTrace } from "./trace.ts";

export interface LeaseSurroundings {
  readonly kernel: Kernel;
  readonly network: Network;
  readonly trace: LeaseTrace;
  readonly counts: Counts;
  readonly rng: Rng;
  observe(observation: Observation): void;
}
