// Those who ask only whether something is free now get an answer although the store gives none; those who wait for a while hear why it was in vain.
import { describe, expect, it } from "vitest";
import { type Candidate, type ConclaveError, createCandidate, elect } from "conclave";
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
