// `conclave partitions` as a process: what it shows of a group, what it asks of it, and the demo, whose notes are judged again here.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { joinPartitions, type PartitionGroup } from "conclave/partitions";
import { sqlite } from "conclave/stores/sqlite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { judgePartitions } from "../../src/cli/partitions/judge.ts";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
const groups: PartitionGroup[] = [];
const store = `sqlite:${cli.file("store.db")}`;

beforeAll(async () => {
  for (const id of ["a", "b"])
    groups.push(
      await joinPartitions("orders", {
        store: sqlite(store),
        id,
        partitions: 6,
        ttlMs: 3000,
        gatherMs: 50,
        onEvent: () => {},
        onAssigned: async () => {},
      }),
    );
  await vi.waitFor(() => expect(groups.map((group) => group.held().length)).toEqual([3, 3]), { timeout: 20_000 });
}, 30_000);

afterAll(async () => {
  await Promise.all(groups.map((group) => group.close()));
  await cli.end();
});

const run = (...args: readonly string[]): ReturnType<CommandLine["run"]> =>
  cli.run(["partitions", ...args, "--store", store]);

describe("conclave partitions", () => {
  it("status: who is there, who leads how many, and that every partition is led", async () => {
    const { code, stdout } = await run("status", "orders");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^"orders": 6 partitions, controlled by [ab]_\S+\n {2}a {2}leads 3\n {2}b {2}leads 3\nevery partition is led\n$/,
    );
    const json = await run("status", "orders", "--json", "--leads");
    expect(JSON.parse(json.stdout)).toMatchObject({
      group: "orders",
      partitions: 6,
      unled: [],
      revoked: [],
      transfers: {},
    });
    const { leads } = JSON.parse(json.stdout) as {
      readonly leads: readonly { readonly epoch: string; readonly state: string }[];
    };
    expect(leads.map(({ state }) => state)).toEqual(Array.from({ length: 6 }, () => "assigned"));
    expect(leads.every(({ epoch }) => BigInt(epoch) > 2n ** 64n)).toBe(true);
  });

  it("without a verb it prints how it is used, as conclave stonith and conclave failover do", async () => {
    const bare = await cli.run(["partitions"]);
    expect(bare).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^usage: [^]*drain GROUP/) as string,
    });
  });

  it("drain, undrain and transfer ask the controller, which does it", async () => {
    const held = (): readonly number[] => groups.map((group) => group.held().length);
    expect((await run("drain", "orders", "a")).code).toBe(0);
    await vi.waitFor(() => expect(held()).toEqual([0, 6]), { timeout: 20_000 });
    expect((await run("status", "orders")).stdout).toContain("  a  leads 0, drains\n");
    expect((await run("undrain", "orders", "a", "--json")).stdout).toBe(
      `${JSON.stringify({ group: "orders", asked: { drain: "a", isDraining: false } })}\n`,
    );
    await vi.waitFor(() => expect(held()).toEqual([3, 3]), { timeout: 20_000 });
    const partition = groups[1]?.held()[0]?.partition ?? -1;
    expect((await run("transfer", "orders", `${partition}`, "a")).code).toBe(0);
    const holds = (): boolean | undefined => groups[0]?.held().some((term) => term.partition === partition);
    await vi.waitFor(() => expect(holds()).toBe(true), { timeout: 20_000 });
  });

  it("says what is not there, and what it does not understand", async () => {
    expect(await run("status", "nothing")).toMatchObject({ code: 1, stdout: "" });
    expect(await run("drain", "orders", "c")).toMatchObject({ code: 1 });
    expect(await run("transfer", "orders", "6", "a")).toMatchObject({ code: 2 });
    expect(await run("explode", "orders")).toMatchObject({ code: 2 });
    expect((await cli.run(["partitions", "status", "orders", "--store", "memory:?layout=swap"])).code).toBe(3);
    expect(await run("drain", "orders", "a", "--members", "3")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--members goes with partitions demo") as string,
    });
  });

  it("status of a group that no controller has assigned yet says that nobody leads anything", async () => {
    const alone = await joinPartitions("young", {
      store: sqlite(store),
      id: "a",
      partitions: 3,
      mayControl: false,
      onEvent: () => {},
      onAssigned: async () => {},
    });
    const { stdout } = await run("status", "young");
    expect(stdout).toMatch(/^"young": 3 partitions, nobody controls it\n[^]*\nnobody leads 0, 1, 2\n$/);
    await alone.close();
  });
});

describe("conclave partitions demo", () => {
  it.each([
    ["etcd://127.0.0.1:1", 3, "nothing listens there"],
    ["redis://127.0.0.1:1", 3, "cannot fence"],
    ["memory:", 2, "processes cannot share it"],
    ["nosuch://x", 2, "is not the scheme of a store"],
  ])("on a store that cannot do it (%s), it says so before it starts a process", async (url, code, why) => {
    const { stdout, ...rest } = await cli.run(["partitions", "demo", "--store", url], { TMPDIR: cli.folder });
    expect(rest).toMatchObject({ code, stderr: expect.stringContaining(why) as string });
    expect(stdout).toBe("");
  });

  it("with a ttl that the store cannot grant, it says so before it starts a process", async () => {
    const args = ["partitions", "demo", "--store", "zookeeper://127.0.0.1:1", "--ttl", "1s"];
    const { code, stderr } = await cli.run(args, { TMPDIR: cli.folder });
    expect([code, stderr]).toEqual([2, expect.stringContaining("--ttl 1000ms is too short for zookeeper")]);
  });

  it("interrupted, it exits with 130", { timeout: 60_000 }, async () => {
    const demo = await cli.start(["partitions", "demo", "--partitions", "5"], { TMPDIR: cli.folder });
    await expect.poll(() => demo.stdout, { timeout: 30_000 }).toMatch(/at rest after/);
    demo.signal("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("interrupted") });
  });

  it(
    "kills and stops members and controllers: no partition is led twice, and only what they led moves",
    { timeout: 180_000 },
    async () => {
      const { code, stdout, stderr } = await cli.run(["partitions", "demo", "--json"], { TMPDIR: cli.folder });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const shown = JSON.parse(stdout) as DemoReport;
      expect(shown).toMatchObject({ ok: true, overlaps: 0, problems: [] });
      expect(shown.acts.map(({ what, controlled }) => `${controlled ? "controller " : ""}${what}`)).toEqual([
        "begun",
        "killed",
        "stopped",
        "resumed",
        "controller stopped",
        "resumed",
        "controller killed",
      ]);
      const ends = shown.acts.filter(({ what }) => what === "killed" || what === "stopped");
      for (const { led, moved, ms, boundMs, controlled, keptController } of ends) {
        expect(led).toBeGreaterThan(0);
        expect(moved ?? 0).toBe(0);
        // A controller that is gone was replaced: two ttls (of 2 s) and a renewal interval are promised then.
        if (controlled) expect({ keptController, boundMs }).toEqual({ keptController: false, boundMs: 4667 });
        // What is beyond the bound is for a machine that runs other tests as well.
        expect(ms).toBeLessThan((boundMs ?? 0) + 4000);
      }
      expect(shown.gaps.reduce((sum, { led }) => sum + led, 0)).toBe(ends.reduce((sum, { led }) => sum + led, 0));
      const logs = readdirSync(shown.folder).filter((name) => name.endsWith(".log"));
      const verdict = judgePartitions(logs.map((name) => readFileSync(path.join(shown.folder, name), "utf8")));
      expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
      expect(verdict.terms).toBeGreaterThan(190);
    },
  );
});

interface DemoReport {
  readonly folder: string;
  readonly acts: readonly {
    readonly what: string;
    readonly led: number;
    readonly ms: number;
    readonly controlled: boolean;
    readonly keptController: boolean;
    readonly boundMs?: number;
    readonly moved?: number;
  }[];
  readonly gaps: readonly { readonly led: number }[];
}

describe("the judge of partitions", () => {
  it("finds two that held one partition at one instant, an epoch that fell, and what it cannot read", () => {
    const a = "7 100.0 a begin 5\n7 200.0 a act 5\n8 100.0 a begin 5\n8 110.0 a end 5\n";
    const b = "7 150.0 b begin 6\n8 120.0 b begin 4\nnonsense\n9 1";
    const { overlaps, regressions, unread, terms } = judgePartitions([a, b]);
    expect(terms).toBe(4);
    expect(overlaps).toEqual([expect.stringMatching(/^partition 7: b \(token 6\) began 50\.000 ms before a/)]);
    expect(regressions).toEqual([expect.stringMatching(/^partition 8: b has token 4 after a had 5/)]);
    expect(unread).toContain("nonsense");
  });
});
