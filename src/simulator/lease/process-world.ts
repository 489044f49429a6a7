// What a process of the world of leases sees of it, and how it remembers a call that is under way.
import type { Kernel, KernelEvent } from "../kernel/kernel.ts";
import type { Network } from "../kernel/network.ts";
import type { Counts } from "./counts.ts";
import type { RequestMessage } from "./messages.ts";
import type { Observation } from "./observation.ts";
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

export interface Awaited {
  readonly message: RequestMessage;
  /** On the mono hand. */
  readonly dueAt: number;
  timer: KernelEvent;
}
