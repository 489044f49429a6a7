// When a command may begin: once per key of a fleet, with real elections and time in hand. The command is a function here; test/cli/run-once.test.ts has real ones.
import { elect, type Election, type Term } from "conclave";
import type { OncePass } from "conclave/supervisor";
import { fakeStore, type FakeStore } from "conclave/testing";
import { describe, expect, it } from "vitest";
import { ONCE_KEPT, noteOnce, readOnce } from "../../src/schedule/once.ts";
import { isDone, type Passed, passOnce, passSlots, type RunCommand } from "../../src/supervisor/passes.ts";

const BEFORE: OncePass = { kind: "once", key: "v42", mark: "before" };
const SUCCESS: OncePass = { kind: "once", key: "v42", mark: "success" };
const exits =
  (code: number): RunCommand =>
  async () => ({ exit: { code }, isFinished: true });
const unable: RunCommand = async () => expect.unreachable("it must not run");

/** In a term of its own, as one process after the other would. */
async function inTerm<R>(
  store: FakeStore,
  work: (election: Election, term: Term) => Promise<R>,
): Promise<R | undefined> {
  const election = elect("migrate", { store, ttlMs: 6000 });
  const result = election.lead((term) => work(election, term));
  await store.advance(3000);
  return result;
}

function pass(store: FakeStore, how: OncePass, run: RunCommand): Promise<Passed | undefined> {
  return inTerm(store, (election, term) => passOnce(how, election, term, run, undefined));
}

describe("a key", () => {
  it("is had once: the next one finds it done, and does not run", async () => {
    const store = fakeStore();
    expect(await pass(store, BEFORE, exits(0))).toEqual({ is: "ran", exit: { code: 0 } });
    expect(await pass(store, BEFORE, unable)).toMatchObject({ is: "had", entry: { key: "v42", state: "done" } });
    expect(await inTerm(store, (election) => isDone(BEFORE, election))).toMatchObject({ state: "done" });
  });

  it("that was marked before does not begin again, also if its command failed or was lost", async () => {
    const store = fakeStore();
    expect(await pass(store, BEFORE, exits(7))).toEqual({ is: "ran", exit: { code: 7 } });
    expect(await pass(store, BEFORE, unable)).toMatchObject({ is: "had" });
    const other: OncePass = { ...BEFORE, key: "v43" };
    expect(await pass(store, other, async () => undefined)).toEqual({ is: "again" });
    expect(await pass(store, other, unable)).toMatchObject({ is: "had", entry: { state: "begun" } });
    expect(await inTerm(store, (election) => isDone(other, election))).toBeUndefined();
  });

  it("that is marked after success begins again until its command has exited with 0", async () => {
    const store = fakeStore();
    expect(await pass(store, SUCCESS, exits(1))).toEqual({ is: "ran", exit: { code: 1 } });
    expect(await pass(store, SUCCESS, async () => ({ exit: { signal: "SIGKILL" }, isFinished: false }))).toEqual({
      is: "again",
    });
    expect(await pass(store, SUCCESS, exits(0))).toEqual({ is: "ran", exit: { code: 0 } });
    expect(await pass(store, SUCCESS, unable)).toMatchObject({ is: "had", entry: { state: "done" } });
  });

  it("that another process has only begun is not done: what is marked after success begins again", async () => {
    const store = fakeStore();
    await inTerm(store, (election, term) => noteOnce(election, term, "v42", "begun", 0));
    expect(await pass(store, SUCCESS, exits(0))).toEqual({ is: "ran", exit: { code: 0 } });
  });

  it("is not begun if the term ended while the mark was written", async () => {
    const store = fakeStore();
    const election = elect("migrate", { store, ttlMs: 6000 });
    const stop = new AbortController();
    let passed: Promise<Passed> | undefined;
    const led = election.lead(
      (term) => {
        passed = passOnce(BEFORE, election, term, unable, undefined);
        stop.abort();
        return passed;
      },
      { signal: stop.signal },
    );
    await store.advance(3000);
    await led;
    expect(await passed).toEqual({ is: "again" });
  });

  it("whose command ended in a term that was lost is noted in the next one, and not run again", async () => {
    const store = fakeStore();
    const noted = await inTerm(store, (election, term) => passOnce(SUCCESS, election, term, unable, { code: 0 }));
    expect(noted).toEqual({ is: "ran", exit: { code: 0 } });
    expect(await pass(store, SUCCESS, unable)).toMatchObject({ is: "had" });
  });

  it(`is remembered among the last ${ONCE_KEPT}`, async () => {
    const store = fakeStore();
    await inTerm(store, async (election, term) => {
      for (let index = 0; index <= ONCE_KEPT; index++) await noteOnce(election, term, `k${index}`, "done", 0);
      expect(await readOnce(election, "k0")).toBeUndefined();
      expect(await readOnce(election, "k1")).toMatchObject({ state: "done" });
    });
  });
});

describe("slots", () => {
  it("run the command in one term as often as they are due, and what fails is an event", async () => {
    const store = fakeStore();
    const election = elect("cron", { store, ttlMs: 6000 });
    const errors: string[] = [];
    election.subscribe((event) => event.type === "error" && errors.push(event.error.message));
    const seen: string[] = [];
    const stop = new AbortController();
    const led = election.lead(
      (term) =>
        passSlots({ kind: "slots", when: { everyMs: 1000 }, options: {} }, election, term, async (environment) => {
          seen.push(`${environment["CONCLAVE_SLOT"]} ${environment["CONCLAVE_CATCH_UP"]}`);
          return { exit: { code: seen.length === 2 ? 3 : 0 }, isFinished: true };
        }),
      { signal: stop.signal },
    );
    await store.advance(3500);
    expect(seen).toEqual(["1970-01-01T00:00:01.000Z 0", "1970-01-01T00:00:02.000Z 0", "1970-01-01T00:00:03.000Z 0"]);
    expect(errors).toEqual([expect.stringContaining("the command exited with 3")]);
    stop.abort();
    await store.advance(100);
    await led;
  });

  it("do not count a command as run that was ended before it had ended by itself, whatever it exited with", async () => {
    const store = fakeStore();
    const election = elect("cron", { store, ttlMs: 6000 });
    const errors: string[] = [];
    election.subscribe((event) => event.type === "error" && errors.push(event.error.message));
    const stop = new AbortController();
    const led = election.lead(
      (term) =>
        passSlots({ kind: "slots", when: { everyMs: 1000 }, options: {} }, election, term, async () => ({
          exit: { code: 0 },
          isFinished: false,
        })),
      { signal: stop.signal },
    );
    await store.advance(1500);
    expect(errors).toEqual([expect.stringContaining("was ended before it had ended by itself")]);
    stop.abort();
    await store.advance(100);
    await led;
  });
});
