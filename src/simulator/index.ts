// conclave/simulator: seeded worlds in which the real lease machine runs among drifting clocks, lossy networks and forgetful stores, judged by
// invariants. One seed is the only input: the same seed gives the same transcript, byte for byte.
export { addCounts, COUNT_NAMES, type CountName, type Counts, emptyCounts } from "./lease/counts.ts";
export { type DemoLine, type DemoResult, demoElection } from "./lease/demo.ts";
export {
  bullyFailure,
  type BullyFailure,
  type LeaseRow,
  leaseTable,
  type SplitBrain,
  splitBrain,
} from "./exercises.ts";
export { type KafkaRow, kafkaStories } from "./kafka/kafka.ts";
export { type Cost, KAFKA_PLAN, type KafkaPlan } from "./kafka/plan.ts";
export { CLOUD_CASES, type CloudCase, type CloudPlay, playCloud } from "./stonith/exercise.ts";
export { describeFault, type Fault, type LeaseFaultKind } from "./lease/faults.ts";
export { type RunOptions, type RunResult, runSeed, runWorld } from "./lease/hunt.ts";
export { electByLease, type LeaseChoices, type LeaseElection } from "./lease/election.ts";
export { CONTROL_ONE_IN, missedMinima } from "./lease/minima.ts";
export type { CandidateSpec, StoreSpec, WorldSpec } from "./lease/spec.ts";
export { drawWorld, type SwarmOptions } from "./lease/swarm.ts";
export { World as LeaseWorld } from "./lease/world.ts";
export { type Action, formatAction, parseAction, type Scheduled } from "./protocols/actions.ts";
export { checkIds, checkNodes, checkSpec } from "./protocols/check-spec.ts";
export { formatMs, parseMs } from "./kernel/durations.ts";
export {
  type ElectionOptions,
  type ElectionResult,
  type ElectionRun,
  resultOf,
  runElection,
  schedulePartition,
  specOf,
} from "./protocols/election.ts";
export { drawHuntedWorld, type HuntedWorld, huntProtocol, type ProtocolHuntResult } from "./protocols/hunt.ts";
export type {
  AcceptedWrite,
  HostEvent,
  Invariant,
  SeenLog,
  SeenMember,
  WorldView,
} from "./protocols/invariants/invariant.ts";
export {
  exponentialLatency,
  fixedLatency,
  formatLatency,
  type Latency,
  parseLatency,
  uniformLatency,
} from "./kernel/latency.ts";
export { checkPartition, PARTITION_NAMES } from "./protocols/partitions.ts";
export { parseAttributes, parseIds, parseSetting, type PlayedScenario, playScenario } from "./protocols/scenario.ts";
export {
  type Distribution,
  distributionOf,
  histogramOf,
  type Sample,
  type SampleOrder,
  takeSamples,
} from "./protocols/samples.ts";
export type { ProtocolSpec } from "./protocols/spec.ts";
export type { LeaseEvent } from "./lease/trace.ts";
export type { ProtocolEvent } from "./protocols/trace.ts";
export { eventAsJson, formatEvent, type TraceEvent } from "./trace-event.ts";
export { ProtocolWorld, type WorldOptions } from "./protocols/world.ts";
export { addTallies, missedTallies, type Tallies } from "./kernel/tallies.ts";
export {
  type AnyHunted,
  type AnyHuntOptions,
  type Finding,
  type Hunt,
  huntNamed,
  huntNames,
  type HuntOrder,
  type HuntReport,
  huntSeeds,
  OWN_HUNTS,
} from "./hunts.ts";
export type {
  AnySubject,
  Liveness,
  LogHunt,
  LogSubject,
  Subject,
  SubjectCore,
  Telling,
  Tolerance,
} from "./protocols/subject.ts";
export { INVARIANTS, subjectNamed, SUBJECTS } from "./protocols/subjects/index.ts";
export { type Hunted, type HuntOptions, shrink, type Shrunk, type Violation } from "./kernel/hunt.ts";
