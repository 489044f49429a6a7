// Failover of a real trio of PostgreSQL, interrupted: the leader of the monitors dies after each step, the store is away in the middle, the server that was chosen dies before anybody has confirmed it. No commit that a
// client was told of is lost, whichever of them it is.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { sleep } from "../support/processes.ts";
import { useServers } from "../support/servers.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { PostgresWriter } from "./postgres-writer.ts";
import { Onlooker, SERVERS } from "./trio.ts";

const store = useServers(etcd, { nodes: 1 });
const trio = new PostgresTrio();
let onlooker: Onlooker;
let writer: PostgresWriter;
let writers = 0;

beforeAll(async () => {
  await trio.start((store().urls[0] ?? "").replace("http:", "etcd:"), { confirmations: 1, promoteWithinMs: 4000 });
  await trio.ask(await trio.settled(undefined, 120_000), "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
  onlooker = new Onlooker(trio);
}, 300_000);

beforeEach(async () => {
  await trio.whole();
  const urls = SERVERS.map((name) => trio.urlOf(name));
  writer = new PostgresWriter(urls, ++writers * 1_000_000);
  await writer.again(120_000);
}, 300_000);

afterEach(async () => {
  await writer.again(120_000);
  await writer.stop();
  const primary = await trio.settled(undefined, 120_000);
  const rows = (await trio.ask(primary, "SELECT id FROM writes", 20_000)) as readonly { id: number }[];
  const found = new Set(rows.map(({ id }) => id));
  expect(writer.acknowledged.filter((id) => !found.has(id))).toEqual([]);
}, 300_000);

afterAll(async () => {
  await onlooker?.stop();
  await trio.end();
}, 300_000);

describe("failover of PostgreSQL, interrupted", () => {
  it.each(["fencing", "choosing", "promoting", "repointing"])(
    "the leader of the monitors is killed when it has come to %s: the next one goes on",
    async (step) => {
      const old = await trio.settled();
      const since = new Date().toISOString();
      await trio.guards.get(old)?.kill();
      const leader = await trio.atStep(step, since);
      await trio.monitors.get(leader)?.kill();
      await trio.settled(old, 120_000);
      await trio.monitor(leader);
      await trio.guard(old);
    },
    300_000,
  );

  it.each(["handing-over", "promoting"])(
    "a switchover whose leader of the monitors is killed when it has come to %s: the next one finishes or undoes it",
    async (step) => {
      const old = await trio.settled();
      const to = SERVERS.find((name) => name !== old) ?? "";
      const since = await trio.steady();
      const ordered = trio.order("switchover", "--to", to);
      const leader = await trio.atStep(step, since);
      await trio.monitors.get(leader)?.kill();
      expect(trio.stepsOf(leader, since)).not.toContain("steady");
      const { isDone } = await ordered;
      const next = await trio.settled(undefined, 120_000);
      expect([old, to]).toContain(next);
      expect(isDone).toBe(next === to);
      await trio.monitor(leader);
    },
    300_000,
  );

  it("the server that was chosen dies before anybody has confirmed it: its timeline is nobody else's, and it comes back", async () => {
    const old = await trio.settled();
    const since = new Date().toISOString();
    await trio.guards.get(old)?.kill();
    const leader = await trio.atStep("promoting", since);
    const chosen = /"step":\{"at":"promoting"[^}]*"to":"(\w)"/g;
    const [, to = ""] = [...(trio.monitors.get(leader)?.stderr ?? "").matchAll(chosen)].at(-1) ?? [];
    await trio.guards.get(to)?.kill();
    await trio.guard(to);
    await trio.guard(old);
    await writer.again(180_000);
    const primary = await trio.settled(undefined, 180_000);
    const others = SERVERS.filter((name) => name !== primary);
    for (const name of others)
      await expect
        .poll(async () => (await trio.look(name).catch(() => undefined))?.linkedTo, { timeout: 120_000 })
        .toBe(trio.ports.get(primary));
  }, 240_000);

  it("the store is away in the middle: nobody is primary without it, and everything goes on when it is back", async () => {
    const old = await trio.settled();
    const since = new Date().toISOString();
    await trio.guards.get(old)?.kill();
    await trio.atStep("fencing", since);
    store().nodes[0]?.pause();
    await sleep(5500);
    store().nodes[0]?.resume();
    await trio.settled(undefined, 120_000);
    await trio.guard(old);
  }, 300_000);

  it("at no time did two servers say that they take writes", () => {
    expect(onlooker.sweeps).toBeGreaterThan(100);
    expect(onlooker.doubles).toEqual([]);
  });
});
