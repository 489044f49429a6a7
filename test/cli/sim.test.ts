// `conclave sim` as a user types it: counts, traces, the same bytes twice, refusals, swarms. Threads run the last build.
import { help as drillHelp } from "../../src/cli/drill.ts";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SUBJECTS } from "conclave/simulator";
import { help, run } from "../../src/cli/sim.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let [out, err] = ["", ""];

beforeEach(() => {
  [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((out += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((err += String(text)), true));
});
afterEach(() => void vi.restoreAllMocks());

async function sim(line: string): Promise<{ code: number; out: string; err: string }> {
  [out, err] = ["", ""];
  const code = await run(line.split(" "), { home: import.meta.url });
  return { code, out, err };
}

describe("conclave sim bully", () => {
  it("prints one JSON object with the counts of the literature", async () => {
    const { code, out } = await sim("bully --nodes 7 --crash 7 --detect 1 --seed 3 --json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      protocol: "bully",
      nodes: 7,
      seed: 3,
      leader: 6,
      term: 2,
      messages: { total: 41, byType: { ELECTION: 21, OK: 15, COORDINATOR: 5 } },
      virtualMs: 42,
      violations: [],
    });
  });

  it("tells the run message by message without --json, the same bytes for the same seed", async () => {
    const line = "bully --nodes 5 --latency 1ms-9ms --seed 4";
    const first = await sim(line);
    expect(first.out).toContain("1 → 5  ELECTION number=1");
    expect(first.out).toContain("leader        5");
    expect((await sim(line)).out).toBe(first.out);
    expect((await sim(line.replace("4", "5"))).out).not.toBe(first.out);
  });

  it("gives every event as a line of JSON with --trace", async () => {
    const { out } = await sim("bully --nodes 3 --crash 3 --trace");
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; id?: number });
    const sent = events.filter(({ type }) => type === "send");
    expect(sent).toHaveLength(5);
    const arrived = events.filter(({ type }) => type === "deliver" || type === "undelivered").map(({ id }) => id);
    expect(new Set(arrived)).toEqual(new Set(sent.map(({ id }) => id)));
  });

  it("says that it was split, and exits with 1", async () => {
    const { code, out } = await sim("bully --partition 1,2/3,4,5@50ms-900ms --json");
    const { leader, violations } = JSON.parse(out) as { leader: number; violations: { invariant: string }[] };
    expect(code).toBe(1);
    expect(leader).toBe(5);
    expect(violations.map(({ invariant }) => invariant)).toEqual(["one-leader"]);
  });

  it("refuses the stale side's writes, unless told not to compare", async () => {
    const line = "bully --partition 1,2,3/4,5@100ms-900ms --writes 40ms";
    expect((await sim(line)).out).toMatch(/0 of them stale, [1-9]\d* refused/);
    expect((await sim(`${line} --no-fence`)).out).toMatch(/[1-9]\d* of them stale, 0 refused/);
  });
});

describe("a run", () => {
  it.each([...SUBJECTS.map(({ node }) => node.name), "lease"])(
    "of %s elects nobody where nobody is up",
    async (name) => {
      const { code, out } = await sim(`${name} --nodes 3 --crash 1,2 --crash 3 --json`);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ leader: null, messages: { total: 0 }, violations: [] });
    },
  );

  it("that was cut short is not judged as if it were over", async () => {
    const { code, out } = await sim("bully --crash 5 --detect 1 --max 5ms --json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ leader: null, messages: { byType: { ELECTION: 4 } }, violations: [] });
  });

  it("of a minority does not end with a leader from before it began", async () => {
    const { out } = await sim("zab --crash 1,2,3 --max 5s --json");
    expect(JSON.parse(out)).toMatchObject({ leader: null });
  });

  it("keeps each partition for its own time, whatever else is cut", async () => {
    const { out } = await sim("bully --partition 1,2/3,4,5@50ms-900ms --partition 1/2,3,4,5@500ms-2s --trace");
    const sent = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; atMs: number; from: number; to: number; fate: string })
      .filter(({ type, atMs }) => type === "send" && atMs > 900 && atMs < 2000);
    const fates = (isCut: boolean): Set<string> =>
      new Set(sent.filter(({ from, to }) => (from === 1 || to === 1) === isCut).map(({ fate }) => fate));
    expect([...fates(true)]).toEqual(["cut"]);
    expect([...fates(false)]).toEqual(["sent"]);
  });

  it("tells what was done to it, and a violation where it was", async () => {
    const lines = (await sim("bully --partition 1,2/3,4,5@50ms-900ms")).out.split("\n");
    const place = (text: string): number => lines.findIndex((line) => line.includes(text));
    expect(place("50.000  * partition 1,2/3,4,5")).toBeGreaterThan(0);
    expect(place("250.000  VIOLATION one-leader")).toBeLessThan(place("900.000  * heal 1,2/3,4,5"));
  });

  it("calls no round of a ring a split vote", async () => {
    const { out } = await sim("chang-roberts --crash 4,5 --detect 3");
    expect(out).toContain("term 3");
    expect(out).not.toContain("split votes");
  });

  it("of Raft takes attributes for the lengths of logs", async () => {
    const { out } = await sim("raft-election --nodes 3 --logs attribute --attr 1:9,2:1,3:1 --crash 3 --json");
    expect(JSON.parse(out)).toMatchObject({ leader: 1 });
  });
});

describe("conclave sim", () => {
  it("plays a scenario file", async () => {
    const { code, out } = await sim(`--scenario ${root}/testdata/bully/worst-case.txt`);
    expect(code).toBe(0);
    expect(out).toContain("ok leader=4");
  });

  it("runs the lease machine in the same form", async () => {
    const { code, out } = await sim("lease --nodes 4 --seed 2 --json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ protocol: "lease", nodes: 4, seed: 2, term: 1, violations: [] });
  });

  it("of leases cuts off from the store the candidates that are not on its side: another leads, with the next token", async () => {
    const results: { leader: number; term: number; violations: unknown[] }[] = [];
    for (let seed = 1; seed <= 8; seed++) {
      const { code, out } = await sim(`lease --nodes 3 --seed ${seed} --partition 1/2,3@1s-9s --json`);
      expect(code).toBe(0);
      results.push(JSON.parse(out) as (typeof results)[number]);
    }
    expect(results.some(({ term }) => term > 1)).toBe(true);
    for (const { term, leader } of results) if (term > 1) expect([2, 3]).toContain(leader);
    expect((await sim("lease --partition majority")).err).toMatch(/write the sides out/);
  });

  it("does the exercises, with numbers", async () => {
    const first = JSON.parse((await sim("exercise 1 --json")).out) as {
      cases: { failed: number; leader: number; messages: { total: number } }[];
    };
    expect(first.cases.map(({ failed, leader, messages }) => [failed, leader, messages.total])).toEqual([
      [7, 6, 41],
      [5, 7, 44],
    ]);
    const third = JSON.parse((await sim("exercise 3 --json")).out) as Record<
      "without" | "fenced",
      { stale: number; refused: number; twoWritersMs: number }
    >;
    expect(third.without.stale).toBeGreaterThan(10);
    expect(third.without.twoWritersMs).toBeGreaterThan(1000);
    expect(third.fenced).toMatchObject({ stale: 0, twoWritersMs: 0 });
    expect(third.fenced.refused).toBeGreaterThan(0);
  });

  it("shows what lease duration and renew deadline cost", { timeout: 120_000 }, async () => {
    type Row = Record<"leaseMs" | "renewDeadlineMs" | "failoverMs" | "failoverMaxMs" | "falsePerHour", number>;
    const { rows } = JSON.parse((await sim("exercise 4 --json")).out) as { rows: Row[] };
    for (const { leaseMs, failoverMs, failoverMaxMs } of rows) {
      expect(failoverMs / leaseMs).toBeGreaterThan(0.8);
      expect(failoverMaxMs / leaseMs).toBeLessThan(1.3);
    }
    const ofKubernetes = rows.filter(({ leaseMs }) => leaseMs === 15_000).map(({ falsePerHour }) => falsePerHour);
    expect(ofKubernetes).toHaveLength(3);
    expect(ofKubernetes).toEqual(ofKubernetes.toSorted((a, b) => b - a));
    expect(ofKubernetes[0]).toBeGreaterThan(2 * (ofKubernetes[1] ?? 0));
  });

  it("names the commands for a real cluster, with flags that are there", { timeout: 120_000 }, async () => {
    const { out } = await sim("exercise 4");
    const commands = out.split("\n").flatMap((line) => /^ {2}(conclave drill .*?) {2,}/.exec(line)?.[1] ?? []);
    expect(commands).toHaveLength(2);
    const flags = commands.flatMap((command) => command.match(/--[a-z]+/g) ?? []);
    expect(flags.filter((flag) => !drillHelp.includes(flag))).toEqual([]);
    expect(out).toContain("conclave schema kubernetes | kubectl apply -f -");
  });

  it.each([
    ["nobody --json", "there is no protocol nobody"],
    ["bully --nodes x", "--nodes x"],
    ["bully --crash 9", "there is no member 9"],
    ["bully --partition 1,2/9", "no member of 1…5"],
    ["bully --attr 3:80", "does not elect by attribute"],
    ["bully --detector magic", "told, heartbeat, phi"],
    ["bully --latency fast", "no duration"],
    ["bully --what", "--what"],
    ["bully --nodes 1e1", "--nodes 1e1"],
    ["bully --detect 9", "--detect: there is no member 9"],
    ["bully --crash x", "--crash: "],
    ["bully --crash 5 --detect 5", "nobody would begin"],
    ["bully --leader 1,2", "--leader 1,2: one member"],
    ["bully --max 5", "--max: "],
    ["bully --partition 1,2", "two sides"],
    ["bully --partition 1,2/", "--partition: "],
    ["bully --partition 1,2/3@900ms-50ms", "until when"],
    ["bully --partition 1,2/3@50ms-900ms-2s", "until when"],
    ["chang-roberts --ring 1,2,2,3,4", "each of 1…5 once"],
    ["chang-roberts --attr 3:80,3:20", "at most once"],
    ["raft-election --attr 3:80", "--logs attribute"],
    ["raft-election --election-timeout-min 500ms", "longer than the greatest"],
    ["master-lease --renew-every 3s", "renewed more often"],
    ["zab --weightless 9", "there is no member 9"],
    ["bully --detector heartbeat --heartbeat-every 0ms", "time does not pass"],
    ["bully --csv", "--csv goes with --seeds"],
    ["bully --seeds 2 --csv --json", "--csv and --json"],
    ["bully --seeds 2 --trace", "--trace and --seeds"],
    ["lease --crash 9", "there is no member 9"],
    ["exercise 1 3", "exercise 1"],
    ["--scenario nowhere.txt --nodes 3", "--nodes"],
    ["exercise 6", "exercise 1"],
    ["--scenario nowhere.txt", "nowhere.txt"],
    ["buly", "Did you mean bully? More: conclave sim --help\n"],
    ["bully --nodez 3", "there is no flag --nodez. Did you mean --nodes? More: conclave sim --help\n"],
    ["--hunt lease --sed 3", "there is no flag --sed. Did you mean --seed? More: conclave sim --help\n"],
  ])("refuses %s", async (line, sentence) => {
    const { code, out, err } = await sim(line);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(sentence);
  });

  it("names every protocol and every parameter in its help", () => {
    for (const { node } of SUBJECTS) expect(help).toContain(`\n${node.name}: `);
    expect(help).toContain("--answer-timeout");
  });
});

describe.runIf(existsSync(`${root}/dist/cli/sim-worker.js`))("a swarm", () => {
  const swarm = (line: string): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, ["dist/cli/main.js", "sim", ...line.split(" ")], { cwd: root, encoding: "utf8" });

  it("runs seeds on all cores, and says the same whatever the threads do", () => {
    const line = "bully --crash 5 --latency 1ms-10ms --seeds 300 --json";
    const { stdout, status } = swarm(line);
    expect(status).toBe(0);
    expect(JSON.parse(String(stdout))).toMatchObject({
      seeds: { from: 1, count: 300 },
      elected: 300,
      messages: { min: 19, max: 19 },
      failures: [],
    });
    expect(swarm(line).stdout).toBe(stdout);
  });

  it("prints a line a seed with --csv", () => {
    const lines = String(swarm("bully --crash 5 --seeds 7 --seed 10 --csv").stdout).trim().split("\n");
    expect(lines).toHaveLength(8);
    expect(lines[1]).toMatch(/^10,4,2,19,/);
    const nobody = String(swarm("bully --crash 1,2,3,4,5 --seeds 1 --csv").stdout);
    expect(nobody).toMatch(/^1,,0,0,,,0,0,$/m);
  });

  it("prints a failing seed with the command that replays it", () => {
    const { stdout, status } = swarm("bully --partition 1,2/3,4,5@50ms-900ms --seeds 2");
    expect(status).toBe(1);
    expect(stdout).toContain("conclave sim bully --partition 1,2/3,4,5@50ms-900ms --seed 2");
  });

  it("writes that command for a shell", () => {
    const { stdout } = swarm("bully --partition 5>4 --max 2s --seeds 1");
    expect(stdout).toContain("conclave sim bully --partition '5>4' --max 2s --seed 1");
  });

  it("is quiet when nobody reads to the end", () => {
    const command = `"${process.execPath}" dist/cli/main.js sim bully --nodes 60 | head -n 1`;
    const { stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: root, encoding: "utf8" });
    expect([stdout, stderr]).toEqual(["     0.000  1 starts\n", ""]);
  });
});

it("sim exercise 2 says how to get a server where there is none", async () => {
  const { code, out, err } = await sim("exercise 2");
  expect([code, out]).toEqual([3, ""]);
  expect(err).toContain("npm run servers -- zookeeper --nodes 3");
  expect((await sim("exercise 2 --store memory:")).code).toBe(3);
});

it("sim exercise 5 plays STONITH with a cloud that fails, hangs, lies and comes late, and nobody ever acts twice", async () => {
  type Play = Record<"what" | "permittedBy", string> & Record<"takeoverMs" | "shots" | "lies" | "lateShots", number>;
  const { plays } = JSON.parse((await sim("exercise 5 --json")).out) as { plays: (Play & { violation?: unknown })[] };
  const by = Object.fromEntries(plays.map((play) => [play.what, play]));
  expect(plays.map(({ violation }) => violation)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(by["works"]).toMatchObject({ permittedBy: "device", shots: 1 });
  for (const what of ["fails", "hangs"]) expect(by[what]).toMatchObject({ permittedBy: "human" });
  for (const what of ["fails", "hangs", "lies"]) expect(by[what]?.takeoverMs).toBeGreaterThan(11_000);
  expect(by["lies"]?.lies).toBeGreaterThan(2);
  expect(by["late"]?.lateShots).toBe(1);
  const { out } = await sim("exercise 5");
  expect(out).toContain("no takeover");
  expect(out).toContain("still banned");
});

it("sim exercise lists what the exercises are", async () => {
  const { code, out } = await sim("exercise");
  expect(code).toBe(0);
  expect(out).toMatch(/^ {2}1 {3}Bully/m);
  expect(out).toMatch(/^ {2}4 {3}lease duration/m);
});

it("sim kafka tells the story of the controller as a table, as JSON, and refuses what cannot be played", async () => {
  const small = "kafka --brokers 5 --partitions 100 --cuts 2";
  const { code, out } = await sim(small);
  expect(code).toBe(0);
  expect(out).toMatch(/^5 brokers, 100 partitions\./);
  expect(out.match(/^ {2}(?:race|the same|KRaft|conclave)/gm)).toHaveLength(10);
  const { plan, rows } = JSON.parse((await sim(`${small} --json`)).out) as {
    readonly plan: { readonly brokers: number };
    readonly rows: readonly { readonly story: string; readonly crash: { readonly messages: number } }[];
  };
  expect(plan.brokers).toBe(5);
  expect(rows.map(({ story }) => story)).toEqual(["race", "race-async", "line", "kraft", "conclave"]);
  expect(rows.every(({ crash }) => crash.messages > 0)).toBe(true);
  const refused = await sim("kafka --brokers 1 --partitions 0");
  expect(refused.code).toBe(2);
  expect(refused.err).toMatch(/brokers 1.*partitions 0/);
  expect((await sim("kafka --broker 5")).code).toBe(2);
});
