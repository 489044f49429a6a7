// n leaders, as a user meets them: on every kind of store that there is in this process, with time in the test's hand where time matters.
import { afterEach, describe, expect, it } from "vitest";
import {
  type ConclaveEvent,
  isConclaveError,
  type Permit,
  semaphore,
  type Semaphore,
  type SemaphoreOptions,
} from "conclave";
import { memory } from "conclave/stores/memory";
import { fakeStore, faulty, ManualClock } from "conclave/testing";

const TTL_MS = 3000;
const KINDS = [{ shape: "race" }, { shape: "race", judge: "taker" }, { shape: "line" }, { layout: "swap" }] as const;

const closing: Semaphore[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close({ drainMs: 0 })));
});

function open(options: Partial<SemaphoreOptions> & Pick<SemaphoreOptions, "store">): Semaphore {
  const made = semaphore("workers", { permits: 3, ttlMs: TTL_MS, unfenced: true, ...options });
  closing.push(made);
  return made;
}

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, place) => `web-${place}`);

describe.each(KINDS)("on memory: %o", (kind) => {
  it("never more than n of many are at work, n of them are at once, and all get their turn", async () => {
    const store = memory(kind);
    let inside = 0;
    let most = 0;
    const seats = new Set<number>();
    await Promise.all(
      ids(9).map((id) =>
        open({ store, id }).lead(async (permit) => {
          inside++;
          most = Math.max(most, inside);
          seats.add(permit.seat);
          expect(permit.isHeld()).toBe(true);
          await new Promise((resolve) => setTimeout(resolve, 100));
          inside--;
        }),
      ),
    );
    expect(most).toBe(3);
    expect(seats).toEqual(new Set([0, 1, 2]));
  });

  it("a permit that was given back goes to one who waits", async () => {
    const store = memory(kind);
    const held = await Promise.all(ids(3).map((id) => open({ store, id }).campaign()));
    expect(new Set(held.map(({ seat }) => seat)).size).toBe(3);
    const waiting = open({ store, id: "late" }).campaign();
    expect(await open({ store, id: "impatient" }).tryCampaign()).toBeUndefined();
    await held[1]?.resign();
    const permit = await waiting;
    expect(permit.seat).toBe(held[1]?.seat);
    expect(held.map((each) => each.isHeld())).toEqual([true, false, true]);
  });

  it("a candidate alone occupies one seat, not all, also while others come", async () => {
    const store = memory(kind);
    const first = open({ store, id: "first" });
    await first.campaign();
    expect(await first.holders()).toHaveLength(1);
    const second = await open({ store, id: "second" }).tryCampaign();
    const third = await open({ store, id: "third" }).tryCampaign();
    expect([second?.isHeld(), third?.isHeld()]).toEqual([true, true]);
    const holders = await first.holders();
    const named = holders.map(({ id }) => id.split("_")[0]);
    expect(new Set(named)).toEqual(new Set(["first", "second", "third"]));
    expect(holders.map(({ seat }) => seat)).toEqual([0, 1, 2]);
  });
});

describe("a permit", () => {
  it("has no token and writes no memos, on a store that has both", async () => {
    const permit = await open({ store: memory() }).campaign();
    expect("token" in permit).toBe(false);
    expect("memo" in permit).toBe(false);
    expect(JSON.parse(JSON.stringify(permit))).toMatchObject({ election: "workers", seat: permit.seat, state: "safe" });
  });

  it("shows what it announces", async () => {
    const workers = open({ store: memory() });
    const permit = await workers.campaign();
    await permit.announce("http://web-1:3000");
    expect(await workers.holders()).toMatchObject([{ seat: permit.seat, value: "http://web-1:3000" }]);
  });

  it("is lost at its deadline by the clock, and a waiter has it only after that", async () => {
    const clock = new ManualClock();
    const shared = memory({ judge: "taker", clock });
    const cut = faulty(shared, { clock });
    const onEvent = (): void => {};
    const lost = open({ store: cut, id: "lost", permits: 1, onEvent });
    const waits = open({ store: shared, id: "waits", permits: 1 });
    const winning = lost.campaign();
    await clock.advance(1);
    const first = await winning;
    let second: Permit | undefined;
    void waits.campaign().then((permit) => (second = permit));
    await clock.advance(10);
    cut.faults.hang();
    for (let at = 0; at < 3 * TTL_MS; at += 20) {
      await clock.advance(20);
      expect([first.isHeld(), second?.isHeld() === true].filter(Boolean).length).toBeLessThanOrEqual(1);
    }
    expect(second?.isHeld()).toBe(true);
    cut.faults.heal();
    const closed = Promise.all([lost.close(), waits.close({ drainMs: 0 })]);
    await clock.advance(20_000);
    await closed;
  });
});

describe("lead", () => {
  it("resolves with the value of the work, rejects with its error, and gives the permit back", async () => {
    const workers = open({ store: memory() });
    await expect(workers.lead(async () => 42)).resolves.toBe(42);
    const boom = new Error("boom");
    await expect(workers.lead(() => Promise.reject(boom))).rejects.toBe(boom);
    await expect(workers.holders()).resolves.toEqual([]);
  });

  it("waits for its work when it is told to stop, and gives the permit back only then", async () => {
    const store = memory();
    const stop = new AbortController();
    let finish = (): void => {};
    let permit: Permit | undefined;
    const leading = open({ store, permits: 1, drainMs: 10 }).lead(
      (got) => {
        permit = got;
        return new Promise<void>((resolve) => (finish = resolve));
      },
      { signal: stop.signal },
    );
    await expect.poll(() => permit?.isLeading()).toBe(true);
    stop.abort();
    await expect.poll(() => permit?.signal.aborted).toBe(true);
    const other = open({ store, id: "other", permits: 1 });
    await new Promise((resolve) => setTimeout(resolve, 200)); // longer than the drain, which is no limit for work that is awaited
    expect(await other.tryCampaign()).toBeUndefined();
    finish();
    await expect(leading).resolves.toBeUndefined();
    expect(await other.tryCampaign()).toBeDefined();
  });

  it("tries again when the work gives its permit up", async () => {
    const workers = open({ store: memory(), ttlMs: 400 });
    let rounds = 0;
    await workers.lead(async (permit) => {
      rounds++;
      if (rounds < 3) await permit.resign();
    });
    expect(rounds).toBe(3);
  });

  it("leaves a seat after the longest tenure, so that one who waits has it", async () => {
    const store = memory();
    const seen = new Set<string>();
    const stop = new AbortController();
    const leading = ["a", "b"].map((id) =>
      open({ store, id, permits: 1, ttlMs: 500, maxTenureMs: 500 }).lead(
        async ({ signal }) => {
          seen.add(id);
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        },
        { signal: stop.signal },
      ),
    );
    await expect.poll(() => seen.size).toBe(2);
    stop.abort();
    await Promise.all(leading);
  });
});

describe("calls of one object", () => {
  it("take turns: a process has at most one permit by it", async () => {
    const workers = open({ store: memory() });
    let inside = 0;
    const work = async (): Promise<void> => {
      inside++;
      expect(inside).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inside--;
    };
    await Promise.all([workers.lead(work), workers.lead(work), workers.lead(work)]);
    const permit = await workers.campaign();
    expect(await workers.tryCampaign()).toBeUndefined();
    await permit.resign();
    expect(await workers.tryCampaign()).toBeDefined();
  });

  it("end when it is closed, or their signal aborts: those who wait by a rejection, a permit by its signal", async () => {
    const store = memory();
    const [holder, waiter] = [open({ store, id: "h", permits: 1 }), open({ store, id: "w", permits: 1 })];
    const permit = await holder.campaign();
    const stop = new AbortController();
    const waiting = waiter.campaign({ signal: stop.signal });
    const behind = waiter.campaign({ signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(behind).rejects.toThrow("enough");
    const again = waiter.campaign();
    const leading = waiter.lead(async () => 1);
    const outcomes = Promise.allSettled([again, leading]);
    await waiter.close();
    const [first, second] = await outcomes;
    expect(isConclaveError((first as PromiseRejectedResult).reason)).toBe(true);
    expect(second).toEqual({ status: "fulfilled", value: undefined });
    await expect(waiter.campaign()).rejects.toMatchObject({ code: "CLOSED" });
    const closed = holder.close({ drainMs: 0 });
    await permit.ended;
    await closed;
    expect(permit.isHeld()).toBe(false);
  });
});

describe("different numbers of permits", () => {
  it("are noticed by the process with the smaller one, once", async () => {
    const store = memory();
    const warnings: ConclaveEvent[] = [];
    const onEvent = (event: ConclaveEvent): void => void (event.type === "warning" && warnings.push(event));
    await Promise.all(ids(4).map((id) => open({ store, id, permits: 4 }).campaign()));
    const smaller = open({ store, id: "small", permits: 2, onEvent });
    expect(await smaller.tryCampaign()).toBeUndefined();
    expect(await smaller.tryCampaign()).toBeUndefined();
    expect(warnings).toMatchObject([{ code: "PERMITS_DIFFER", election: "semaphores/workers/2" }]);
  });
});

describe("mistakes", () => {
  const store = memory();

  it.each([0, -1, 1.5, 101, Number.NaN, "3", undefined])("permits %o are refused", (permits) => {
    const options = { store, permits, unfenced: true } as unknown as SemaphoreOptions;
    expect(() => semaphore("workers", options)).toThrow(/permits .* is not a whole number from 1 to 100/);
  });

  it("all of them at once, and the missing word too", () => {
    const options = { store, permits: 0, ttlMs: -1, pemits: 3 } as unknown as SemaphoreOptions;
    let message = "";
    try {
      semaphore("workers", options);
    } catch (error) {
      message = isConclaveError(error) && error.code === "CONFIG_INVALID" ? error.message : String(error);
    }
    expect(message).toMatch(/pemits/);
    expect(message).toMatch(/permits 0/);
    expect(message).toMatch(/unfenced: true is missing/);
    expect(message).toMatch(/ttlMs/);
    expect(() => semaphore("", { store, permits: 1, unfenced: true })).toThrow(/not a name/);
  });

  it("a store that does not answer fails one that tries once, with the store's error", async () => {
    const clock = new ManualClock();
    const cut = faulty(memory({ clock }), { clock });
    cut.faults.hang();
    const trying = open({ store: cut, onEvent: () => {} }).tryCampaign();
    const failed = expect(trying).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await clock.advance(20_000);
    await failed;
    cut.faults.heal();
    await clock.advance(1000);
  });
});

it("work does not begin in a permit that is lost before: the loop was blocked when it was granted", async () => {
  const store = fakeStore();
  let blocked = 0;
  const blockOnce = (event: ConclaveEvent): void => {
    if (event.type === "elected" && blocked++ === 0) store.suspend(TTL_MS);
  };
  const workers = open({ store, permits: 1, onEvent: blockOnce });
  const heldAtBegin: boolean[] = [];
  const led = workers.lead(async (permit) => void heldAtBegin.push(permit.isHeld()));
  await store.advance(4 * TTL_MS);
  await led;
  expect(blocked).toBeGreaterThan(1);
  expect(heldAtBegin).toEqual([true]);
});
