// Schedules on real elections, with time in hand: the fake store's clock is the wall clock too, and begins at the epoch.
import { type ConclaveEvent, createCandidate, type Election, elect } from "conclave";
import { type Schedule, schedule, type ScheduleOptions, type SlotRun } from "conclave/schedule";
import { memory } from "conclave/stores/memory";
import { createMetrics, logLine } from "conclave/telemetry";
import { type FakeStore, fakeStore } from "conclave/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

const EVERY = { everyMs: 10_000 };
const opened: Election[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((election) => election.close()));
});

/** One process of a fleet, as far as one test can have two. */
class Replica {
  readonly election: Election;
  readonly events: ConclaveEvent[] = [];
  readonly runs: SlotRun[] = [];
  work: (run: SlotRun) => Promise<unknown> = async () => {};
  schedule: Schedule | undefined;

  constructor(store: FakeStore, id = "a") {
    this.election = elect("nightly", { store, id, ttlMs: 6000, onEvent: (event) => this.events.push(event) });
    opened.push(this.election);
  }

  start(options: ScheduleOptions = {}): this {
    this.schedule = schedule(this.election, EVERY, (run) => this.#run(run), options);
    return this;
  }

  #run(run: SlotRun): Promise<unknown> {
    this.runs.push(run);
    return this.work(run);
  }

  get slots(): readonly number[] {
    return this.runs.map(({ slot }) => slot.getTime() / 1000);
  }

  errors(): readonly string[] {
    return this.events.flatMap((event) => (event.type === "error" ? [event.error.code] : []));
  }
}

describe("a schedule", () => {
  it("runs each slot once, on the one that leads", async () => {
    const store = fakeStore();
    const [a, b] = [new Replica(store, "a").start(), new Replica(store, "b").start()];
    await store.advance(35_000);
    expect([...a.slots, ...b.slots]).toEqual([10, 20, 30]);
  });

  it("gives the work its slot, its signal, its term, and whether it is late", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    await store.advance(12_000);
    const [run] = a.runs;
    expect(run?.slot.toISOString()).toBe("1970-01-01T00:00:10.000Z");
    expect(run?.isCatchUp).toBe(false);
    expect(run?.signal.aborted).toBe(false);
    expect(run?.term.token.value).toBe(1n);
  });

  it("makes up for what fell into a gap, also before the first slot of all", async () => {
    const store = fakeStore();
    const a = new Replica(store, "a").start({ missed: "all" });
    await store.advance(2000);
    await a.election.close();
    await store.advance(33_000);
    const b = new Replica(store, "b").start({ missed: "all" });
    await store.advance(2000);
    expect(b.slots).toEqual([10, 20, 30]);
    expect(b.runs.map(({ isCatchUp }) => isCatchUp)).toEqual([true, true, true]);
  });

  it("does not run a slot that a leader before has marked, and says that its end was not noted", async () => {
    const store = fakeStore();
    const a = new Replica(store, "a").start();
    a.work = () => new Promise(() => {});
    await store.advance(11_000);
    expect(a.slots).toEqual([10]);
    store.depose("nightly");
    const b = new Replica(store, "b").start();
    await store.advance(8000);
    expect(b.slots).toEqual([]);
    expect(b.events).toContainEqual({
      type: "schedule",
      election: "nightly",
      key: "default",
      state: "unfinished",
      slot: "1970-01-01T00:00:10.000Z",
    });
    await store.advance(2000);
    expect(b.slots).toEqual([20]);
    opened.splice(opened.indexOf(a.election), 1); // its work never ends
  });

  it("runs a slot again whose runner lost its term before the mark, with mark after", async () => {
    const store = fakeStore();
    const a = new Replica(store, "a").start({ mark: "after", missed: "all" });
    a.work = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    await store.advance(11_000);
    store.depose("nightly");
    const b = new Replica(store, "b").start({ mark: "after", missed: "all" });
    await store.advance(8000);
    expect([...a.slots, ...b.slots]).toEqual([10, 10]);
    expect([...a.runs, ...b.runs].map(({ term }) => term.token.value)).toEqual([1n, 3n]);
  });

  it("waits for an answer to a mark, and then runs the slot once", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    await store.advance(9990);
    store.dropNextAnswer();
    await store.advance(6000);
    expect(a.slots).toEqual([10]);
    await store.advance(20_000);
    expect(a.slots).toEqual([10, 20, 30]);
  });

  it("begins nothing while the store does not answer", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    await store.advance(9990);
    store.hang();
    await store.advance(3000);
    expect(a.slots).toEqual([]);
    store.heal();
    await store.advance(15_000);
    expect(a.slots.slice(0, 1)).toEqual([10]);
  });

  it("does not run a slot beside one that takes too long", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    a.work = () => new Promise<void>((resolve) => setTimeoutOf(store, 25_000, resolve));
    await store.advance(34_000);
    expect(a.slots).toEqual([10]);
    await store.advance(2000);
    expect(a.slots).toEqual([10, 30]);
    expect(a.schedule?.status()).toMatchObject({
      missed: 1,
      lastSlot: new Date(30_000),
      runningSince: new Date(35_000),
    });
    a.work = async () => {};
    await store.advance(26_000);
  });

  it("counts a work that rejects as run, and tells of it", async () => {
    const store = fakeStore();
    const a = new Replica(store).start({ mark: "after" });
    a.work = () => Promise.reject(new Error("no money"));
    await store.advance(12_000);
    expect(a.slots).toEqual([10]);
    expect(a.errors()).toEqual(["SCHEDULE_FAILED"]);
    a.work = () => {
      throw new Error("at once");
    };
    await store.advance(10_000);
    expect(a.slots).toEqual([10, 20]);
  });

  it("is an error, once, when the mark is later than the next slot", async () => {
    const store = fakeStore();
    const a = new Replica(store, "a").start();
    await store.advance(35_000);
    await a.election.close();
    const clock = (store as unknown as Record<symbol, { setWall(ms: number): void }>)[Symbol.for("conclave.clock")];
    clock?.setWall(5000);
    const b = new Replica(store, "b").start();
    await store.advance(14_000);
    expect([b.slots, b.errors()]).toEqual([[], ["SCHEDULE_AHEAD"]]);
    await store.advance(23_000);
    expect(b.slots).toEqual([40]);
  });
});

describe("closing", () => {
  it("a schedule aborts the signal of what runs, waits for it, and leaves the election alone", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    let end = (): void => {};
    a.work = () => new Promise<void>((resolve) => (end = resolve));
    await store.advance(11_000);
    let isClosed = false;
    const closing = a.schedule?.close().then(() => (isClosed = true));
    await store.advance(1000);
    expect([a.runs[0]?.signal.aborted, isClosed]).toEqual([true, false]);
    end();
    await store.advance(10);
    await closing;
    await store.advance(20_000);
    expect([a.slots, a.election.isLeading()]).toEqual([[10], true]);
  });

  it("an election waits for the work of a slot", async () => {
    const store = fakeStore();
    const a = new Replica(store).start();
    let end = (): void => {};
    a.work = () => new Promise<void>((resolve) => (end = resolve));
    await store.advance(11_000);
    let isClosed = false;
    const closing = a.election.close().then(() => (isClosed = true));
    await store.advance(1000);
    expect([a.runs[0]?.signal.aborted, isClosed]).toEqual([true, false]);
    end();
    await store.advance(100);
    await closing;
    expect(isClosed).toBe(true);
  });
});

describe("several schedules of one election", () => {
  it("have a key each, and marks of their own", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 6000 });
    const election = candidate.election("jobs");
    const runs: string[] = [];
    const note =
      (name: string) =>
      async ({ slot }: SlotRun) =>
        void runs.push(`${name} ${slot.getTime() / 1000}`);
    schedule(election, { everyMs: 10_000 }, note("ten"), { key: "ten" });
    schedule(election, { everyMs: 15_000, offsetMs: 1000 }, note("fifteen"), { key: "fifteen" });
    expect(() => schedule(election, EVERY, note("again"), { key: "ten" })).toThrow("runs already");
    await store.advance(31_000);
    expect(runs.toSorted()).toEqual(["fifteen 1", "fifteen 16", "fifteen 31", "ten 10", "ten 20", "ten 30"]);
    await candidate.close();
  });
});

describe("what is wrong with a schedule", () => {
  it("is said at once, all of it", () => {
    const election = elect("x", { store: memory() });
    const work = async (): Promise<void> => {};
    const wrong = { missed: "some", missedMax: 0, mark: "never", key: "", keys: 1 } as unknown as ScheduleOptions;
    expect(() => schedule(election, EVERY, work, wrong)).toThrow(
      /5 problems · keys is not an option.* · key "".* · missed "some".* · missedMax 0.* · mark "never"/,
    );
    expect(() => schedule(election, { everyMs: 1.5 }, work)).toThrow("everyMs 1.5");
    expect(() => schedule(election, { never: true } as never, work)).toThrow("does not say when");
    expect(() => schedule(election, EVERY, "work" as never)).toThrow("is not a function");
  });

  it("is also a store that keeps no memos", () => {
    const store = memory();
    const without = Object.assign(Object.create(store) as typeof store, {
      guarantee: { ...store.guarantee, memos: undefined },
    });
    const election = elect("x", { store: without });
    expect(() => schedule(election, EVERY, async () => {})).toThrow(
      expect.objectContaining({ code: "STORE_UNSUPPORTED" }),
    );
  });

  it("is a timetable that goes back", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 6000 });
    opened.push(election);
    expect(() => schedule(election, { next: (after) => after }, async () => {})).toThrow("it must be a later Date");
    const events: ConclaveEvent[] = [];
    election.subscribe((event) => events.push(event));
    schedule(election, { next: (after) => new Date(after.getTime() < 9000 ? 9000 : 0) }, async () => {});
    await store.advance(20_000);
    const errors = events.flatMap((event) => (event.type === "error" ? [event.error.message] : []));
    expect(errors).toEqual([expect.stringContaining("it must be a later Date")]);
  });
});

describe("what can be seen of a schedule", () => {
  it("are events, log lines and metrics: last slot, next slot, missed, running since", async () => {
    const store = fakeStore();
    const a = new Replica(store);
    const metrics = createMetrics();
    a.election.subscribe(metrics.record);
    a.start();
    let end = (): void => {};
    a.work = () => new Promise<void>((resolve) => (end = resolve));
    await store.advance(34_000);
    const at = 'election="nightly",schedule="default"';
    expect(metrics.text()).toContain(`conclave_schedule_last_slot_seconds{${at}} 10\n`);
    expect(metrics.text()).toContain(`conclave_schedule_running_since_seconds{${at}} 10\n`);
    end();
    await store.advance(10);
    end();
    await store.advance(10);
    expect(metrics.text()).toContain(`conclave_schedule_missed_total{${at}} 1\n`);
    expect(metrics.text()).toContain(`conclave_schedule_runs_total{${at},outcome="done"} 2\n`);
    expect(metrics.text()).toContain(`conclave_schedule_next_slot_seconds{${at}} 40\n`);
    expect(metrics.text()).toContain(`conclave_schedule_running_since_seconds{${at}} 0\n`);
    const lines = a.events.filter(({ type }) => type === "schedule").map(logLine);
    expect(lines[0]).toBe('schedule election="nightly" key="default" state="waiting" next="1970-01-01T00:00:10.000Z"');
  });

  it("is no listener: warnings of the process are still given", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const store = fakeStore();
    const election = elect("quiet", { store, ttlMs: 6000 });
    opened.push(election);
    schedule(election, EVERY, () => Promise.reject(new Error("unheard")));
    await store.advance(11_000);
    expect(warn.mock.calls.map(([message]) => String(message)).join("\n")).toContain("unheard");
    warn.mockRestore();
  });
});

function setTimeoutOf(store: FakeStore, ms: number, wake: () => void): void {
  const clock = (store as unknown as Record<symbol, { timer(ms: number, wake: () => void): unknown }>)[
    Symbol.for("conclave.clock")
  ];
  clock?.timer(ms, wake);
}
