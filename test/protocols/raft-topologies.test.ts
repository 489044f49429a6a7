// Raft under partial partitions that do not heal: which of them end in a leader, with and without PreVote and CheckQuorum. What a row expects is what was
// published about it; `sources` says where. In each, links are cut half a second after a settled start, and the group is looked at a minute later.
import { describe, expect, it } from "vitest";
import { ProtocolWorld, specOf, uniformLatency } from "conclave/simulator";

/**
 *   kept      the leader stays: no other leads
 *   replaced  another leads soon, and stays
 *   churns    leaders follow each other to the end
 *   stuck     nobody leads who reaches a majority, or a leader that reaches none keeps the others waiting
 */
type Verdict = "kept" | "replaced" | "churns" | "stuck";

interface Topology {
  readonly name: string;
  readonly source: string;
  readonly nodes: number;
  readonly leader: number;
  /** Both ways. Of others: nothing. */
  readonly links?: readonly string[];
  /** One way, of an otherwise whole network. */
  readonly cuts?: readonly string[];
  /** Lengths of logs, where they differ. */
  readonly logs?: readonly number[];
  /** Neither, PreVote, CheckQuorum, both. */
  readonly expected: readonly [plain: Verdict, preVote: Verdict, checkQuorum: Verdict, both: Verdict];
}

const TOPOLOGIES: readonly Topology[] = [
  {
    name: "two members hear one other each, and not the leader",
    source: "Howard and Abraham 2020, first example",
    nodes: 5,
    leader: 3,
    links: ["1-2", "1-3", "2-3", "4-2", "5-3"],
    expected: ["churns", "kept", "kept", "kept"],
  },
  {
    name: "the leader has lost its majority and keeps one convinced, whom the others need",
    source: "Howard and Abraham 2020, second example",
    nodes: 4,
    leader: 4,
    links: ["1-2", "1-3", "2-3", "4-3"],
    expected: ["replaced", "stuck", "replaced", "replaced"],
  },
  {
    name: "leader and one follower do not hear each other; the third hears both",
    source: "Cloudflare, 2 November 2020",
    nodes: 3,
    leader: 3,
    links: ["1-2", "2-3"],
    expected: ["churns", "kept", "kept", "kept"],
  },
  {
    name: "all hear only the hub, which is not the leader",
    source: "OmniPaxos 2023, quorum loss",
    nodes: 5,
    leader: 3,
    links: ["1-2", "1-3", "1-4", "1-5"],
    expected: ["replaced", "stuck", "replaced", "replaced"],
  },
  {
    name: "all hear only the hub, whose log is behind",
    source: "OmniPaxos 2023, constrained election: beyond Raft in any configuration",
    nodes: 5,
    leader: 3,
    links: ["1-2", "1-3", "1-4", "1-5"],
    logs: [1, 2, 2, 2, 2],
    expected: ["stuck", "stuck", "stuck", "stuck"],
  },
  {
    name: "a chain, led from its end",
    source: "OmniPaxos 2023, chained",
    nodes: 3,
    leader: 1,
    links: ["1-2", "2-3"],
    expected: ["churns", "kept", "kept", "kept"],
  },
  {
    name: "a chain, led from its middle",
    source: "OmniPaxos 2023, chained",
    nodes: 3,
    leader: 2,
    links: ["1-2", "2-3"],
    expected: ["kept", "kept", "kept", "kept"],
  },
  {
    name: "the leader is heard and hears nobody",
    source: "TigerBeetle's asymmetric fault",
    nodes: 5,
    leader: 1,
    cuts: ["2>1", "3>1", "4>1", "5>1"],
    expected: ["stuck", "stuck", "replaced", "replaced"],
  },
  {
    name: "the leader hears all and is heard by nobody",
    source: "TigerBeetle's asymmetric fault",
    nodes: 5,
    leader: 1,
    cuts: ["1>2", "1>3", "1>4", "1>5"],
    expected: ["replaced", "replaced", "replaced", "replaced"],
  },
  {
    name: "a follower is heard and hears nobody",
    source: "TigerBeetle's asymmetric fault; openraft, one-way isolation",
    nodes: 5,
    leader: 1,
    cuts: ["1>5", "2>5", "3>5", "4>5"],
    expected: ["churns", "kept", "kept", "kept"],
  },
  {
    name: "one follower does not hear the leader",
    source: "one-way cut",
    nodes: 5,
    leader: 1,
    cuts: ["1>5"],
    expected: ["replaced", "kept", "kept", "kept"],
  },
  {
    name: "the leader does not hear one follower",
    source: "one-way cut",
    nodes: 5,
    leader: 1,
    cuts: ["5>1"],
    expected: ["kept", "kept", "kept", "kept"],
  },
];

const MODES = [
  { name: "plain Raft", preVote: false, checkQuorum: false },
  { name: "PreVote", preVote: true, checkQuorum: false },
  { name: "CheckQuorum", preVote: false, checkQuorum: true },
  { name: "PreVote and CheckQuorum", preVote: true, checkQuorum: true },
] as const;

const CUT_MS = 500;
/** A leader that is to be replaced is replaced by then. */
const SETTLED_MS = 30_000;
const END_MS = 60_000;

function cutsOf({ nodes, links, cuts }: Topology): readonly (readonly [from: number, to: number])[] {
  if (cuts !== undefined) return cuts.map((cut) => cut.split(">").map(Number) as [number, number]);
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  const isLinked = (a: number, b: number): boolean =>
    links?.includes(`${a}-${b}`) === true || links?.includes(`${b}-${a}`) === true;
  return ids.flatMap((from) => ids.filter((to) => to !== from && !isLinked(from, to)).map((to) => [from, to] as const));
}

interface Minute {
  readonly verdict: Verdict;
  /** Of anybody, at the end. */
  readonly termMax: number;
  /** Of those in office. */
  readonly leaderships: number;
  readonly violations: readonly unknown[];
}

function play(topology: Topology, mode: (typeof MODES)[number], seed: number): Minute {
  const { nodes, leader, logs } = topology;
  const spec = specOf("raft-election", {
    nodes,
    seed,
    leader,
    ...(logs === undefined ? {} : { attributes: logs }),
    links: { latency: uniformLatency(1, 5), lossChance: 0, duplicateChance: 0, isFifo: false },
    settings: {
      preVote: mode.preVote,
      checkQuorum: mode.checkQuorum,
      logs: logs === undefined ? "equal" : "attribute",
    },
  });
  const world = new ProtocolWorld(spec, { isRecorded: true });
  world.runTo(CUT_MS);
  for (const [from, to] of cutsOf(topology)) world.apply({ type: "cut", from, to });
  world.runTo(END_MS);
  const elected = world.trace.events.filter(
    (event) => event.type === "announce" && event.role === "leader" && event.atMs > CUT_MS,
  );
  const late = elected.filter(({ atMs }) => atMs > SETTLED_MS);
  const isServed = world.leaders().some((id) => reached(world, id) * 2 > nodes);
  const settled: Verdict = isServed ? (elected.length === 0 ? "kept" : "replaced") : "stuck";
  return {
    verdict: late.length > 0 ? "churns" : settled,
    termMax: Math.max(...world.members.map((member) => member.term)),
    leaderships: elected.length,
    violations: world.violations,
  };
}

/** How many hear `leader` and are heard by it, itself included. */
function reached(world: ProtocolWorld, leader: number): number {
  return world.members.filter(({ id }) => id === leader || (world.reaches(leader, id) && world.reaches(id, leader)))
    .length;
}

describe.each(TOPOLOGIES)("$name ($source)", (topology) => {
  it.each(MODES.map((mode, index) => ({ mode, title: mode.name, expected: topology.expected[index] })))(
    "$title: $expected",
    ({ mode, expected }) => {
      for (let seed = 1; seed <= 5; seed++) {
        const minute = play(topology, mode, seed);
        expect(minute).toMatchObject({ verdict: expected, violations: [] });
        if (expected === "churns") expect(minute.leaderships).toBeGreaterThan(20);
        // With both, one change at most, and no term but that change's.
        if (mode.preVote && mode.checkQuorum) {
          expect(minute.leaderships).toBeLessThanOrEqual(1);
          expect(minute.termMax).toBeLessThanOrEqual(1);
        }
      }
    },
  );
});
