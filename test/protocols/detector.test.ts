// Failure detectors: completeness (who is dead is suspected, and stays so) and accuracy (who lives is not), for the networks in which each promises them.
import { describe, expect, it } from "vitest";
import { createRng, type DetectorSettings, heard, suspects, suspectsAt, type Watch, watch } from "conclave/protocols";
import { exponentialLatency, fixedLatency, type Latency, uniformLatency } from "conclave/simulator";
import { quantileOfTail, tail } from "../../src/protocols/detector/normal.ts";
import { drawLatency } from "../../src/simulator/kernel/latency.ts";

const EVERY_MS = 50;
const heartbeat: DetectorSettings = { kind: "heartbeat", everyMs: EVERY_MS, timeoutMs: 150, threshold: 8 };
const phi = (threshold: number): DetectorSettings => ({ ...heartbeat, kind: "phi", threshold });

interface Watched {
  /** Heartbeats before which the live peer was suspected. */
  readonly mistakes: number;
  /** From the crash to the suspicion. */
  readonly detectionMs: number;
  readonly watch: Watch;
}

/** A peer beats so many times over such a link, and crashes. */
function watchPeer(settings: DetectorSettings, latency: Latency, beats: number, seed: number): Watched {
  const rng = createRng(seed, 7);
  const watched = watch(settings, 0);
  const arrivals = Array.from({ length: beats }, (_, beat) => (beat + 1) * EVERY_MS + drawLatency(rng, latency));
  let mistakes = 0;
  arrivals
    .toSorted((a, b) => a - b)
    .forEach((at) => {
      if (suspects(watched, at)) mistakes++;
      heard(watched, at);
    });
  return { mistakes, detectionMs: suspectsAt(watched) - beats * EVERY_MS, watch: watched };
}

const LINKS: readonly (readonly [name: string, latency: Latency])[] = [
  ["fixed 10 ms", fixedLatency(10)],
  ["0–90 ms", uniformLatency(0, 90)],
  ["exponential, mean 30 ms", exponentialLatency(1, 30)],
];

describe("completeness: a dead peer is suspected, and for ever", () => {
  it.each(LINKS)("over a link of %s", (_name, latency) => {
    for (const settings of [heartbeat, phi(1), phi(8)]) {
      const { detectionMs, watch: watched } = watchPeer(settings, latency, 200, 1);
      expect(detectionMs).toBeLessThan(60_000);
      const at = suspectsAt(watched);
      expect(suspects(watched, at - 0.01)).toBe(false);
      for (const laterMs of [0, 1, 1000, 1e9]) expect(suspects(watched, at + laterMs)).toBe(true);
    }
  });

  it("is not promised by a detector that is told", () => {
    expect(suspectsAt(watch({ ...heartbeat, kind: "told" }, 0))).toBe(Infinity);
  });
});

describe("accuracy: a live peer is not suspected", () => {
  it("ever, by a timeout beyond the interval and the greatest delay", () => {
    for (let seed = 1; seed <= 50; seed++)
      expect(watchPeer(heartbeat, uniformLatency(0, 90), 1000, seed).mistakes).toBe(0);
  });

  it("in the end, where the bound exists and nobody knew it: each mistake makes the timeout longer", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { mistakes, watch: watched } = watchPeer(
        { ...heartbeat, timeoutMs: 10 },
        uniformLatency(0, 400),
        20_000,
        seed,
      );
      expect(mistakes).toBeGreaterThan(0);
      // 10 ms · 1.5^10 is more than 450 ms, the longest silence of a live peer.
      expect(mistakes).toBeLessThanOrEqual(10);
      expect(watched.timeoutMs).toBeLessThan(1.5 * 450);
    }
  });

  it("more often than its threshold allows, by phi, over a link like the one it assumes", () => {
    const jitter = (threshold: number): number => {
      let mistakes = 0;
      for (let seed = 1; seed <= 20; seed++)
        mistakes += watchPeer(phi(threshold), uniformLatency(0, 20), 1000, seed).mistakes;
      return mistakes / 20_000;
    };
    expect(jitter(1)).toBeGreaterThan(0.01);
    expect(jitter(3)).toBeLessThan(0.001);
    expect(jitter(8)).toBe(0);
  });
});

describe("phi", () => {
  it("waits longer on a worse link, and for a greater threshold", () => {
    const quiet = watchPeer(phi(3), fixedLatency(10), 500, 1).detectionMs;
    const noisy = watchPeer(phi(3), exponentialLatency(1, 60), 500, 1).detectionMs;
    expect(noisy).toBeGreaterThan(2 * quiet);
    expect(watchPeer(phi(8), fixedLatency(10), 500, 1).detectionMs).toBeGreaterThan(quiet);
  });

  it("knows the normal distribution", () => {
    const known = [
      [0, 0.5],
      [1, 0.158655254],
      [2, 0.022750132],
      [3, 0.001349898],
      [4, 3.16712e-5],
      [5, 2.86652e-7],
      [6, 9.86588e-10],
    ] as const;
    for (const [z, chance] of known) {
      expect(Math.abs(tail(z) / chance - 1)).toBeLessThan(0.001);
      expect(quantileOfTail(chance)).toBeCloseTo(z, 2);
    }
  });
});
