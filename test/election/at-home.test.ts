// Leaving: closing waits for work, and for nothing else. Time is in hand, so that "at once" means that no clock has to move.
import { describe, expect, it, vi } from "vitest";
import { createCandidate, elect, type Term } from "conclave";
import { fakeStore } from "conclave/testing";

const silent = (): void => {};

/** How far the clock must move until `promise` has settled. */
async function takes(store: ReturnType<typeof fakeStore>, promise: Promise<unknown>): Promise<number> {
  let settled = false;
  void promise.then(() => (settled = true));
  for (let ms = 0; ; ms += 100) {
    await store.advance(0);
    if (settled) return ms;
    if (ms > 120_000) throw new Error("it never settles");
    await store.advance(100);
  }
}

describe("close", () => {
  it.each([15_000, 60_000])("with nothing at work is immediate, also as the leader, at ttlMs %i", async (ttlMs) => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs, onEvent: silent });
    election.start();
    await store.advance(1);
    expect(election.isLeading()).toBe(true);
    expect(await takes(store, election.close())).toBe(0);
    expect(await elect("x", { store, ttlMs }).leader()).toBeUndefined();
  });

  it("closes the store only after the store has said that the session is ended: otherwise others wait for its ttl", async () => {
    const store = fakeStore();
    const election = elect("x", { store, onEvent: silent });
    election.start();
    await store.advance(1);
    const done: string[] = [];
    const [release, close] = [store.release.bind(store), store.close.bind(store)];
    vi.spyOn(store, "release").mockImplementation(async (will, call) => {
      const answer = await release(will, call);
      done.push(`${answer.kind}, and ${will.endSession ? "the session has ended" : "the session stays"}`);
      return answer;
    });
    vi.spyOn(store, "close").mockImplementation(async () => {
      done.push("closed");
      await close();
    });
    for (const _ of [1, 2]) store.faults.next("release", { delayMs: 300 });
    const closed = election.close();
    await store.advance(1000);
    await closed;
    expect(done.slice(-2)).toEqual(["released, and the session has ended", "closed"]);
    expect(await elect("x", { store }).leader()).toBeUndefined();
  });

  it("of a candidate that waits is immediate too, and the leader is not disturbed", async () => {
    const store = fakeStore();
    const leader = elect("x", { store, onEvent: silent });
    const follower = elect("x", { store, onEvent: silent });
    leader.start();
    await store.advance(1);
    follower.start();
    await store.advance(1000);
    expect(await takes(store, follower.close())).toBe(0);
    expect(leader.isLeading()).toBe(true);
  });

  it("gives a term that was handed out its drain, or the one that close asks for", async () => {
    for (const [asked, expected] of [
      [undefined, 3000],
      [0, 0],
      [1000, 1000],
    ] as const) {
      const store = fakeStore();
      const election = elect("x", { store, ttlMs: 15_000, onEvent: silent });
      election.start();
      await store.advance(1);
      const term = election.term();
      const closed = election.close(asked === undefined ? {} : { drainMs: asked });
      expect(term?.signal.aborted).toBe(true);
      expect(await takes(store, closed)).toBe(expected);
      expect(term?.isHeld()).toBe(false);
    }
  });

  it("refuses a drain that is no time", () => {
    const store = fakeStore();
    expect(() => elect("x", { store }).close({ drainMs: -1 })).toThrow(/close: drainMs -1 is not a number/);
    expect(() => createCandidate({ store }).close({ drainMs: Infinity })).toThrow(/drainMs/);
  });

  it.each([15_000, 60_000])(
    "waits a few seconds for a store that does not answer, not for its ttl (%i)",
    async (ttlMs) => {
      const store = fakeStore();
      const election = elect("x", { store, ttlMs, onEvent: silent });
      election.start();
      await store.advance(1);
      store.hang();
      expect(await takes(store, election.close())).toBeLessThanOrEqual(6000);
    },
  );
});

describe("ifLeading", () => {
  it("runs only on the one that leads, and resolves as the work does", async () => {
    const store = fakeStore();
    const leader = elect("x", { store, onEvent: silent });
    const follower = elect("x", { store, onEvent: silent });
    leader.start();
    await store.advance(1);
    follower.start();
    await store.advance(1);
    await expect(leader.ifLeading(async (term) => term.token.value)).resolves.toBe(1n);
    await expect(follower.ifLeading(async () => "never")).resolves.toBeUndefined();
    const boom = new Error("boom");
    await expect(leader.ifLeading(() => Promise.reject(boom))).rejects.toBe(boom);
    expect(leader.isLeading()).toBe(true);
    await expect(leader.ifLeading("work" as never)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("closing waits for exactly that work: not less than it takes, and not longer", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 15_000, onEvent: silent });
    election.start();
    await store.advance(1);
    let end: () => void = () => {};
    let term: Term | undefined;
    const work = election.ifLeading((held) => {
      term = held;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const closed = election.close();
    expect(term?.signal.aborted).toBe(true);
    await store.advance(10_000);
    expect(term?.isHeld()).toBe(true);
    expect((await elect("x", { store }).leader())?.id).toBe(term?.candidate);
    end();
    expect(await takes(store, closed)).toBe(0);
    await work;
    expect(term?.isHeld()).toBe(false);
    await expect(election.ifLeading(async () => "late")).resolves.toBeUndefined();
  });

  it("is not elected again while work of the lost term runs, and that is overstaying (law 8)", async () => {
    const store = fakeStore();
    const types: string[] = [];
    const election = elect("x", { store, ttlMs: 10_000, onEvent: ({ type }) => types.push(type) });
    election.start();
    await store.advance(1);
    let end: () => void = () => {};
    const work = election.ifLeading(() => new Promise<void>((resolve) => (end = resolve)));
    store.hang();
    await store.advance(20_000);
    store.heal();
    await store.advance(60_000);
    expect(types).toContain("overstayed");
    expect(election.isLeading()).toBe(false);
    expect(types.filter((type) => type === "elected")).toHaveLength(1);
    end();
    await work;
    await store.advance(60_000);
    expect(election.isLeading()).toBe(true);
  });

  it("beside lead: the store is told when both have settled", async () => {
    const store = fakeStore();
    const election = elect("x", { store, onEvent: silent });
    let endWork: () => void = () => {};
    let endGuest: () => void = () => {};
    const leading = election.lead(() => new Promise<string>((resolve) => (endWork = () => resolve("done"))));
    await store.advance(1);
    let guest: Term | undefined;
    void election.ifLeading((term) => {
      guest = term;
      return new Promise<void>((resolve) => (endGuest = resolve));
    });
    endWork();
    await store.advance(1000);
    expect(guest?.signal.aborted).toBe(true);
    expect(guest?.isHeld()).toBe(true);
    endGuest();
    await store.advance(1);
    await expect(leading).resolves.toBe("done");
    expect(guest?.isHeld()).toBe(false);
  });

  it("work that resigns its term does not wait for itself", async () => {
    const store = fakeStore();
    const election = elect("x", { store, onEvent: silent });
    election.start();
    await store.advance(1);
    const held = await election.ifLeading(async (term) => {
      await term.resign();
      return term.isHeld();
    });
    expect(held).toBe(true);
    await store.advance(1);
    expect(await elect("x", { store }).leader()).toBeUndefined();
    await store.advance(60_000);
    expect(election.isLeading()).toBe(true);
  });
});
