// From the review of the design: drift within ρ must never overlap, even where no latency hides it.
// Here: the arithmetic alone, with no latency at all, every rate within ρ and every grain within g: the holder has stopped when the judge frees.
// Taken out: test/mutants/no-margin.patch
import fc from "fast-check";
import { expect, it } from "vitest";
import { deadlineOf, silenceMs } from "../../src/lease/deadline.ts";

const margins = { rho: 0.005, grain: { monoMs: 5, bootMs: 20 }, extraMarginMs: 0 };
const rate = fc.double({ min: 1 - margins.rho, max: 1 + margins.rho, noNaN: true });
const lag = fc.double({ min: 0, max: margins.grain.monoMs, noNaN: true });
const ttl = fc.integer({ min: 100, max: 3_600_000 });
const settings = { numRuns: 5_000 };
const TINY = 1e-6; // of a millisecond: what floating point may lose

/** True time at which the holder stops believing, the keep having been sent and received at true time 0. Its hand lags most when that keeps it believing longest. */
function believesUntil(ttlMs: number, holderRate: number, lagMs: number): number {
  const { mono } = deadlineOf({ mono: 0, boot: 0 }, ttlMs, margins);
  return (mono + lagMs) / holderRate;
}

it("zero-latency-drift: a store that counts the ttl on its own clock frees nothing while the holder believes", () => {
  const property = fc.property(
    ttl,
    rate,
    rate,
    lag,
    (ttlMs, holder, judge, lagMs) => believesUntil(ttlMs, holder, lagMs) <= ttlMs / judge + TINY,
  );
  expect(() => fc.assert(property, settings)).not.toThrow();
});

it("zero-latency-drift: a taker that watches in silence takes nothing while the holder believes", () => {
  // The taker's hand lagged at the receipt and does not lag at the end: it has measured the least real silence.
  const property = fc.property(ttl, rate, rate, lag, lag, (ttlMs, holder, taker, holderLag, takerLag) => {
    const silentFor = (silenceMs(ttlMs, margins) - takerLag) / taker;
    return believesUntil(ttlMs, holder, holderLag) <= silentFor + TINY;
  });
  expect(() => fc.assert(property, settings)).not.toThrow();
});

it("zero-latency-drift: twice the bound is not covered, so the bound is what protects", () => {
  const worst = believesUntil(10_000, 1 - 2 * margins.rho, 5);
  expect(worst).toBeGreaterThan(10_000 / (1 + 2 * margins.rho));
});
