// The suite itself: right stores pass it, also behind `faulty`; wrong stores fail it, each by the case that names what is wrong with them.
import { memory } from "conclave/stores/memory";
import { fakeStore, faulty, storeConformance } from "conclave/testing";
import { describe, expect, it } from "vitest";
import type { Store } from "conclave/stores/contract";
import { RaceShelf } from "../../src/simulator/models/race-shelf.ts";
import { guaranteeOf } from "../../src/stores/memory/guarantee.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { processClock } from "../../src/stores/memory/process-clock.ts";
import { SharedShelf } from "../../src/stores/memory/shared-shelf.ts";
import { BREAKERS } from "./breakers.ts";
import { unfenced } from "./broken/change.ts";

describe.concurrent("conformance of faulty(memory) without faults", () => {
  for (const { name, run } of storeConformance(async () => faulty(memory()))) it(name, run);
});

describe.concurrent("conformance of a line behind faulty", () => {
  for (const { name, run } of storeConformance(async () => faulty(memory({ shape: "line" })))) it(name, run);
});

describe.concurrent("conformance of a store without tokens", () => {
  for (const { name, run } of storeConformance(async () => unfenced(memory({ judge: "taker" })))) it(name, run);
});

describe.concurrent("conformance of a store that renews record by record", () => {
  const open = async (): Promise<Store> => {
    const shelf = new RaceShelf({ domain: "records", judge: "taker", layout: "record" });
    const guarantee = { ...guaranteeOf("race", "taker", "records"), keep: "per-hold" as const, refusesClones: false };
    return new MemoryStore(new SharedShelf(shelf, guarantee, processClock), "memory:");
  };
  for (const { name, run } of storeConformance(open)) it(name, run);
});

describe.concurrent("a store in which", () => {
  for (const { flaw, make, caughtBy } of BREAKERS)
    // On a busy machine a case may look too late to see a flaw that lasts for a moment.
    it(`${flaw} does not conform`, { retry: 2 }, async () => {
      const failed = await failures(make, (name) => name === caughtBy);
      expect([...failed.keys()]).toEqual([caughtBy]);
      expect(failed.get(caughtBy)?.message).toMatch(/^the contract says: .+\n {2}expected: .+\n {2}actual: {3}.+/s);
    });
});

describe("the list", () => {
  const open = async (): Promise<Store> => memory();

  it("has a name of its own for every case", () => {
    const names = storeConformance(open).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("leaves out what is skipped for a reason, and nothing else", () => {
    const all = storeConformance(open).map(({ name }) => name);
    const skipped = storeConformance(open, { skip: [{ name: "looking extends nothing", reason: "it is a test" }] });
    expect(skipped.map(({ name }) => name)).toEqual(all.filter((name) => name !== "looking extends nothing"));
  });

  it("refuses a skip without a reason, or of a case that does not exist", () => {
    expect(() => storeConformance(open, { skip: [{ name: "looking extends nothing", reason: " " }] })).toThrow(
      /say why/,
    );
    expect(() => storeConformance(open, { skip: [{ name: "no such case", reason: "none" }] })).toThrow(
      /no case "no such case"/,
    );
  });

  it("closes every store it opened, also when the case fails", async () => {
    const counts = { opened: 0, closed: 0 };
    const { make = memory, caughtBy = "" } = BREAKERS[0] ?? {};
    const failed = await failures(
      () => {
        counts.opened++;
        return { ...make(), close: async () => void counts.closed++ };
      },
      (name) => name === caughtBy || name === "the bounds of the guarantee are consistent",
    );
    expect([failed.size, counts]).toEqual([1, { opened: 2, closed: 2 }]);
  });

  it("holds a fake store to the same contract, as far as its clock is not moved", async () => {
    const failed = await failures(
      () => fakeStore(),
      (name) => !/freed before|silent|extends nothing/.test(name),
    );
    expect([...failed]).toEqual([]);
  });
});

/** Names of the cases that `make` fails, with their errors. */
async function failures(make: () => Store, isWanted: (name: string) => boolean): Promise<ReadonlyMap<string, Error>> {
  const failed = new Map<string, Error>();
  const cases = storeConformance(async () => make()).filter(({ name }) => isWanted(name));
  await Promise.all(
    cases.map(async ({ name, run }) => {
      await run().catch((error: unknown) => failed.set(name, error as Error));
    }),
  );
  return failed;
}
