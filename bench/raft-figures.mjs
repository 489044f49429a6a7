// @ts-check
// The figures of chapter 9 of Ongaro's thesis with more trials than test/protocols/raft-figures.test.ts has, in the same set-ups: what was published is in the
// name of each row. Nothing here is a goal; the test says what may differ, and by how much.
import { distributionOf, fixedLatency, ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";

const PLAIN = { preVote: false, checkQuorum: false };
const SPLIT_VOTE_RUNS = 100_000;
const RANGE_MS = 100;

/** @typedef {import("conclave/simulator").Latency} Latency */

/** @param {Latency} latency */
const linksOf = (latency) => ({ latency, lossChance: 0, duplicateChance: 0, isFifo: false });

/** @param {number} nodes @param {number} count */
const lastOf = (nodes, count) => Array.from({ length: count }, (_, index) => nodes - index);

/**
 * Fresh timers; whether nobody wins term 1.
 * @param {number} servers
 * @param {number} up
 * @param {number} latency as a share of the range
 */
function splitVotes(servers, up, latency) {
  let split = 0;
  for (let seed = 1; seed <= SPLIT_VOTE_RUNS; seed++) {
    const spec = specOf("raft-election", {
      nodes: servers,
      seed,
      down: lastOf(servers, servers - up),
      links: linksOf(fixedLatency(latency * RANGE_MS)),
      settings: { ...PLAIN, electionTimeoutMinMs: 1000, electionTimeoutMaxMs: 1000 + RANGE_MS },
    });
    const world = new ProtocolWorld(spec, { invariants: [] });
    world.runTo(1001 + RANGE_MS + 2 * latency * RANGE_MS);
    if (world.firstLedMs === Infinity) split++;
  }
  return (split / SPLIT_VOTE_RUNS) * 100;
}

/**
 * Fresh timers of 300–600 ms, 30–40 ms one way.
 * @param {number} down
 */
function wideArea(down) {
  return distributionOf(
    Array.from({ length: 100_000 }, (_, index) => {
      const settings = { ...PLAIN, electionTimeoutMinMs: 300, electionTimeoutMaxMs: 600 };
      const links = linksOf(uniformLatency(30, 40));
      const spec = specOf("raft-election", { seed: index + 1, down: lastOf(5, down), links, settings });
      const world = new ProtocolWorld(spec, { invariants: [] });
      while (world.firstLedMs === Infinity) world.step();
      return world.firstLedMs;
    }),
  );
}

/**
 * Five servers with logs of different lengths; the leader crashes at any time between two heartbeats. 2.5 ms each way and 10 ms for a write.
 * @param {number} minMs
 * @param {number} maxMs
 * @param {number} seed
 */
function downtime(minMs, maxMs, seed) {
  const spec = specOf("raft-election", {
    seed,
    leader: 5,
    links: linksOf(fixedLatency(2.5)),
    diskLatency: fixedLatency(10),
    settings: { ...PLAIN, logs: "attribute", electionTimeoutMinMs: minMs, electionTimeoutMaxMs: maxMs },
  });
  const world = new ProtocolWorld(spec, { invariants: [] });
  // Evenly over the heartbeat interval, by the golden ratio.
  const crashMs = ((4 + ((seed * 0.618_033_988_75) % 1)) * minMs) / 2;
  world.runTo(crashMs);
  world.apply({ type: "crash", node: 5 });
  while (world.leaders().length === 0) world.step();
  return world.nowMs - crashMs;
}

/**
 * The median of twenty times a thousand trials.
 * @param {number} minMs
 * @param {number} maxMs
 * @param {"p50" | "mean" | "max"} what
 */
function downtimes(minMs, maxMs, what) {
  const batches = Array.from({ length: 20 }, (_batch, batch) => {
    const trials = Array.from({ length: 1000 }, (_trial, trial) => downtime(minMs, maxMs, batch * 1000 + trial + 1));
    return distributionOf(trials)[what];
  });
  return distributionOf(batches).p50;
}

export async function run() {
  const [one, two] = [wideArea(1), wideArea(2)];
  return [
    {
      name: "Raft, split votes, 4 of 5 up, latency 0.01 of the range (0.06 %)",
      value: splitVotes(5, 4, 0.01),
      unit: "%",
      goal: "",
    },
    {
      name: "Raft, split votes, 4 of 5 up, latency 0.1 of the range (5.23 %)",
      value: splitVotes(5, 4, 0.1),
      unit: "%",
      goal: "",
    },
    {
      name: "Raft, split votes, 4 of 5 up, latency 0.2 of the range (18.1 %)",
      value: splitVotes(5, 4, 0.2),
      unit: "%",
      goal: "",
    },
    { name: "Raft, wide area, 1 of 5 down, mean (475 ms)", value: one.mean, unit: "ms", goal: "" },
    { name: "Raft, wide area, 1 of 5 down, 99.9 % (within 1500 ms)", value: one.p999, unit: "ms", goal: "" },
    { name: "Raft, wide area, 2 of 5 down, mean (650 ms)", value: two.mean, unit: "ms", goal: "" },
    { name: "Raft, wide area, 2 of 5 down, 99.9 % (within 3000 ms)", value: two.p999, unit: "ms", goal: "" },
    {
      name: "Raft, timeouts 150–155 ms, median downtime (287 ms)",
      value: downtimes(150, 155, "p50"),
      unit: "ms",
      goal: "",
    },
    {
      name: "Raft, timeouts 150–200 ms, worst downtime of 1000 (513 ms)",
      value: downtimes(150, 200, "max"),
      unit: "ms",
      goal: "",
    },
    { name: "Raft, timeouts 12–24 ms, mean downtime (35 ms)", value: downtimes(12, 24, "mean"), unit: "ms", goal: "" },
    {
      name: "Raft, timeouts 12–24 ms, worst downtime of 1000 (152 ms)",
      value: downtimes(12, 24, "max"),
      unit: "ms",
      goal: "",
    },
  ];
}
