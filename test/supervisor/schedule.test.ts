// When a child is told to stop, and when it is killed: the order of the instants, for every drain.
import { expect, it } from "vitest";
import { instantsOf, isPast, killGraceMs, msUntil, warningMs } from "../../src/supervisor/schedule.ts";

const DRAINS = [0, 1, 19, 20, 21, 100, 500, 2000, 10_000];
const now = { mono: 1000, boot: 5000 };

it.each(DRAINS)("drain %i: the term's signal, SIGTERM, SIGKILL, the deadline, in this order", (drainMs) => {
  const remainingMs = 20_000;
  const { termAt, killAt } = instantsOf(now, remainingMs, drainMs);
  expect(warningMs(drainMs)).toBeGreaterThanOrEqual(killGraceMs(drainMs));
  expect(remainingMs - warningMs(drainMs)).toBeLessThanOrEqual(termAt.mono - now.mono);
  expect(termAt.mono).toBeLessThanOrEqual(killAt.mono);
  expect(killAt.mono).toBeLessThanOrEqual(now.mono + remainingMs - 20);
  expect(killAt.boot - killAt.mono).toBe(now.boot - now.mono);
});

it("an instant is past when either clock has passed it: a suspended host stops one of them", () => {
  const instant = { mono: 10, boot: 10 };
  expect(isPast({ mono: 9, boot: 9 }, instant)).toBe(false);
  expect(isPast({ mono: 9, boot: 10 }, instant)).toBe(true);
  expect(isPast({ mono: 10, boot: 9 }, instant)).toBe(true);
  expect(msUntil({ mono: 2, boot: 7 }, instant)).toBe(3);
});
