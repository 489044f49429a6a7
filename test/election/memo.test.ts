// Memos as users meet them, on a store inside the process.
import { createCandidate, elect, type FencedStore, type Memo } from "conclave";
import { type MemoryOptions, memory } from "conclave/stores/memory";
import { fakeStore, fakeTerm, faulty } from "conclave/testing";
import { afterEach, describe, expect, it } from "vitest";
import { writeReservedMemo } from "../../src/election/memo.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function electionOn(store: FencedStore = memory(), name = "jobs") {
  const election = elect(name, { store, ttlMs: 5000 });
  closing.push(() => election.close({ drainMs: 0 }));
  return election;
}

const layouts: readonly MemoryOptions[] = [{}, { shape: "line" }, { judge: "taker" }];

describe.each(layouts)("a memo on memory %o", (options) => {
  it("outlives its term, and names the term and the count of its write", async () => {
    const store = memory(options);
    const election = electionOn(store);
    expect(await election.memo("last-run")).toBeUndefined();
    const first = await election.campaign();
    await first.memo("last-run", "2026-11-15");
    await first.memo("last-run", "2026-11-16");
    await first.resign();
    const seen = await electionOn(store).memo("last-run");
    expect(seen).toEqual({ key: "last-run", value: "2026-11-16", token: first.token, n: 2 });
    const second = await election.campaign();
    await second.memo("last-run", "2026-11-17");
    expect(await election.memo("last-run")).toMatchObject({ value: "2026-11-17", token: second.token, n: 1 });
  });

  it("belongs to its election and its key", async () => {
    const store = memory(options);
    const term = await electionOn(store, "a").campaign();
    const other = await electionOn(store, "b").campaign();
    await Promise.all([term.memo("k", "of a"), other.memo("k", "of b"), term.memo("l", "another")]);
    const values = await Promise.all(
      [electionOn(store, "a").memo("k"), electionOn(store, "b").memo("k"), electionOn(store, "a").memo("l")].map(
        async (memo) => (await memo)?.value,
      ),
    );
    expect(values).toEqual(["of a", "of b", "another"]);
  });

  it("shows what stands and each change to a reader that observes it", async () => {
    const store = memory(options);
    const term = await electionOn(store).campaign();
    const seen: (string | undefined)[] = [];
    const reader = electionOn(store);
    for await (const memo of reader.observeMemo("step")) {
      seen.push(memo?.value);
      if (seen.length === 4) break;
      await term.memo("step", `step ${seen.length}`);
    }
    expect(seen).toEqual([undefined, "step 1", "step 2", "step 3"]);
  });
});

describe("a memo", () => {
  it("is refused to a term that was replaced, and its term learns so at once", async () => {
    const store = fakeStore();
    const election = elect("deposed", { store });
    const term = await election.campaign();
    await term.memo("k", "mine");
    store.depose("deposed");
    const late = term.memo("k", "late");
    await expect(late).rejects.toMatchObject({ code: "TERM_LOST", reason: "superseded" });
    expect(term.isHeld()).toBe(false);
    expect((await election.memo("k"))?.value).toBe("mine");
    const closed = election.close({ drainMs: 0 });
    await store.advance(1000);
    await closed;
  });

  it("is written once although its first answer was lost", async () => {
    const store = faulty(memory());
    const election = electionOn(store);
    const term = await election.campaign();
    store.faults.next("writeMemo", { error: "thrown" });
    await term.memo("k", "1");
    store.faults.next("writeMemo", { reorder: true });
    await Promise.all([term.memo("k", "2"), term.memo("other", "x")]);
    expect(await election.memo("k")).toMatchObject({ value: "2", n: 2 });
  });

  it("is read again while the store refuses for a moment, and the refusal is told when that lasts", async () => {
    const store = faulty(memory());
    const election = electionOn(store);
    await (await election.campaign()).memo("k", "1");
    for (let time = 0; time < 3; time++) store.faults.next("readMemos", { error: "refused" });
    expect(await election.memo("k")).toMatchObject({ value: "1" });
    expect(store.faults.injected).toHaveLength(3);
    for (let time = 0; time < 1000; time++) store.faults.next("readMemos", { error: "refused" });
    await expect(election.memo("k")).rejects.toMatchObject({ code: "STORE_UNREACHABLE", retryable: true });
    expect(store.faults.injected.length).toBeGreaterThan(4);
  });

  it("says what is wrong with a key or a value before anything is sent", async () => {
    const store = memory();
    const election = electionOn(store);
    const term = await election.campaign();
    const keys = ["", "a\n", "x".repeat(201), "é".repeat(101), "conclave/schedule", 7, undefined, "\ud800"];
    for (const key of keys)
      await expect(term.memo(key as string, "v")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    for (const value of [7, undefined, "x".repeat(65_537), "é".repeat(32_769), "\0", "\ud800"])
      await expect(term.memo("k", value as string)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(election.memo("")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await term.memo("k", "é".repeat(32_768));
    expect(await election.memo("conclave/schedule")).toBeUndefined();
  });

  it("has so many keys and no more", async () => {
    const term = await electionOn().campaign();
    for (let key = 0; key < 128; key++) await term.memo(`key ${key}`, "v");
    await expect(term.memo("one more", "v")).rejects.toMatchObject({ code: "STORE_FULL" });
    await term.memo("key 0", "again");
    expect(term.isHeld()).toBe(true);
  });

  it("is refused where the store keeps none", async () => {
    const election = electionOn(memory({ layout: "swap" }));
    const term = await election.campaign();
    await expect(term.memo("k", "v")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(election.memo("k")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    expect(term.isHeld()).toBe(true);
  });

  it("is refused after the term was resigned", async () => {
    const term = await electionOn().campaign();
    await term.resign();
    await expect(term.memo("k", "v")).rejects.toMatchObject({ code: "TERM_LOST" });
  });

  it("can be written while the work is stopping", async () => {
    const store = memory();
    const candidate = createCandidate({ store });
    closing.push(() => candidate.close());
    const election = candidate.election("jobs");
    const stop = new AbortController();
    await election.lead(
      async (term) => {
        stop.abort();
        expect(term.isLeading()).toBe(false);
        await term.memo("done", "yes");
      },
      { signal: stop.signal },
    );
    expect((await election.memo("done"))?.value).toBe("yes");
  });

  it("of a reserved key is written by parts of the package, on real and fake terms", async () => {
    const election = electionOn();
    const term = await election.campaign();
    await writeReservedMemo(term, "once/k", "1");
    expect((await election.memo("conclave/once/k"))?.value).toBe("1");
    const fake = fakeTerm();
    await writeReservedMemo(fake, "once/k", "1");
    await fake.memo("k", "2");
    expect([...fake.memos]).toEqual([
      ["conclave/once/k", "1"],
      ["k", "2"],
    ]);
  });

  it("survives JSON", async () => {
    const election = electionOn();
    const term = await election.campaign();
    await term.memo("k", "v");
    const memo: Memo | undefined = await election.memo("k");
    expect(JSON.parse(JSON.stringify(memo))).toMatchObject({ key: "k", value: "v", n: 1, token: { value: "1" } });
  });
});
