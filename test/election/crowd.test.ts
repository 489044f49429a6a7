// Twenty thousand terms of one candidate end together: every one of them is told, in a loop and on a stack that does not grow, whichever way it is held.
import { describe, expect, it } from "vitest";
import { type Candidate, type ConclaveEvent, createCandidate, type Term } from "conclave";
import { type FakeStore, fakeStore } from "conclave/testing";

const MANY = 20_000;
const TTL_MS = 10_000;
const names = Array.from({ length: MANY }, (_, index) => `name-${index}`);

interface Crowd {
  readonly store: FakeStore;
  readonly candidate: Candidate;
  readonly terms: Term[];
  readonly lost: Set<string>;
  readonly settled: Promise<unknown>;
}

type Way = (
  candidate: Candidate,
  name: string,
  keep: (term: Term) => void,
  whenElected: Map<string, () => void>,
) => Promise<unknown>;

/** Work that ends when its signal says so. */
const untilTold = (term: Term): Promise<void> =>
  new Promise((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));

const ways: Record<string, Way> = {
  campaign: (candidate, name, keep) => candidate.election(name).campaign().then(keep),
  tryCampaign: (candidate, name, keep) =>
    candidate
      .election(name)
      .tryCampaign()
      .then((term) => term && keep(term)),
  start: (candidate, name, keep, whenElected) => {
    const election = candidate.election(name);
    election.start();
    whenElected.set(name, () => keep(election.term() as Term));
    return Promise.resolve();
  },
  lead: (candidate, name, keep) =>
    candidate.election(name).lead((term) => {
      keep(term);
      return untilTold(term);
    }),
  withLock: (candidate, name, keep) =>
    candidate
      .withLock(name, (term) => {
        keep(term);
        return untilTold(term);
      })
      .catch((error: unknown) => error),
  "await using": async (candidate, name, keep) => {
    await using term = await candidate.election(name).campaign();
    keep(term);
    await untilTold(term);
  },
};

async function gather(way: Way): Promise<Crowd> {
  const store = fakeStore();
  const candidate = createCandidate({ store, ttlMs: TTL_MS });
  const terms: Term[] = [];
  const lost = new Set<string>();
  const whenElected = new Map<string, () => void>();
  candidate.subscribe((event: ConclaveEvent) => {
    if (event.type === "lost") lost.add(event.election);
    if (event.type === "elected") whenElected.get(event.election)?.();
  });
  const all = names.map((name) => way(candidate, name, (term) => terms.push(term), whenElected));
  await store.advance(10);
  return { store, candidate, terms, lost, settled: Promise.all(all) };
}

const RUNS_OUT = "runs out while the store does not answer";
/** The work of these ends when it is told to; the others are terms in somebody's hand. */
const SETTLING = ["lead", "withLock", "await using"];

/** How all of them end at one moment. */
const losses: Record<string, (crowd: Crowd) => Promise<unknown>> = {
  "is found to be over by who asks": ({ store, terms }) => {
    store.suspend(TTL_MS);
    expect(() => terms[0]?.isHeld()).not.toThrow();
    return Promise.resolve();
  },
  [RUNS_OUT]: async ({ store }) => {
    store.hang();
    await store.advance(TTL_MS);
    store.heal();
  },
  "is taken by others, name by name": async ({ store }) => {
    for (const name of names) store.depose(name);
    await store.advance(TTL_MS / 2);
  },
};

describe.each(Object.entries(ways))("a crowd of terms held by %s", (kind, way) => {
  const hasSettled = SETTLING.includes(kind);

  it.each(Object.entries(losses))("%s, and every one is told", { timeout: 120_000 }, async (loss, lose) => {
    const crowd = await gather(way);
    const { store, terms, lost, candidate } = crowd;
    expect(terms).toHaveLength(MANY);
    await lose(crowd);
    expect(terms.slice(0, MANY).some((term) => term.isHeld())).toBe(false);
    // Work that ends when its signal says so, before the deadline, has given its term back: none of those is lost.
    expect([hasSettled && loss === RUNS_OUT ? 0 : MANY]).toContain(lost.size);
    expect(terms.slice(0, MANY).every((term) => term.signal.aborted)).toBe(true);
    const closed = candidate.close();
    await store.advance(3 * TTL_MS);
    await closed;
  });
});

it("a crowd of terms is given back together by close(), and is free at once", { timeout: 60_000 }, async () => {
  const { store, terms, candidate } = await gather(ways["campaign"] as Way);
  const closed = candidate.close();
  await store.advance(TTL_MS / 2);
  await closed;
  expect(terms.some((term) => term.isHeld())).toBe(false);
  const rival = createCandidate({ store, ttlMs: TTL_MS });
  const won = Promise.all(names.map((name) => rival.election(name).tryCampaign()));
  await store.advance(1);
  expect((await won).every((term) => term?.isHeld() === true)).toBe(true);
});
