// conclave/simulator: seeded worlds in which the real lease machine runs among drifting clocks, lossy networks and forgetful stores, judged by
// invariants. One seed is the only input: the same seed gives the same transcript, byte for byte.
export { addCounts, COUNT_NAMES, type CountName, type Counts, emptyCounts } from "./counts.ts";
export { type DemoLine, type DemoResult, demoElection } from "./demo.ts";
export { describeFault, type Fault, type FaultKind } from "./faults.ts";
export { type RunOptions, type RunResult, runSeed, runWorld } from "./hunt.ts";
export { type Shrunk, shrinkSeed } from "./shrink.ts";
export type { CandidateSpec, StoreSpec, WorldSpec } from "./spec.ts";
export { drawWorld, type SwarmOptions } from "./swarm.ts";
export { formatLine, type TraceLine } from "./trace.ts";
export type { Violation } from "./world.ts";
