// What a story of Kafka's controller assumes: sizes, and how long each thing takes. Nothing else in this folder knows a duration.

/** Sizes and durations of a story of Kafka's controller. */
export interface KafkaPlan {
  readonly brokers: number;
  readonly partitions: number;
  readonly seed: number;
  /** The time of one message, between any two machines. */
  readonly latencyMs: number;
  /** The store serves one request at a time: so long for a read, and so long for a write, which waits for disks. */
  readonly readMs: number;
  readonly writeMs: number;
  /** How many requests to ZooKeeper a controller of Kafka has under way at once, since 1.1. */
  readonly inFlight: number;
  /** Silence after which a broker counts as dead: the session timeout of ZooKeeper, the ttl of conclave, the broker session of KRaft. */
  readonly sessionMs: number;
  /** KRaft: how long a controller of the quorum waits for its leader, at least and at most. */
  readonly electionMinMs: number;
  readonly electionMaxMs: number;
  /** KRaft: members of the quorum. */
  readonly quorum: number;
  /** The storm: so often the controller of the moment is cut off, each time for a session timeout and a second. */
  readonly cuts: number;
  readonly cutEveryMs: number;
}

/** Defaults of Kafka and ZooKeeper where they have one; a network and disks of one data centre. */
export const KAFKA_PLAN: KafkaPlan = {
  brokers: 20,
  partitions: 10_000,
  seed: 1,
  latencyMs: 0.5,
  readMs: 0.1,
  writeMs: 2,
  inFlight: 10,
  sessionMs: 6000,
  electionMinMs: 1000,
  electionMaxMs: 2000,
  quorum: 3,
  cuts: 4,
  cutEveryMs: 10_000,
};

/** The problems of the plan, each in a sentence; empty if there are none. */
export function problemsOfPlan(plan: KafkaPlan): readonly string[] {
  const isCount = (value: number, least: number, most: number): boolean =>
    Number.isSafeInteger(value) && value >= least && value <= most;
  return [
    ...(isCount(plan.brokers, 3, 1000) ? [] : [`brokers ${plan.brokers}: it must be 3 to 1000`]),
    ...(isCount(plan.partitions, 1, 100_000) ? [] : [`partitions ${plan.partitions}: it must be 1 to 100000`]),
    ...(isCount(plan.inFlight, 1, 1000) ? [] : [`in-flight ${plan.inFlight}: it must be 1 to 1000`]),
    ...(isCount(plan.cuts, 1, 100) ? [] : [`cuts ${plan.cuts}: it must be 1 to 100`]),
    ...(plan.latencyMs > 0 && plan.readMs > 0 && plan.writeMs > 0
      ? []
      : ["latency, read and write must be longer than 0"]),
    ...(plan.cuts < plan.brokers - 1
      ? []
      : [`cuts ${plan.cuts}: it must be less than brokers - 1, because every cut needs another broker that can lead`]),
  ];
}

/** What one failover has cost. */
export interface Cost {
  /** From the fault on: until a controller was elected that stayed, and until every partition was led. */
  readonly electedMs: number;
  readonly ledMs: number;
  readonly messages: number;
  /** Kind of message → how many. */
  readonly byKind: Readonly<Record<string, number>>;
  /** States of partitions that messages carried. */
  readonly states: number;
  /** Controllers that were elected, and those that have done all their work. */
  readonly elected: number;
  readonly finished: number;
}
