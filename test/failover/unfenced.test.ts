// Failover without any fence, as Sentinel does it: the old primary takes writes beside the new one, what only it has is lost, and the monitors say how much. A real trio of Redis that no guard starts.
import { afterAll, beforeAll, expect, it } from "vitest";
import { RedisLink } from "../../src/clients/redis/link.ts";
import { MachineTrio } from "./machines.ts";
import { SERVERS } from "./trio.ts";
import { signalTo } from "../../scripts/servers/signal.mjs";

class UnfencedTrio extends MachineTrio {
  protected override readonly monitorFlags = ["--unfenced"];

  constructor() {
    super(false);
  }

  async say(name: string, ...words: readonly string[]): Promise<unknown> {
    const link = await RedisLink.open({ host: "127.0.0.1", port: this.ports.get(name) ?? 0, database: 0 }, 5000);
    try {
      return await link.ask(words, 5000);
    } finally {
      link.close();
    }
  }
}

const trio = new UnfencedTrio();
beforeAll(async () => {
  await trio.start(`sqlite:${trio.cli.file("store.db")}`, { guards: false });
  expect(await trio.whole()).toBe("a");
}, 120_000);
afterAll(() => trio.end(), 60_000);

const told = (): string => [...trio.monitors.values()].map(({ stderr }) => stderr).join("");

it("tells that two servers take writes, and how much of what clients were told is lost", async () => {
  const stands = async (): Promise<unknown> => (await trio.order("status"))["record"];
  await expect.poll(stands, { timeout: 60_000 }).toMatchObject({ primary: "a", step: { at: "steady" } });
  const old = "a";
  const others = SERVERS.filter((name) => name !== old);
  // The replicas stand still and have lost their connection, so that the primary acknowledges what nobody else gets.
  const pids = await Promise.all(others.map((name) => trio.pidOf(name)));
  for (const pid of pids) signalTo(pid, "SIGSTOP");
  await trio.say(old, "CLIENT", "KILL", "TYPE", "replica");
  expect(await trio.say(old, "SET", "only-here", "x".repeat(1000))).toBe("OK");
  const frozen = await trio.freeze(old);
  for (const pid of pids) signalTo(pid, "SIGCONT");
  const next = await trio.settled(old, 60_000);
  for (const pid of frozen) signalTo(pid, "SIGCONT");
  await expect.poll(() => /"is":"two-writable","servers":\[.*?\],"lost":\{"a":(\d+)\}/.exec(told())?.[1]).toBeDefined();
  const [, bytes] = /"lost":\{"a":(\d+)\}/.exec(told()) ?? [];
  expect(Number(bytes)).toBeGreaterThanOrEqual(1000);
  expect(Number(bytes)).toBeLessThan(20_000);
  expect(await trio.whole()).toBe(next);
  expect(await trio.say(old, "EXISTS", "only-here")).toBe(0);
  expect(told()).toContain("two servers may take writes");
}, 180_000);
