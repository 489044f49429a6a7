// Transfers and priorities, as users see them: on a store whose time is in the test's hand.
import { expect, it } from "vitest";
import { type Candidate, createCandidate, type Term } from "conclave";
import { memory } from "conclave/stores/memory";
import { fakeStore, type FakeStore, ManualClock } from "conclave/testing";
import { isNamed } from "../../src/election/transfer.ts";

const TTL_MS = 10_000;

interface Stage {
  readonly store: FakeStore;
  readonly open: (id: string, priority?: number) => Candidate;
  /** Leads until its signal aborts; notes its terms. */
  readonly lead: (candidate: Candidate, id: string) => void;
  readonly terms: { readonly id: string; readonly token: bigint; readonly term: Term }[];
}

function stage(): Stage {
  const store = fakeStore();
  const terms: Stage["terms"][number][] = [];
  return {
    store,
    terms,
    open: (id, priority) => createCandidate({ store, id, ttlMs: TTL_MS, drainMs: 2000, priority }),
    lead: (candidate, id) =>
      void candidate.election("x").lead(async (term) => {
        terms.push({ id, token: term.token.value, term });
        await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve()));
      }),
  };
}

async function pass(store: FakeStore, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) await store.advance(100);
}

async function withThree(): Promise<Stage> {
  const made = stage();
  for (const id of ["a", "b", "c"]) {
    made.lead(made.open(id), id);
    await pass(made.store, 100);
  }
  return made;
}

it("the leader hands over to the candidate that it names, which has a token of its own", async () => {
  const { store, terms } = await withThree();
  const answer = terms[0]?.term.transfer("c");
  await pass(store, 1000);
  expect(await answer).toEqual({ accepted: true });
  expect(terms.map(({ id, token }) => [id, token])).toEqual([
    ["a", 1n],
    ["c", 2n],
  ]);
  expect(await terms[0]?.term.ended).toBe("asked");
});

it("for a candidate that is not there nothing is given up", async () => {
  const { store, terms } = await withThree();
  const answer = terms[0]?.term.transfer("d", { withinMs: 5000 });
  await pass(store, 6000);
  expect(await answer).toMatchObject({
    accepted: false,
    why: expect.stringMatching(/"d" has answered within 5000 ms/),
  });
  expect(terms).toHaveLength(1);
  expect(terms[0]?.term.isLeading()).toBe(true);
});

it("anybody may ask for it, and is told what has become of it", async () => {
  const { store, terms, open } = await withThree();
  const onlooker = open("onlooker").election("x");
  const transferred = onlooker.transfer("b");
  await pass(store, 2000);
  expect(await transferred).toMatchObject({ outcome: "transferred", leader: { token: 2n } });
  const stays = onlooker.transfer("nobody", { withinMs: 1000 });
  const already = onlooker.transfer("b");
  const other = onlooker.transfer("c", { token: 1n });
  await pass(store, 3000);
  expect(await stays).toMatchObject({ outcome: "stays", leader: { token: 2n } });
  expect(await already).toMatchObject({ outcome: "leads-already" });
  expect(await other).toMatchObject({ outcome: "not-that-term", leader: { token: 2n } });
  expect(terms).toHaveLength(2);
  const nobody = open("another").election("y").transfer("b");
  await pass(store, 1000);
  expect(await nobody).toEqual({ outcome: "nobody-leads" });
});

it("a preferred candidate that comes later leads when the present leader has led for two ttls", async () => {
  const { store, terms, open, lead } = stage();
  lead(open("usual"), "usual");
  await pass(store, 5000);
  lead(open("also"), "also");
  lead(open("preferred", 1), "preferred");
  await pass(store, 14_000);
  expect(terms.map(({ id }) => id)).toEqual(["usual"]);
  await pass(store, 16_000);
  expect(terms.map(({ id }) => id)).toEqual(["usual", "preferred"]);
  expect(await terms[0]?.term.ended).toBe("outranked");
  await pass(store, 60_000);
  expect(terms).toHaveLength(2);
});

it("when a leader dies, those who wait with a smaller priority let the greater go first", async () => {
  const { store, terms, open, lead } = stage();
  const first = open("first").election("x").campaign();
  await pass(store, 1000);
  await first;
  for (const [id, priority] of [
    ["small", 1],
    ["none", 0],
    ["great", 5],
  ] as const)
    lead(open(id, priority), id);
  await pass(store, 15_000);
  store.depose("x");
  await pass(store, 40_000);
  expect(terms.map(({ id }) => id)).toEqual(["great"]);
});

it("in a queue the next of it can be named, and no other", async () => {
  const clock = new ManualClock();
  const store = memory({ shape: "line", clock });
  const open = (id: string) => createCandidate({ store, id, ttlMs: TTL_MS, drainMs: 2000 }).election("x");
  const led: string[] = [];
  const lead = async (id: string): Promise<Term> =>
    await new Promise((resolve) => {
      void open(id).lead(async (term) => {
        led.push(id);
        resolve(term);
        await new Promise<void>((stop) => term.signal.addEventListener("abort", () => stop()));
      });
    });
  const first = lead("a");
  await clock.advance(100);
  const term = await first;
  expect(await term.transfer("b")).toMatchObject({ accepted: false, why: expect.stringMatching(/nobody waits/) });
  for (const id of ["b", "c"]) {
    void lead(id);
    await clock.advance(100);
  }
  expect(await term.transfer("c")).toMatchObject({ accepted: false, why: expect.stringMatching(/"b_.*is next/) });
  expect(term.isLeading()).toBe(true);
  expect(await term.transfer("b")).toEqual({ accepted: true });
  await clock.advance(1000);
  expect(led).toEqual(["a", "b"]);
  await expect(open("z").transfer("b")).rejects.toMatchObject({
    code: "STORE_UNSUPPORTED",
    message: expect.stringMatching(/its queue says who leads next/),
  });
});

it("where candidates hear nothing between two looks it is refused, with the reason", async () => {
  const clock = new ManualClock();
  const store = memory({ layout: "swap", clock });
  const campaign = createCandidate({ store, id: "a", ttlMs: TTL_MS }).election("x").campaign();
  await clock.advance(1000);
  const term = await campaign;
  await expect(term.transfer("b")).rejects.toMatchObject({
    code: "STORE_UNSUPPORTED",
    message: expect.stringMatching(/hear nothing between two looks/),
  });
  expect(() => createCandidate({ store, priority: 1 })).toThrow(/priority: memory cannot prefer a candidate/);
});

it("what cannot be meant is refused before anything is sent", async () => {
  const { store, terms } = await withThree();
  const term = terms[0]?.term as Term;
  await expect(term.transfer("")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  await expect(term.transfer("b", { withinMs: -1 })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  await expect(term.transfer("a")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  const over = term.resign();
  await pass(store, 100);
  await over;
  await expect(term.transfer("b")).rejects.toMatchObject({ code: "TERM_LOST" });
});

it("names a candidate by its whole id: what follows may only be what its process has added", () => {
  expect(isNamed("web", "web")).toBe(true);
  expect(isNamed("web_0123456789abcdef-7", "web")).toBe(true);
  for (const other of ["web_canary", "web_canary_0123456789abcdef-7", "web_0123456789abcdef-", "webs", undefined])
    expect(isNamed(other, "web"), other).toBe(false);
});
