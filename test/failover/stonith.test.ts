// Failover that powers the machine of the old primary off: a real trio of Redis, monitors as processes of the command line, and a switch that obeys, lies or is mute. A machine that stands still as a whole is stopped with
// everything on it: guard, keeper and server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FailoverRecord, Shot } from "conclave/failover";
import { areGone, MachineTrio } from "./machines.ts";
import { Onlooker, SERVERS } from "./trio.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

const LONG = { timeout: 40_000 };

function useMachines(hasGuards: boolean, stonith: Readonly<Record<string, unknown>> = {}): MachineTrio {
  const trio = new MachineTrio(hasGuards);
  let onlooker: Onlooker | undefined;
  beforeAll(async () => {
    await trio.begin(`sqlite:${trio.cli.file("store.db")}`, stonith);
    await trio.settled();
    onlooker = new Onlooker(trio);
  }, 90_000);
  afterAll(async () => {
    await onlooker?.stop();
    await trio.end();
    expect(onlooker?.doubles).toEqual([]);
  }, 60_000);
  return trio;
}

async function recordOf(trio: MachineTrio): Promise<FailoverRecord> {
  return (await trio.order("status"))["record"] as FailoverRecord;
}

async function shotAt(trio: MachineTrio, server: string): Promise<Shot | undefined> {
  return (await recordOf(trio)).shots?.findLast((shot) => shot.server === server);
}

const told = (trio: MachineTrio): string => [...trio.monitors.values()].map(({ stderr }) => stderr).join("");

describe("failover by devices alone", () => {
  const trio = useMachines(false);

  it("takes the server that serves already for the primary, and does not let it hand over", async () => {
    expect(await trio.settled()).toBe("a");
    expect(await trio.order("switchover", "--to", "b")).toMatchObject({ isDone: false });
  });

  it("powers the machine of a primary that hangs off, and promotes another when that is verified", async () => {
    const old = await trio.settled();
    const pids = await trio.freeze(old);
    const next = await trio.settled(old);
    expect(areGone(pids)).toBe(true);
    await expect.poll(() => shotAt(trio, old), LONG).toMatchObject({ last: { outcome: "verified" }, isBack: false });
    expect(told(trio)).toMatch(/"fencedBy":"stonith"/);
    expect((await trio.cli.run(["failover", "status", "--config", trio.config])).stdout).toMatch(
      new RegExp(`${next} is the primary[^]*machine +of ${old}: OFF since .*: level 1: switch says that it is off`),
    );
    trio.boot(old, next);
    await expect.poll(() => shotAt(trio, old), LONG).toMatchObject({ isBack: true });
  });

  it("promotes nobody after a device that lies, nor after one that is mute, and the record says so; a human's word is enough", async () => {
    const old = await trio.settled();
    const others = SERVERS.filter((name) => name !== old);
    trio.mood("lying");
    const pids = await trio.freeze(old);
    await expect.poll(async () => (await shotAt(trio, old))?.last, LONG).toMatchObject({ outcome: "failed" });
    trio.mood("mute");
    await expect.poll(async () => (await shotAt(trio, old))?.last, LONG).toMatchObject({ outcome: "unknown" });
    const vain = (await shotAt(trio, old))?.vain ?? 0;
    await expect.poll(async () => (await shotAt(trio, old))?.vain, LONG).toBeGreaterThan(vain + 1);
    expect(await recordOf(trio)).toMatchObject({ step: { at: "fencing", from: old } });
    for (const name of others) expect(await trio.role(name)).toBe("replica");
    expect(told(trio)).toMatch(/"is":"not-fenced","server":".","outcome":"failed"/);
    const confirm = ["failover", "confirm", old, "--config", trio.config];
    expect(await trio.cli.run(confirm)).toMatchObject({ code: 2, stderr: expect.stringContaining("two do") as string });
    expect(await trio.role(others[0] ?? "")).toBe("replica");
    for (const pid of pids) signalTo(pid, "SIGKILL");
    expect((await trio.cli.run([...confirm, "--i-have-seen-that-it-is-off"])).code).toBe(0);
    expect(await trio.settled(old)).not.toBe(old);
    expect(told(trio)).toMatch(/"fencedBy":"human"/);
  });
});

describe("failover by devices beside guards, where they are required", () => {
  const trio = useMachines(true, { required: true });

  it("promotes nobody while a machine that stands still is not verified to be off, although its seat has run out; then it does", async () => {
    const old = await trio.whole();
    await trio.known();
    trio.mood("mute");
    const pids = await trio.freeze(old);
    await expect.poll(async () => (await shotAt(trio, old))?.vain, LONG).toBeGreaterThan(1);
    await expect.poll(async () => (await trio.order("status"))["seated"], LONG).toBeUndefined();
    for (const name of SERVERS) if (name !== old) expect(await trio.role(name)).toBe("replica");
    trio.mood("honest");
    await trio.settled(old);
    expect(areGone(pids)).toBe(true);
    expect(told(trio)).toMatch(/"fencedBy":"stonith and seat"/);
  });
});
