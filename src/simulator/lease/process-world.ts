// The part of the world of leases that a process sees, and its record of a call that is under way.
import type { Rng } from "../../base/rng.ts";
import type { Settings } from "../../lease/settings.ts";
import type { Machine } from "../../lease/state.ts";
import type { VirtualClock } from "../kernel/clock.ts";
import type { Kernel, KernelEvent } from "../kernel/kernel.ts";
import type { Network } from "../kernel/network.ts";
import type { Counts } from "./counts.ts";
import type { RequestMessage } from "./messages.ts";
import type { Observation, Who } from "./observation.ts";
import type { CandidateSpec } from "./spec.ts";
import type { StoreHost } from "./store-host.ts";
import type { LeaseTrace } from "./trace.ts";
import type { Writes } from "./writes.ts";

export interface ProcessWorld {
  readonly kernel: Kernel;
  readonly network: Network;
  readonly trace: LeaseTrace;
  readonly counts: Counts;
  readonly store: StoreHost;
  readonly writes: Writes;
  observe(observation: Observation): void;
}

/** The data with which one life of one process begins. */
export interface ProcessLife {
  readonly who: Who;
  readonly spec: CandidateSpec;
  readonly settings: Settings;
  readonly clock: VirtualClock;
  readonly rng: Rng;
  /** The machine of the process that it is a copy of. */
  readonly machine?: Machine;
}

export interface Awaited {
  readonly message: RequestMessage;
  /** The due time on the monotonic clock. */
  readonly dueAt: number;
  timer: KernelEvent;
}
