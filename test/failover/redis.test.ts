// Failover on a real trio of Redis: what is killed, stopped and cut here are processes, and the clients are those that people use. The store is etcd, so that it can be away for a while.
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { createSentinel } from "redis";
import { createSentinel as createSentinel5 } from "redis5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { statOf } from "../../scripts/servers/process.mjs";
import type { FailoverRecord } from "conclave/failover";
import { sleep } from "../support/processes.ts";
import { useServers } from "../support/servers.ts";
import { RedisTrio } from "./redis-trio.ts";
import { followingOptions, RedisWriter, sentinelsOf } from "./redis-writer.ts";
import { Onlooker, SERVERS } from "./trio.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

const store = useServers(etcd, { nodes: 1 });
const trio = new RedisTrio();
let onlooker: Onlooker;

/** Gone, or a zombie that its stopped parent has not heard of. */
function isGone(pid: number): boolean {
  return /^[ZX]?$/.test(statOf(`${pid}`)[0] ?? "");
}

beforeAll(async () => {
  await trio.start((store().urls[0] ?? "").replace("http:", "etcd:"));
  await trio.settled();
  onlooker = new Onlooker(trio);
}, 90_000);

afterAll(async () => {
  await onlooker?.stop();
  await trio.end();
}, 60_000);

describe("failover of Redis", () => {
  it("replaces a primary that was killed; clients of ioredis and node-redis follow; the old one comes back as a replica", async () => {
    const old = await trio.settled();
    const ofIoredis = [new Redis(followingOptions(trio)), new Redis5(followingOptions(trio))];
    const options = { name: "orders", sentinelRootNodes: sentinelsOf(trio), scanInterval: 500 };
    const [six, five] = [createSentinel(options), createSentinel5(options)];
    for (const client of ofIoredis) client.on("error", () => {});
    six.on("error", () => {});
    five.on("error", () => {});
    await Promise.all([six.connect(), five.connect()]);
    const writers = [...ofIoredis, six, five].map((client, at) => new RedisWriter(trio, `client-${at}`, client));
    await Promise.all(writers.map((writer) => writer.again()));
    signalTo(await trio.pidOf(old), "SIGKILL");
    const next = await trio.settled(old);
    await Promise.all(writers.map((writer) => writer.again()));
    await Promise.all(writers.map((writer) => writer.stop()));
    // Redis has no synchronous replication: what was acknowledged in the last moment may be lost, and not more.
    const lost = await Promise.all(writers.map((writer) => writer.lost(next)));
    expect(lost.every((count) => count <= 5)).toBe(true);
    expect(await trio.role(old)).toBe("replica");
    for (const client of ofIoredis) client.disconnect();
    await Promise.all([six.close(), five.close()]);
  });

  it("a switchover loses no acknowledged write", async () => {
    const old = await trio.settled();
    const to = SERVERS.find((name) => name !== old) ?? "";
    const writer = new RedisWriter(trio, "switch");
    await writer.again();
    expect(await trio.order("switchover", "--to", to)).toMatchObject({ isDone: true, said: `${to} is the primary` });
    expect(await trio.settled()).toBe(to);
    await writer.again();
    await writer.stop();
    expect(await writer.lost(to)).toBe(0);
  });

  it("a switchover of a primary that has closed all its connections, as it does with idle ones: it is not killed", async () => {
    const old = await trio.settled();
    const to = SERVERS.find((name) => name !== old) ?? "";
    const pid = await trio.pidOf(old);
    const client = new Redis({ port: trio.ports.get(old) ?? 0, host: "127.0.0.1" });
    await client.call("CLIENT", "KILL", "TYPE", "normal");
    client.disconnect();
    expect(await trio.order("switchover", "--to", to)).toMatchObject({ isDone: true, said: `${to} is the primary` });
    expect(await trio.settled()).toBe(to);
    expect(await trio.pidOf(old)).toBe(pid);
  });

  it("a guard that is stopped: its keeper kills the service before another is promoted, and its return is harmless", async () => {
    const old = await trio.settled();
    const pid = await trio.pidOf(old);
    trio.guards.get(old)?.signal("SIGSTOP");
    const next = await trio.settled(old);
    expect(isGone(pid)).toBe(true);
    trio.guards.get(old)?.signal("SIGCONT");
    await expect.poll(() => trio.role(old)).toBe("replica");
    expect(await trio.settled()).toBe(next);
  });

  it("a service that is stopped, not dead, is killed by its guard when the record says so", async () => {
    const old = await trio.settled();
    const pid = await trio.pidOf(old);
    signalTo(pid, "SIGSTOP");
    await trio.settled(old);
    expect(isGone(pid)).toBe(true);
  });

  it.each(["fencing", "choosing", "promoting", "repointing"])(
    "the leader of the monitors is killed when it has come to %s: the next one goes on",
    async (step) => {
      const old = await trio.whole();
      const writer = new RedisWriter(trio, `failover-${step}`);
      await writer.again();
      const since = new Date().toISOString();
      signalTo(await trio.pidOf(old), "SIGKILL");
      const leader = await trio.atStep(step, since);
      await trio.monitors.get(leader)?.kill();
      const next = await trio.settled(old);
      expect(next).not.toBe(old);
      await writer.again();
      await writer.stop();
      // Only what was acknowledged in the last moment of the old primary may be lost.
      expect(await writer.lost(next)).toBeLessThanOrEqual(5);
      await trio.monitor(leader);
    },
  );

  it.each(["handing-over", "choosing", "promoting", "repointing"])(
    "a switchover whose leader of the monitors is killed when it has come to %s: the next one finishes or undoes it, and no acknowledged write is lost",
    async (step) => {
      const old = await trio.whole();
      const to = SERVERS.find((name) => name !== old) ?? "";
      const writer = new RedisWriter(trio, `interrupted-${step}`);
      await writer.again();
      const since = await trio.steady();
      const ordered = trio.order("switchover", "--to", to);
      const leader = await trio.atStep(step, since);
      await trio.monitors.get(leader)?.kill();
      expect(trio.stepsOf(leader, since)).not.toContain("steady");
      const { isDone } = await ordered;
      const next = await trio.settled();
      expect([old, to]).toContain(next);
      expect(isDone).toBe(next === to);
      await writer.again();
      await writer.stop();
      expect(await writer.lost(next)).toBe(0);
      await trio.monitor(leader);
    },
    60_000,
  );

  it("the store is away in the middle of a switchover: it is finished or undone when the store is back, and no acknowledged write is lost", async () => {
    const old = await trio.whole();
    const to = SERVERS.find((name) => name !== old) ?? "";
    const writer = new RedisWriter(trio, "store-away");
    await writer.again();
    const since = await trio.steady();
    const ordered = trio.order("switchover", "--to", to).catch(() => ({ isDone: undefined }));
    await trio.atStep("handing-over", since);
    store().nodes[0]?.pause();
    await sleep(3500);
    store().nodes[0]?.resume();
    const { isDone } = await ordered;
    const next = await trio.settled(undefined, 40_000);
    if (isDone === true) expect(next).toBe(to);
    await writer.again();
    await writer.stop();
    expect(await writer.lost(next)).toBe(0);
  }, 60_000);

  it("the store is away in the middle: nobody is primary without it, and everything goes on when it is back", async () => {
    const old = await trio.settled();
    const since = new Date().toISOString();
    signalTo(await trio.pidOf(old), "SIGKILL");
    await trio.atStep("fencing", since);
    store().nodes[0]?.pause();
    await sleep(3500);
    store().nodes[0]?.resume();
    await trio.settled(undefined, 40_000);
  });

  it("a guard that was killed together with its keeper leaves a service behind, which the next guard ends before it starts one", async () => {
    const primary = await trio.whole();
    const name = SERVERS.find((each) => each !== primary) ?? "";
    const pid = await trio.pidOf(name);
    const guard = trio.guards.get(name);
    const keeper = Number(/"type":"keeper","state":"started","pid":(\d+)/.exec(guard?.stderr ?? "")?.[1]);
    guard?.signal("SIGSTOP");
    signalTo(keeper, "SIGKILL");
    // Its end is heard only when the service has closed what it has of it.
    guard?.signal("SIGKILL");
    await expect.poll(() => isGone(guard?.pid ?? 0)).toBe(true);
    expect(isGone(pid)).toBe(false);
    const again = await trio.guard(name);
    await expect.poll(() => again.stderr).toContain(`"state":"leftovers","pids":[${pid}]`);
    expect(await trio.settled()).toBe(primary);
  });

  it("status tells all of it; a pause stops failovers, and orders are obeyed", async () => {
    const primary = await trio.settled();
    await expect.poll(async () => (await trio.order("status"))["seated"]).toMatchObject({ server: primary });
    expect(await trio.order("pause")).toMatchObject({ isDone: true });
    expect(await trio.order("status")).toMatchObject({ record: { isPaused: true } });
    expect(await trio.order("switchover", "--to", primary)).toMatchObject({
      isDone: false,
      said: `${primary} is the primary`,
    });
    expect(await trio.order("resume")).toMatchObject({ isDone: true });
    await trio.steady();
    expect(await trio.order("switchover", "--dry-run")).toMatchObject({ is: "chosen" });
  });

  it("while it is paused, a primary that was killed is not replaced; when it goes on, it is", async () => {
    const old = await trio.whole();
    expect(await trio.order("pause")).toMatchObject({ isDone: true });
    signalTo(await trio.pidOf(old), "SIGKILL");
    const told = (): string => [...trio.monitors.values()].map(({ stderr }) => stderr).join("\n");
    await expect.poll(told, { timeout: 20_000 }).toContain(`${old} is down, and failover is paused`);
    // Its guard has started it again, as a replica: it is not the primary by itself, and nobody else is.
    await expect.poll(() => trio.role(old), { timeout: 20_000 }).toBe("replica");
    const { record } = (await trio.order("status")) as { record: FailoverRecord };
    expect(record).toMatchObject({ isPaused: true, primary: old, step: { at: "steady" } });
    expect(await Promise.all(SERVERS.map((name) => trio.role(name)))).not.toContain("primary");
    expect(await trio.order("resume")).toMatchObject({ isDone: true });
    expect(await trio.settled()).not.toBe(old);
  }, 60_000);

  it("at no time did two servers say that they take writes", () => {
    expect(onlooker.sweeps).toBeGreaterThan(100);
    expect(onlooker.doubles).toEqual([]);
  });
});
