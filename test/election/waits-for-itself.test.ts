// A `lead` or `withLock` that cannot begin because the same candidate stands for that name by an earlier call: it says so, instead of waiting without a word.
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, type Election } from "conclave";
import { fakeStore } from "conclave/testing";

function stage() {
  const store = fakeStore();
  const events: ConclaveEvent[] = [];
  const candidate = createCandidate({ store, id: "me", ttlMs: 10_000, onEvent: (event) => events.push(event) });
  const warnings = (): readonly string[] =>
    events.flatMap((event) => (event.type === "warning" && event.code === "WAITS_FOR_ITSELF" ? [event.message] : []));
  return { store, candidate, election: candidate.election("x"), warnings };
}

it("warns behind a campaign, and begins when that term is resigned", async () => {
  const { store, election, warnings } = stage();
  const won = election.campaign();
  await store.advance(1);
  const term = await won;
  const led = election.lead(async () => "done");
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).toMatch(/^"x": this lead\(\) waits for an earlier campaign\(\) of the same candidate/);
  const resigned = term.resign();
  await store.advance(1);
  await resigned;
  await store.advance(2000);
  expect(await led).toBe("done");
});

it("warns behind another lead", async () => {
  const { store, election, warnings } = stage();
  void election.lead(() => new Promise(() => {}));
  await store.advance(1);
  void election.lead(async () => {}).catch(() => {});
  expect(warnings()).toEqual([expect.stringContaining("an earlier lead()")]);
});

it("says nothing where one call follows another that has ended, or has been told to", async () => {
  const { store, election, warnings } = stage();
  for (let times = 0; times < 3; times++) {
    const led = election.lead(async () => times);
    await store.advance(2000);
    expect(await led).toBe(times);
  }
  const stop = new AbortController();
  void election.lead(() => new Promise((resolve) => setTimeout(resolve, 0)), { signal: stop.signal });
  await store.advance(2000);
  stop.abort();
  const last = election.lead(async () => "last");
  await store.advance(5000);
  expect(await last).toBe("last");
  expect(warnings()).toEqual([]);
});

const STANDS: readonly (readonly [call: string, stand: (election: Election) => void, end: string])[] = [
  ["start", (election) => election.start(), "before the election is closed"],
  ["campaign", (election) => void election.campaign(), "before that has ended"],
  ["lead", (election) => void election.lead(() => new Promise(() => {})), "before that has ended"],
];

it.each(STANDS)("a withLock behind %s of the same name warns", async (call, stand, end) => {
  const { store, candidate, election, warnings } = stage();
  stand(election);
  await store.advance(1);
  void candidate.withLock("x", async () => {}).catch(() => {});
  expect(warnings()).toEqual([
    expect.stringMatching(new RegExp(`^"x": this withLock\\(\\) waits for an earlier ${call}\\(\\) .*${end}`)),
  ]);
});

it("a withLock says nothing behind another withLock, of another name, behind nothing, or if it does not wait", async () => {
  const { store, candidate, election, warnings } = stage();
  void candidate.withLock("free", () => new Promise(() => {}));
  await store.advance(1);
  void candidate.withLock("free", async () => {}).catch(() => {});
  election.start();
  await store.advance(1);
  void candidate.withLock("y", async () => {});
  await expect(candidate.withLock("x", async () => {}, { waitMs: 0 })).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
  expect(warnings()).toEqual([]);
});
