// The whole loop, with time in hand: the real election on a fake store.
import { type ConclaveEvent, createCandidate, elect, type Term } from "conclave";
import { memory } from "conclave/stores/memory";
import { fakeStore, faulty, ManualClock } from "conclave/testing";
import { describe, expect, it } from "vitest";

describe("an election on a fake store", () => {
  it("is won inside one step, and lost by a store that no longer answers", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 10_000 });
    election.start();
    await store.advance(1);
    expect(election.term()?.isHeld()).toBe(true);
    store.hang();
    await store.advance(10_000);
    expect(election.term()).toBeUndefined();
  });

  it("is kept for as long as the store answers, and won again when it heals", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 1000 });
    election.start();
    await store.advance(3_600_000);
    const first = election.term();
    expect(first?.isHeld()).toBe(true);
    store.hang();
    await store.advance(5_000);
    expect(first?.isHeld()).toBe(false);
    store.heal();
    await store.advance(5_000);
    expect(election.term()?.token.value).toBeGreaterThan(first?.token.value ?? 0n);
  });

  it("is lost to a rival at once, that one name only, and won back with a greater token", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000, id: "me" });
    const [x, y] = [candidate.election("x"), candidate.election("y")];
    x.start();
    y.start();
    await store.advance(1);
    const term = x.term();
    store.depose("x");
    await store.advance(1);
    expect([x.term(), await term?.ended]).toEqual([undefined, "superseded"]);
    expect(y.term()?.isHeld()).toBe(true);
    expect(await x.leader()).toMatchObject({ id: "rival-1", token: (term?.token.value ?? 0n) + 1n });
    await store.advance(11_000);
    expect(x.term()?.token.value).toBe((term?.token.value ?? 0n) + 2n);
  });

  it("survives an answer that got lost", async () => {
    const store = fakeStore();
    const events: ConclaveEvent[] = [];
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    candidate.subscribe((event) => events.push(event));
    const election = candidate.election("x");
    store.faults.next("claim", { dropAnswer: true });
    election.start();
    await store.advance(5_000);
    expect(election.term()?.token.value).toBe(1n);
    expect(events.filter(({ type }) => type === "elected")).toHaveLength(1);
    store.dropNextAnswer();
    await store.advance(60_000);
    expect(events.filter(({ type }) => type === "lost" || type === "elected")).toHaveLength(1);
    expect(store.faults.injected).toHaveLength(2);
  });

  it("is lost by a host that slept, by the clock alone", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 10_000 });
    election.start();
    await store.advance(1);
    const term = election.term();
    store.suspend(20_000);
    expect(term?.isHeld()).toBe(false);
    expect(term?.signal.reason).toMatchObject({ reason: "suspended" });
    await store.advance(2_000);
    expect(election.term()?.token.value).toBe(2n);
  });

  it("has one leader among two candidates, and the other follows", async () => {
    const store = fakeStore();
    const [a, b] = [elect("x", { store, ttlMs: 10_000, id: "a" }), elect("x", { store, ttlMs: 10_000, id: "b" })];
    const terms: Term[] = [];
    const stop = new AbortController();
    const led = [a, b].map((election) =>
      election.lead(
        async (term) => {
          terms.push(term);
          await term.ended;
        },
        { signal: stop.signal },
      ),
    );
    await store.advance(100);
    expect(terms).toHaveLength(1);
    await terms[0]?.resign();
    await store.advance(2_000);
    expect(terms.length).toBeGreaterThan(1);
    expect(terms.filter((term) => term.isHeld())).toHaveLength(1);
    stop.abort();
    await store.advance(2_000);
    expect(await Promise.all(led)).toEqual([undefined, undefined]);
  });

  it.each([{ shape: "line" }, { judge: "taker" }] as const)(
    "has its time in hand on any memory store with a clock: %j",
    async (options) => {
      const clock = new ManualClock();
      const store = faulty(memory({ ...options, clock }), {
        random: { seed: 3, kinds: ["dropAnswer", "error", "reorder"] },
      });
      const elections = ["a", "b", "c"].map((id) => elect("x", { store, ttlMs: 1000, id }));
      for (const election of elections) election.start();
      for (let second = 0; second < 200; second++) {
        await clock.advance(1000);
        expect(elections.filter((election) => election.term()?.isHeld()).length).toBeLessThan(2);
      }
      store.faults.heal();
      await clock.advance(10_000);
      expect(elections.filter((election) => election.term()?.isHeld())).toHaveLength(1);
    },
  );
});
