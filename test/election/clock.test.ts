// The clock of this host: boot time is that of the kernel, a sleep of the host is noticed at once, and fakes of a test runner change nothing. The kernel is in the hand of the test.
import type * as FileSystem from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";
import { nodeClock } from "../../src/election/clock.ts";

const UPTIME_FILE = 987_654;
const HOUR_MS = 3_600_000;

const hand = vi.hoisted(() => {
  const real = Date.now;
  const found = { sleptMs: 0 };
  // The clock takes this function when it is loaded.
  Date.now = () => real() + found.sleptMs;
  return found;
});

vi.mock("node:fs", async (original) => {
  const real = await original<typeof FileSystem>();
  const openSync: typeof real.openSync = (...args) =>
    args[0] === "/proc/uptime" ? UPTIME_FILE : real.openSync(...args);
  const readSync = (file: number, bytes: Buffer, ...rest: number[]): number => {
    if (file !== UPTIME_FILE) return real.readSync(file, bytes, ...(rest as [number, number, null]));
    const [seconds, nanoseconds] = process.hrtime();
    return bytes.write(`${(seconds + nanoseconds / 1e9 + (HOUR_MS + hand.sleptMs) / 1000).toFixed(2)} 1.00\n`);
  };
  return { ...real, openSync, readSync };
});

const isLinux = process.platform === "linux";
beforeEach(() => void (hand.sleptMs = 0));
afterEach(() => vi.useRealTimers());

describe.runIf(isLinux)("on Linux", () => {
  it("boot time is what the kernel says, and not the monotonic clock", () => {
    const { mono, boot } = nodeClock().now();
    expect(Math.abs(boot - mono - HOUR_MS)).toBeLessThan(50);
  });

  it("a sleep of the host is in the very next reading", () => {
    const before = nodeClock().now();
    hand.sleptMs = 5000;
    const { mono, boot } = nodeClock().now();
    expect(mono - before.mono).toBeLessThan(1000);
    expect(boot - before.boot).toBeGreaterThan(4900);
  });

  it("a term whose host has slept past its deadline is not held, although no timer has fired", async () => {
    const election = elect("asleep", { store: memory({ shape: "race" }), ttlMs: 4000, onEvent: () => {} });
    const seen: unknown[] = [];
    const led = election.lead(
      async (term) => {
        seen.push(term.isHeld());
        hand.sleptMs = 4000;
        seen.push(term.isHeld(), term.signal.aborted);
      },
      { signal: AbortSignal.timeout(500) },
    );
    await led;
    expect(seen.slice(0, 3)).toEqual([true, false, true]);
    await election.close();
  });

  it("its grain covers the steps of the kernel and the age that a reading may have", () => {
    // 10 ms, 4 ms, and a sleep that is too short to be noticed: kept-boot-time.ts.
    expect(nodeClock().grain).toEqual({ monoMs: 5, bootMs: 20 });
  });
});

it("fakes of a test runner neither stop it nor take its timers", async () => {
  const { hrtime } = process;
  const before = nodeClock().now();
  vi.useFakeTimers({ toFake: ["hrtime", "Date", "setTimeout", "clearTimeout", "performance"] });
  const [startS, startNs] = hrtime();
  const elapsedMs = (): number => (hrtime()[0] - startS) * 1000 + (hrtime()[1] - startNs) / 1e6;
  while (elapsedMs() < 10) {
    // the time passes
  }
  expect(nodeClock().now().mono - before.mono).toBeGreaterThanOrEqual(10);
  await new Promise<void>((resolve) => void nodeClock().timer(1, resolve));
});
