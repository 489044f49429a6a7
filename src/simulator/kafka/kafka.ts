// Kafka's own story: the race for /controller as it was and as it became, the same with a queue, KRaft, and conclave/partitions. Each is played in simulated time with the same sizes and durations, once with a
// controller that dies and once with a storm in which the controller of the moment is cut off again and again.
import { ConclaveStory } from "./conclave-story.ts";
import { kraftCrash, kraftStorm } from "./kraft-story.ts";
import { type Cost, type KafkaPlan, problemsOfPlan } from "./plan.ts";
import type { SeatShape } from "./seats.ts";
import { ZooKeeperStory } from "./zookeeper-story.ts";

/** One way to replace a controller, and what it costs. */
export interface KafkaRow {
  /** race: Kafka until 1.0. race-async: Kafka from 1.1 on. line: the same with the recipe of ZooKeeper. */
  readonly story: "race" | "race-async" | "line" | "kraft" | "conclave";
  readonly crash: Cost;
  readonly storm: Cost;
}

/** Throws a RangeError that names every problem of the plan. */
export function kafkaStories(plan: KafkaPlan): readonly KafkaRow[] {
  const problems = problemsOfPlan(plan);
  if (problems.length > 0) throw new RangeError(problems.join("; "));
  return [
    row("race", new ZooKeeperStory(plan, "race", 1).crash(), new ZooKeeperStory(plan, "race", 1).storm()),
    row("race-async", zooKeeper(plan, "race").crash(), zooKeeper(plan, "race").storm()),
    row("line", zooKeeper(plan, "line").crash(), zooKeeper(plan, "line").storm()),
    row("kraft", kraftCrash(plan), kraftStorm(plan)),
    row("conclave", new ConclaveStory(plan).crash(), new ConclaveStory(plan).storm()),
  ];
}

function zooKeeper(plan: KafkaPlan, shape: SeatShape): ZooKeeperStory {
  return new ZooKeeperStory(plan, shape, plan.inFlight);
}

function row(story: KafkaRow["story"], crash: Cost, storm: Cost): KafkaRow {
  return { story, crash: rounded(crash), storm: rounded(storm) };
}

function rounded({ electedMs, ledMs, ...rest }: Cost): Cost {
  return { electedMs: Math.round(electedMs), ledMs: Math.round(ledMs), ...rest };
}
