// `conclave drill` as users run it, on a file; on networked stores it is run with their own tests.
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { addressesOf } from "../../src/cli/drill/network.ts";
import { summarize } from "../../src/cli/drill/report.ts";
import { DrillResource } from "../../src/cli/drill/resource.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());

const SLOW = { timeout: 120_000 };
const store = (name: string): string => `sqlite:${cli.file(name)}`;

describe("a drill", () => {
  it("kills, stops and resigns leaders, and says how long each failover took", SLOW, async () => {
    const args = ["drill", "--store", store("whole.db"), "--rounds", "2", "--ttl", "1s", "--json"];
    const { code, stdout, stderr } = await cli.run(args);
    const report = JSON.parse(stdout) as ReturnType<typeof summarize>;
    expect(report, stderr).toMatchObject({ ttlMs: 1000, rounds: 2, overlaps: 0, ok: true, problems: [] });
    expect(code).toBe(0);
    expect(Object.keys(report.failoverMs)).toEqual(["crash", "pause", "resign"]);
    expect(report.staleWrites.accepted).toBe(0);
    expect(report.staleWrites.refused).toBeGreaterThanOrEqual(2);
    expect(report.terms).toBeGreaterThanOrEqual(7);
    // One that is merely stopped is waited for.
    expect(report.failoverMs.pause?.min).toBeGreaterThan(500);
    expect(stderr).toMatch(/without cut: this store is not reached over a network/);
  });

  it("can be interrupted, and leaves neither processes nor files behind", SLOW, async () => {
    // Other tests have drills as well, and at the same time: this one has a folder for temporary files of its own.
    const temporary = cli.file("temporary");
    mkdirSync(temporary);
    const args = ["drill", "--store", store("stopped.db"), "--rounds", "1000", "--ttl", "1s"];
    const drill = await cli.start(args, { TMPDIR: temporary });
    while ((await cli.run(["leader", "conclave-drill", "--store", store("stopped.db")])).code !== 0);
    // The first of the three may lead before the last one has been started.
    await expect.poll(() => childrenOf(drill.pid).length).toBeGreaterThanOrEqual(3);
    const children = childrenOf(drill.pid);
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^conclave-drill-/)]);
    const refused = await cli.run(["drill", "--store", store("stopped.db"), "--rounds", "1"]);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/leads "conclave-drill" already/);
    drill.signal("SIGINT");
    expect((await drill.ended).code).toBe(130);
    expect(children.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("refuses a ttl that the store cannot grant before it starts a process", async () => {
    const { code, stderr } = await cli.run(["drill", "--store", "zookeeper://127.0.0.1:1", "--ttl", "500ms"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--ttl 500ms is too short for zookeeper")]);
  });

  it("says what it does not understand", async () => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["--store", "memory:"], /several processes can open/],
      [["--store", store("x.db"), "--faults", "flood"], /--faults flood: of crash,pause,resign,cut/],
      [["--store", store("x.db"), "--faults", "cut"], /--faults cut: this store is not reached over a network/],
      [["--store", store("x.db"), "--candidates", "1"], /at least 2/],
    ];
    for (const [args, problem] of cases) {
      const { code, stderr } = await cli.run(["drill", ...args]);
      expect(code, args.join(" ")).toBe(2);
      expect(stderr).toMatch(problem);
    }
  });
});

describe("its judgement", () => {
  const whole = {
    store: "x",
    ttlMs: 1000,
    rounds: 1,
    samples: { crash: [10, 30] },
    terms: 2,
    overlaps: [],
    staleWrites: { refused: 1, accepted: 0 },
    writers: [],
    problems: [],
  };

  it("is good only without overlaps, accepted stale writes and one token in two hands", () => {
    const writer = { id: "a", arrived: 1, accepted: 1, refused: 0, lastToken: 4n };
    expect(summarize(whole).ok).toBe(true);
    expect(summarize({ ...whole, overlaps: ["a and b"] }).ok).toBe(false);
    expect(summarize({ ...whole, staleWrites: { refused: 0, accepted: 1 } }).ok).toBe(false);
    expect(summarize({ ...whole, writers: [writer, { ...writer, id: "b" }] }).ok).toBe(false);
    expect(summarize({ ...whole, rounds: 0 }).ok).toBe(false);
    expect(summarize(whole).failoverMs.crash).toEqual({ min: 10, median: 10, p99: 30, max: 30 });
  });

  it("refuses a stale write by its token, and counts one that could not be refused", async () => {
    const write = (number: number, token: string, fence: string) =>
      ({ event: "write", at: 1, number, token, fence, composed: false }) as const;
    const fenced = new DrillResource();
    await fenced.arrive("a", write(1, "1", "d:1:x"));
    await fenced.arrive("b", write(1, "2", "d:2:y"));
    await fenced.arrive("a", write(2, "1", "d:1:x"));
    expect([fenced.staleRefused, fenced.staleAccepted]).toEqual([1, 0]);
    const unfenced = new DrillResource();
    await unfenced.arrive("a", write(1, "1", ""));
    await unfenced.arrive("b", write(1, "2", ""));
    await unfenced.arrive("a", write(2, "1", ""));
    expect([unfenced.staleRefused, unfenced.staleAccepted]).toEqual([0, 1]);
    await unfenced.arrive("a", write(4, "3", ""));
    expect(unfenced.problems).toEqual(["a sent write 4, and 3 had arrived"]);
  });

  it("finds the addresses of a store in its URL", () => {
    expect(addressesOf("etcd://a:1,b:2/x", 2379)).toEqual([
      { host: "a", port: 1 },
      { host: "b", port: 2 },
    ]);
    expect(addressesOf("postgres://u:p%40@db/x?y=1", 5432)).toEqual([{ host: "db", port: 5432 }]);
    expect(addressesOf("postgres://u@[::1]:7/x", 5432)).toEqual([{ host: "::1", port: 7 }]);
  });
});

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number);
}
