// Those who ask only whether something is free now get an answer although the store gives none; those who wait for a while hear why it was in vain.
import { describe, expect, it } from "vitest";
import { type Candidate, type ConclaveError, createCandidate, elect, semaphore } from "conclave";
import { type FakeStore, fakeStore } from "conclave/testing";

const TTL_MS = 10_000;

function open(): { readonly store: FakeStore; readonly candidate: Candidate } {
  const store = fakeStore();
  return { store, candidate: createCandidate({ store, ttlMs: TTL_MS }) };
}

/** What became of it within a ttl; undefined while it hangs. */
async function outcomeOf(store: FakeStore, asked: Promise<unknown>): Promise<unknown> {
  let outcome: unknown;
  asked.then(
    (value) => (outcome = { value }),
    (error: unknown) => (outcome = error),
  );
  await store.advance(TTL_MS);
  return outcome;
}

const WAYS: readonly (readonly [string, (candidate: Candidate) => Promise<unknown>])[] = [
  ["withLock with waitMs 0", (candidate) => candidate.withLock("x", async () => "done", { waitMs: 0 })],
  ["tryCampaign", (candidate) => candidate.election("x").tryCampaign()],
];

describe.each(WAYS)("%s", (_name, ask) => {
  it("ends with the store's own trouble while the store does not answer", async () => {
    const { store, candidate } = open();
    store.hang();
    const error = (await outcomeOf(store, ask(candidate))) as ConclaveError;
    expect(error).toMatchObject({ code: "STORE_TIMEOUT", retryable: true });
    expect(error.message).toMatch(/^"x": /);
  });

  it("ends so too if it had a session before", async () => {
    const { store, candidate } = open();
    const first = ask(candidate) as Promise<{ resign?: () => Promise<void> } | undefined>;
    await store.advance(1);
    const given = (await first)?.resign?.();
    await store.advance(1);
    await given;
    store.hang();
    expect(await outcomeOf(store, ask(candidate))).toMatchObject({ code: "STORE_TIMEOUT", retryable: true });
  });

  it("works again as soon as the store does", async () => {
    const { store, candidate } = open();
    store.hang();
    await outcomeOf(store, ask(candidate));
    store.heal();
    await store.advance(TTL_MS);
    expect(await outcomeOf(store, ask(candidate))).toMatchObject({ value: expect.anything() });
  });

  it("is not hurried by another that waits: that one goes on trying", async () => {
    const { store, candidate } = open();
    store.hang();
    const waiting = candidate.election("y").campaign();
    expect(await outcomeOf(store, ask(candidate))).toMatchObject({ code: "STORE_TIMEOUT" });
    store.heal();
    await store.advance(TTL_MS);
    expect((await waiting).isHeld()).toBe(true);
  });
});

describe("withLock with a waitMs", () => {
  it("names what went wrong as the cause", async () => {
    const { store, candidate } = open();
    store.hang();
    const error = (await outcomeOf(
      store,
      candidate.withLock("x", async () => {}, { waitMs: 8000 }),
    )) as ConclaveError;
    expect(error).toMatchObject({ code: "LOCK_TIMEOUT", retryable: true, cause: { code: "STORE_TIMEOUT" } });
    expect(error.message).toMatch(/within 8000 ms, because the store did not say whether it is free: .*no answer/);
  });

  it("says that the lock was not free if that was the store's last word", async () => {
    const { store, candidate } = open();
    const rival = elect("x", { store, ttlMs: TTL_MS }).campaign();
    await store.advance(1);
    await rival;
    store.faults.next("keep", { dropAnswer: true });
    const error = (await outcomeOf(
      store,
      candidate.withLock("x", async () => {}, { waitMs: 8000 }),
    )) as ConclaveError;
    expect(error.code).toBe("LOCK_TIMEOUT");
    expect(error.cause).toBeUndefined();
    expect(error.message).toMatch(/was not free within 8000 ms/);
  });
});

// One caller of a name at a time reaches the store. The others must not take the silence of the store for somebody who holds the name.
describe("callers of one name in one process, while the store does not answer", () => {
  const inVain = (candidate: Candidate, waitMs: number): Promise<unknown> =>
    candidate.withLock("x", async () => {}, { waitMs }).catch((error: unknown) => error);

  it("hear the same cause as the one before them", async () => {
    const { store, candidate } = open();
    store.hang();
    const asked = Promise.all([1, 2, 3].map(() => inVain(candidate, 8000)));
    const errors = (await outcomeOf(store, asked)) as { readonly value: readonly ConclaveError[] };
    for (const error of errors.value) {
      expect(error).toMatchObject({ code: "LOCK_TIMEOUT", cause: { code: "STORE_TIMEOUT" } });
      expect(error.message).toMatch(/within 8000 ms, because the store did not say whether it is free/);
    }
  });

  it("are not told that it was not free before the store has said so", async () => {
    const { store, candidate } = open();
    store.hang();
    const asked = Promise.all([1, 2].map(() => inVain(candidate, 500)));
    const errors = (await outcomeOf(store, asked)) as { readonly value: readonly ConclaveError[] };
    for (const error of errors.value) {
      expect(error.code).toBe("LOCK_TIMEOUT");
      expect(error.message).toMatch(/within 500 ms, because the store has not said yet whether it is free/);
    }
  });

  it("hear that it was not free if the store said so to the one before them, or one of them has it", async () => {
    const { store, candidate } = open();
    const rival = elect("x", { store, ttlMs: TTL_MS }).campaign();
    await store.advance(1);
    await rival;
    const behindRival = Promise.all([1, 2, 3].map(() => inVain(candidate, 1000)));
    const own = candidate.withLock("y", () => new Promise(() => {}));
    own.catch(() => {});
    const behindOwn = candidate.withLock("y", async () => {}, { waitMs: 1000 }).catch((error: unknown) => [error]);
    for (const asked of [behindRival, behindOwn]) {
      const errors = (await outcomeOf(store, asked)) as { readonly value: readonly ConclaveError[] };
      for (const error of errors.value) expect(error.message).toMatch(/was not free within 1000 ms/);
    }
  });

  it("who ask only once get the error of the store, as the one before them does", async () => {
    for (const first of [0, 8000, Infinity]) {
      const { store, candidate } = open();
      store.hang();
      void inVain(candidate, first);
      const asked = Promise.all(WAYS.map(([, ask]) => ask(candidate).catch((error: unknown) => error)));
      const errors = (await outcomeOf(store, asked)) as { readonly value: readonly ConclaveError[] };
      expect(errors.value).toHaveLength(2);
      for (const error of errors.value) {
        expect(error).toMatchObject({ code: "STORE_TIMEOUT", retryable: true });
        expect(error.message).toMatch(/^"x": /);
      }
    }
  });

  it("who ask only once later, while the one before them is still in trouble, get it at once", async () => {
    const { store, candidate } = open();
    store.hang();
    void candidate.election("x").campaign();
    await store.advance(TTL_MS);
    for (const [, ask] of WAYS) {
      let error: unknown;
      ask(candidate).catch((thrown: unknown) => (error = thrown));
      await store.advance(1);
      expect(error).toMatchObject({ code: "STORE_TIMEOUT" });
    }
    store.heal();
    await store.advance(TTL_MS);
    expect(await outcomeOf(store, candidate.election("x").tryCampaign())).toEqual({ value: undefined });
  });

  it("who ask only once stand themselves if the one before them leaves before it has heard anything", async () => {
    const { store, candidate } = open();
    const leaving = new AbortController();
    candidate
      .election("x")
      .campaign({ signal: leaving.signal })
      .catch(() => {});
    const asked = candidate.election("x").tryCampaign();
    leaving.abort();
    const term = (await outcomeOf(store, asked)) as { readonly value?: { isHeld(): boolean } };
    expect(term.value?.isHeld()).toBe(true);
  });

  it("who ask only once hear that somebody has it as soon as that is so", async () => {
    const { store, candidate } = open();
    const first = candidate.election("x").campaign();
    const asked = candidate.withLock("x", async () => {}, { waitMs: 0 });
    const error = (await outcomeOf(store, asked)) as ConclaveError;
    expect(error.message).toMatch(/was not free within 0 ms/);
    expect((await first).isHeld()).toBe(true);
  });

  it("are all told the truth, twenty thousand of them", async () => {
    const COUNT = 20_000;
    const { store, candidate } = open();
    store.hang();
    const waiting = Array.from({ length: COUNT }, (_, place) => inVain(candidate, place % 2 === 0 ? 8000 : 0));
    const { value } = (await outcomeOf(store, Promise.all(waiting))) as { readonly value: readonly ConclaveError[] };
    const wrong = value.filter(({ code, cause }, place) =>
      place % 2 === 0
        ? code !== "LOCK_TIMEOUT" || (cause as ConclaveError | undefined)?.code !== "STORE_TIMEOUT"
        : code !== "STORE_TIMEOUT",
    );
    expect(value).toHaveLength(COUNT);
    expect(wrong).toEqual([]);
  });
});

describe("a semaphore, while the store does not answer", () => {
  it("tells a call that asks once the error of the store, also behind another call of it", async () => {
    for (const first of ["campaign", "tryCampaign"] as const) {
      const store = fakeStore();
      const workers = semaphore("workers", { store, permits: 2, unfenced: true, ttlMs: TTL_MS, onEvent: () => {} });
      store.hang();
      workers[first]().catch(() => {});
      const error = await outcomeOf(store, workers.tryCampaign());
      expect(error).toMatchObject({ code: "STORE_TIMEOUT", retryable: true });
    }
  });
});

it.each([
  ["leader()", (candidate: Candidate) => candidate.election("x").leader(), 'the question who leads "x"'],
  ["memo()", (candidate: Candidate) => candidate.election("x").memo("k"), 'a read of the memo "k" of "x"'],
])("%s says that nothing was changed, and what to look at, if the store does not answer", async (_name, ask, what) => {
  const { store, candidate } = open();
  store.hang();
  const error = (await outcomeOf(store, ask(candidate))) as ConclaveError;
  expect(error).toMatchObject({ code: "STORE_TIMEOUT", retryable: true });
  expect(error.message).toContain(`no answer to ${what} within `);
  expect(error.message).toMatch(/ ms\. Nothing was changed\. Is the store running, is its address right, and do both /);
});
