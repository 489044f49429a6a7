// The limit of automatic failovers on a real trio of Redis: what fails again and again is left to a human.
import { afterAll, beforeAll, expect, it } from "vitest";
import { RedisTrio } from "./redis-trio.ts";
import { SERVERS } from "./trio.ts";

const trio = new RedisTrio();
beforeAll(() => trio.start(`sqlite:${trio.cli.file("store.db")}`, { failoversMax: 1 }), 120_000);
afterAll(() => trio.end(), 60_000);

it("the second failover is refused, and told; nobody is primary until an operator orders a switchover", async () => {
  const first = await trio.whole();
  await trio.steady();
  process.kill(await trio.pidOf(first), "SIGKILL");
  const second = await trio.settled(first);
  await trio.whole();
  await trio.steady();
  process.kill(await trio.pidOf(second), "SIGKILL");
  const told = (): string => [...trio.monitors.values()].map(({ stderr }) => stderr).join("\n");
  await expect.poll(told).toContain(`${second} is down, and there were 1 failovers already`);
  await expect.poll(() => trio.role(second)).toBe("replica");
  expect(await Promise.all(SERVERS.map((name) => trio.role(name)))).not.toContain("primary");
  const to = SERVERS.find((name) => name !== second) ?? "";
  expect(await trio.order("switchover", "--to", to, "--force")).toMatchObject({ isDone: true });
  expect(await trio.settled(second)).toBe(to);
}, 120_000);
