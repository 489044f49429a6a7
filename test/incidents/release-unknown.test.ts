// From the review of the design: a release without an answer may have been applied, so another may lead already.
// Here: from the send of a release the term is not held, whatever the answer; and it is sent again until the store answers.
// Taken out: test/mutants/held-until-release-ack.patch
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { fakeStore } from "conclave/testing";
import { useRealStores } from "../support/real-stores.ts";
import { releaseWithoutAnswer } from "../support/store-incidents.ts";

it.each([{ dropAnswer: true }, { hang: true }] as const)(
  "release-unknown: not held from the send on (%o)",
  async (fault) => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const events: ConclaveEvent[] = [];
    candidate.subscribe((event) => events.push(event));
    const campaign = candidate.election("x").campaign();
    await store.advance(1);
    const term = await campaign;
    store.faults.next("release", fault);
    const resigned = term.resign();
    expect(term.isHeld()).toBe(false);
    await store.advance(1);
    expect(term.isHeld()).toBe(false);
    await store.advance(3_000);
    await resigned;
    expect(events.filter(({ type }) => type === "released")).toEqual([
      { type: "released", election: "x", outcome: "unknown" },
    ]);
    const rival = createCandidate({ store, ttlMs: 10_000 }).election("x").campaign();
    await store.advance(3_000);
    expect((await rival).isHeld()).toBe(true);
    expect(term.isHeld()).toBe(false);
  },
);

it.each(useRealStores())(
  "release-unknown: the same over a wire that goes dead just then, and a rival leads after the ttl (%s)",
  { timeout: 30_000 },
  (_, store) => releaseWithoutAnswer(store, expect),
);
