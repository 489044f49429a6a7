// The story of Kafka's controller: its numbers are the same in every run, and follow from the sizes as the page about it says (docs/KAFKA.md).
import { describe, expect, it } from "vitest";
import { KAFKA_PLAN, type KafkaPlan, type KafkaRow, kafkaStories } from "conclave/simulator";

const SMALL: KafkaPlan = { ...KAFKA_PLAN, brokers: 6, partitions: 600, cuts: 3 };

function rowsOf(plan: KafkaPlan): Record<KafkaRow["story"], KafkaRow> {
  return Object.fromEntries(kafkaStories(plan).map((row) => [row.story, row])) as Record<KafkaRow["story"], KafkaRow>;
}

describe("a controller that dies", () => {
  it("with the sizes of the page: messages and milliseconds, to the last one", () => {
    const shown = kafkaStories(KAFKA_PLAN).map(({ story, crash, storm }) => [
      story,
      [crash.electedMs, crash.ledMs, crash.messages],
      [storm.electedMs, storm.ledMs, storm.messages, storm.elected, storm.finished],
    ]);
    expect(shown).toEqual([
      ["race", [6004, 18_565, 21_211], [36_004, 47_195, 45_814, 4, 1]],
      ["race-async", [6004, 8148, 21_211], [36_004, 38_108, 83_970, 4, 4]],
      ["line", [6002, 8111, 21_121], [36_002, 38_154, 84_404, 4, 4]],
      ["kraft", [1144, 7147, 45], [31_199, 37_000, 36, 4, 4]],
      ["conclave", [6004, 6177, 1424], [36_004, 36_181, 5722, 4, 4]],
    ]);
  });

  it("wakes all others in a race, and one of them in a queue", () => {
    const { race, line, conclave } = rowsOf(SMALL);
    expect(race.crash.byKind).toMatchObject({ "watch event": 5, "create /controller": 5, "read and watch": 4 });
    expect(line.crash.byKind).toMatchObject({ "watch event": 1, "read the queue": 1 });
    // One for the controller, and one for each member that is there.
    expect(conclave.crash.byKind["hint"]).toBe(1 + 5);
  });

  it("costs a read for every partition and a write for each that was led by the dead, in ZooKeeper alone", () => {
    const { race, kraft, conclave } = rowsOf(SMALL);
    expect(race.crash.byKind).toMatchObject({
      "read the state of a partition": 600,
      "write the state of a partition": 100,
      "tell a broker about all partitions": 5,
    });
    expect(conclave.crash.byKind["read the assignments"]).toBe(1);
    expect(kraft.crash.messages).toBeLessThan(race.crash.messages / 10);
  });

  it("twice the partitions: twice the reads, twice the seconds of reading; KRaft and conclave do not notice", () => {
    const [once, twice] = [rowsOf(SMALL), rowsOf({ ...SMALL, partitions: 1200 })];
    const working = ({ crash }: KafkaRow): number => crash.ledMs - crash.electedMs;
    expect(working(twice.race) / working(once.race)).toBeGreaterThan(1.9);
    expect(twice.kraft.crash.ledMs).toBe(once.kraft.crash.ledMs);
    expect(working(twice.conclave)).toBeLessThan(working(once.conclave) + 50);
  });

  it("is replaced after the session in ZooKeeper and here, and after an election of Raft in KRaft", () => {
    const { race, kraft, conclave } = rowsOf({ ...SMALL, sessionMs: 9000 });
    expect(race.crash.electedMs).toBeGreaterThanOrEqual(9000);
    expect(conclave.crash.electedMs).toBeGreaterThanOrEqual(9000);
    expect(kraft.crash.electedMs).toBeLessThan(2 * SMALL.electionMaxMs);
    expect(kraft.crash.ledMs).toBeGreaterThan(9000);
  });
});

describe("the resign storm", () => {
  it("with reads one after the other only the last controller comes to its end; all of ours do", () => {
    const { race, conclave, kraft } = rowsOf(KAFKA_PLAN);
    expect(race.storm).toMatchObject({ elected: 4, finished: 1 });
    expect(conclave.storm).toMatchObject({ elected: 4, finished: 4 });
    expect(kraft.storm).toMatchObject({ elected: 4, finished: 4 });
    expect(conclave.storm.ledMs).toBeLessThan(race.storm.ledMs);
  });
});

it("the same plan tells the same story, another seed another election", () => {
  expect(kafkaStories(SMALL)).toEqual(kafkaStories(SMALL));
  const seeds = new Set([1, 2, 3, 4].map((seed) => rowsOf({ ...SMALL, seed }).kraft.crash.electedMs));
  expect(seeds.size).toBeGreaterThan(1);
});

it("a plan that cannot be played is refused with every problem", () => {
  expect(() => kafkaStories({ ...SMALL, brokers: 1, partitions: 0, latencyMs: 0 })).toThrow(
    /brokers 1.*partitions 0.*latency/,
  );
});
