// Whole worlds: the same seed gives the same bytes, clean seeds are clean, a broken world is found, shrunk and replayed.
import { describe, expect, it } from "vitest";
import {
  addCounts,
  COUNT_NAMES,
  demoElection,
  drawWorld,
  emptyCounts,
  formatEvent,
  huntNamed,
  missedMinima,
  type RunOptions,
  runSeed,
  shrink,
} from "conclave/simulator";
import { emptyTotal, missedBy } from "../../src/cli/sim-hunt.ts";
import { applyToText, parsePatch } from "../../scripts/apply-patch.mjs";

const transcriptOf = (seed: number): string => runSeed(seed, { isRecorded: true }).trace.map(formatEvent).join("\n");

describe("a seed", () => {
  it("gives the same transcript and hash every time", () => {
    for (const seed of [1, 2, 3]) {
      expect(transcriptOf(seed)).toBe(transcriptOf(seed));
      expect(runSeed(seed).hash).toBe(runSeed(seed).hash);
    }
  });

  it("has the same hash whether it is written down or not", () => {
    expect(runSeed(7, { isRecorded: true }).hash).toBe(runSeed(7).hash);
  });

  it("differs from every other seed", () => {
    const hashes = new Set(Array.from({ length: 40 }, (_, seed) => runSeed(seed).hash));
    expect(hashes.size).toBe(40);
  });

  it("draws its world and its faults up front", () => {
    expect(drawWorld(11)).toEqual(drawWorld(11));
    const { faults } = drawWorld(11);
    expect(runSeed(11, { faults: [0, 2] }).spec.faults).toEqual(
      faults.filter(({ index }) => index === 0 || index === 2),
    );
  });

  it("breaks no invariant", () => {
    const findings = Array.from({ length: 60 }, (_, index) => runSeed(index + 1)).filter(({ violation }) => violation);
    expect(findings.map(({ seed, violation }) => `${seed}: ${violation?.story}`)).toEqual([]);
  });
});

describe("a seed that once found something", () => {
  it("a term that was due when a confirming grant came in may end in spite of it", () => {
    // The judge counted the renewal that the grant confirms before the step in which the term ended.
    expect(runSeed(53_445).violation).toBeUndefined();
  });
});

describe("the minima of a hunt", () => {
  /** What is a sum of others, or of no interest by itself. */
  const WITHOUT_MINIMUM = ["steps", "memosWanted"];

  it("are missed by a hunt that has exercised nothing, each of them", () => {
    const missed = missedMinima(emptyCounts(), 10_000, 10_000).map((line) => line.split(":", 1)[0]);
    expect(new Set(missed)).toEqual(new Set(COUNT_NAMES.filter((name) => !WITHOUT_MINIMUM.includes(name))));
  });

  it("are met by what a hunt does exercise, and missed if two seeds had one trace", () => {
    const counts = emptyCounts();
    const SEEDS = 150;
    for (let seed = 1; seed <= SEEDS; seed++) addCounts(counts, runSeed(seed).counts);
    expect(missedMinima(counts, SEEDS, SEEDS)).toEqual([]);
    expect(missedMinima(counts, SEEDS, SEEDS - 1)).toEqual([`distinct traces: ${SEEDS - 1} of ${SEEDS} seeds`]);
  });

  it("are asked for by the command, and a control that finds nothing is blind", () => {
    const total = { ...emptyTotal(), seeds: 10_000 };
    expect(missedBy(huntNamed("lease"), total, 1000, 1000).length).toBeGreaterThan(60);
    expect(missedBy(huntNamed("lease"), total, 0, 1000).join()).toMatch(/control: 0 overlaps/);
    expect(missedBy(huntNamed("failover"), total, 0, 0).length).toBeGreaterThan(5);
  });
});

describe("the control run", () => {
  it("finds overlaps where clocks drift twice as far as declared", () => {
    const broken = Array.from({ length: 150 }, (_, seed) => runSeed(seed + 1, { isControl: true }).violation);
    expect(broken.filter((violation) => violation?.invariant === "exclusion").length).toBeGreaterThan(3);
  });
});

describe("the shrinker", () => {
  it("leaves only faults that the finding needs", () => {
    const seeds = Array.from({ length: 150 }, (_, index) => index + 1);
    const seed = seeds.find((each) => runSeed(each, { isControl: true }).violation !== undefined) ?? 0;
    const shrunk = shrink((options: RunOptions) => runSeed(seed, options), { isControl: true });
    expect(shrunk?.faults.length).toBeLessThan(drawWorld(seed, { isControl: true }).faults.length);
    const faults = shrunk?.faults ?? [];
    expect(runSeed(seed, { isControl: true, faults }).violation?.invariant).toBe("exclusion");
    for (const left of faults) {
      const fewer = faults.filter((fault) => fault !== left);
      expect(runSeed(seed, { isControl: true, faults: fewer }).violation?.invariant).not.toBe("exclusion");
    }
  });

  it("has nothing to do with a clean seed", () => {
    expect(shrink((options) => runSeed(1, options), {})).toBeUndefined();
  });
});

describe("the demo", () => {
  it("tells of a takeover and of a refused stale write, whatever the seed", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { lines, summary } = demoElection(seed);
      expect(summary).toMatchObject({ overlaps: 0 });
      expect(summary.takeovers).toBeGreaterThanOrEqual(1);
      expect(summary.staleWritesRefused).toBeGreaterThanOrEqual(1);
      expect(lines.some(({ what }) => what.startsWith("REFUSES a write"))).toBe(true);
      expect(lines.map(({ atMs }) => atMs)).toEqual(lines.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    }
  });
});

describe("the patch applier", () => {
  const patch = [
    "# a comment",
    "--- src/a.ts",
    "+++ src/a.ts",
    "@@ -1,3 +1,3 @@",
    " one",
    "-two",
    "+2",
    " three",
    "",
  ].join("\n");
  const [parsed] = parsePatch(patch);

  it("applies a hunk where it fits, even if it has moved", () => {
    expect(parsed?.file).toBe("src/a.ts");
    expect(applyToText("zero\none\ntwo\nthree\n", parsed!)).toBe("zero\none\n2\nthree\n");
  });

  it("refuses a hunk that fits nowhere, or twice", () => {
    expect(() => applyToText("one\nTWO\nthree\n", parsed!)).toThrow("fits in 0 places");
    expect(() => applyToText("one\ntwo\nthree\none\ntwo\nthree\n", parsed!)).toThrow("fits in 2 places");
  });
});
