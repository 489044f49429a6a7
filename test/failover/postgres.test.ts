// Failover on a real trio of PostgreSQL whose commits wait for one standby: what is killed, stopped and cut here are processes. Every commit that a client was told of is looked for afterwards. The store is etcd, so
// that it can be away for a while.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { statOf } from "../../scripts/servers/process.mjs";
import { sleep } from "../support/processes.ts";
import { useServers } from "../support/servers.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { PostgresWriter } from "./postgres-writer.ts";
import type { FailoverRecord } from "conclave/failover";
import { MONITORS, Onlooker, SERVERS } from "./trio.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

const store = useServers(etcd, { nodes: 1 });
const trio = new PostgresTrio();
let onlooker: Onlooker;
let writer: PostgresWriter;
let writers = 0;

/** Gone, or a zombie that its stopped parent has not heard of. */
function isGone(pid: number): boolean {
  return /^[ZX]?$/.test(statOf(`${pid}`)[0] ?? "");
}

/** Of the commits that the client was told of, those that the primary does not have. */
async function lost(): Promise<readonly number[]> {
  const primary = await trio.settled();
  const rows = (await trio.ask(primary, "SELECT id FROM writes")) as readonly { id: number }[];
  const found = new Set(rows.map(({ id }) => id));
  return writer.acknowledged.filter((id) => !found.has(id));
}

beforeAll(async () => {
  await trio.start((store().urls[0] ?? "").replace("http:", "etcd:"), { confirmations: 1 });
  const primary = await trio.settled(undefined, 120_000);
  await trio.ask(primary, "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
  onlooker = new Onlooker(trio);
}, 300_000);

beforeEach(async () => {
  await trio.whole();
  writer = new PostgresWriter(
    SERVERS.map((name) => trio.urlOf(name)),
    ++writers * 1_000_000,
  );
  await writer.again();
}, 180_000);

/** The promise, after each of them: no commit that a client was told of is missing. */
afterEach(async () => {
  await writer.again();
  await writer.stop();
  expect(await lost()).toEqual([]);
}, 180_000);

afterAll(async () => {
  await onlooker?.stop();
  await trio.end();
}, 300_000);

/** Everything of one server, as the kernel shows it. */
function stopServer(pid: number, signal: "SIGSTOP" | "SIGCONT"): void {
  for (const each of [pid, ...childrenOf(pid)]) signalTo(each, signal);
}

function childrenOf(parent: number): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.filter((name) => statOf(name)[1] === `${parent}`).map(Number);
}

describe("failover of PostgreSQL", () => {
  it("replaces a primary that was killed with its guard, and takes it back", async () => {
    const old = await trio.settled();
    // With its guard: otherwise it is back at once, has more than the others, and is rightly chosen again.
    await trio.guards.get(old)?.kill();
    const next = await trio.settled(old, 120_000);
    await trio.guard(old);
    await expect.poll(() => trio.role(old), { timeout: 30_000 }).toBe("replica");
    expect(existsSync(path.join(trio.dataOf(old), "standby.signal"))).toBe(true);
    expect(await trio.settled(undefined, 120_000)).toBe(next);
  }, 300_000);

  it("a backend that goes on after its postmaster was killed is dead before anybody else is promoted", async () => {
    const old = await trio.settled();
    const busy = new pg.Client({ connectionString: trio.urlOf(old) });
    busy.on("error", () => {});
    await busy.connect();
    busy.query("DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$").catch(() => {});
    const postmaster = await trio.pidOf(old);
    const backends = childrenOf(postmaster);
    signalTo(postmaster, "SIGKILL");
    // Its backends still answer, for a moment.
    const isNew = async (): Promise<boolean> =>
      (await trio.pidOf(await trio.settled(undefined, 120_000))) !== postmaster;
    while (!(await isNew().catch(() => false))) await sleep(20);
    expect(backends.length).toBeGreaterThan(3);
    expect(backends.filter((pid) => !isGone(pid))).toEqual([]);
    await busy.end().catch(() => {});
  }, 300_000);

  it("a server that is stopped, not dead, is killed by its guard when the record says so", async () => {
    const pid = await trio.pidOf(await trio.settled());
    const all = [pid, ...childrenOf(pid)];
    stopServer(pid, "SIGSTOP");
    await expect.poll(() => all.filter((each) => !isGone(each)), { timeout: 120_000 }).toEqual([]);
  }, 300_000);

  it("a switchover loses no commit, and nothing has to be taken back", async () => {
    const old = await trio.settled();
    const to = SERVERS.find((name) => name !== old) ?? "";
    const told = trio.guards.get(old)?.stderr.length;
    expect(await trio.order("switchover", "--to", to)).toMatchObject({ isDone: true, said: `${to} is the primary` });
    expect(await trio.settled(undefined, 120_000)).toBe(to);
    expect(trio.guards.get(old)?.stderr.slice(told)).not.toContain('"state":"killing"');
  }, 300_000);

  it("a guard that is stopped: its keeper kills the server with all its backends before another is promoted", async () => {
    const old = await trio.settled();
    const pid = await trio.pidOf(old);
    const all = [pid, ...childrenOf(pid)];
    trio.guards.get(old)?.signal("SIGSTOP");
    const next = await trio.settled(old, 120_000);
    expect(all.filter((each) => !isGone(each))).toEqual([]);
    trio.guards.get(old)?.signal("SIGCONT");
    await expect.poll(() => trio.role(old), { timeout: 30_000 }).toBe("replica");
    expect(await trio.settled(undefined, 120_000)).toBe(next);
  }, 300_000);

  it("no quorum of the monitors, no failover", async () => {
    const old = await trio.settled();
    const leading = trio.leader();
    const others = MONITORS.filter((name) => name !== leading);
    for (const name of others) trio.monitors.get(name)?.signal("SIGSTOP");
    await trio.guards.get(old)?.kill();
    await sleep(4000);
    const roles = await Promise.all(SERVERS.map((name) => trio.role(name)));
    expect(roles).not.toContain("primary");
    for (const name of others) trio.monitors.get(name)?.signal("SIGCONT");
    await trio.settled(old, 120_000);
    await trio.guard(old);
  }, 300_000);

  it("status tells all of it, and a dry run who would be chosen", async () => {
    const primary = await trio.settled(undefined, 120_000);
    await expect.poll(async () => (await trio.order("status"))["seated"]).toMatchObject({ server: primary });
    const { record } = (await trio.order("status")) as { record: FailoverRecord };
    expect(record.sync?.sets).toEqual([
      { primary, confirmations: 1, promotable: SERVERS.filter((name) => name !== primary) },
    ]);
    await trio.steady();
    expect(await trio.order("switchover", "--dry-run")).toMatchObject({ is: "chosen" });
  }, 300_000);

  it("at no time did two servers say that they take writes", () => {
    expect(onlooker.sweeps).toBeGreaterThan(100);
    expect(onlooker.doubles).toEqual([]);
  });
});
