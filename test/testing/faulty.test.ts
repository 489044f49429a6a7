// Each fault does what it says: to the request, to the caller and to the store behind.
import { memory } from "conclave/stores/memory";
import { type StoreFault, faulty, type FaultyStore, ManualClock } from "conclave/testing";
import { describe, expect, it } from "vitest";
import type { Session, Store } from "conclave/stores/contract";
import { call, claim, hold, open } from "../stores/moves.ts";

const NAME = "x";

/** A store and what stands behind it, with a session of each of two candidates. */
async function stage(clock?: ManualClock): Promise<{
  readonly store: FaultyStore<"fenced">;
  readonly behind: Store;
  readonly session: Session;
  readonly rival: Session;
}> {
  const behind = memory();
  const store = faulty(behind, { clock });
  return { store, behind, session: await open(behind), rival: await open(behind) };
}

async function stateOf(store: Store): Promise<string> {
  const looked = await store.look([{ name: NAME }], call());
  return looked.kind === "seen" ? (looked.seats[0]?.state ?? "none") : looked.kind;
}

/** Whether it has settled, once every promise job has. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const mark = (): void => void (settled = true);
  promise.then(mark, mark);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe("a fault that is asked for", () => {
  it("meets the next request of its method, once, and is noted", async () => {
    const { store, session } = await stage();
    store.faults.next("claim", { error: "refused" });
    expect((await store.look([{ name: NAME }], call())).kind).toBe("seen");
    expect((await claim(store, session, NAME)).kind).toBe("refused");
    expect((await claim(store, session, NAME)).kind).toBe("granted");
    expect(store.faults.injected).toEqual([{ method: "claim", fault: { error: "refused" } }]);
  });

  it("can be given beforehand, for any method", async () => {
    const store = faulty(memory(), { next: [{ method: "any", fault: { error: "refused" } }] });
    expect((await store.look([], call())).kind).toBe("refused");
    expect((await store.look([], call())).kind).toBe("seen");
  });
});

describe("delayMs", () => {
  it("keeps a request from the store for so long", async () => {
    const clock = new ManualClock();
    const { store, behind, session } = await stage(clock);
    store.faults.next("claim", { delayMs: 100 });
    const claimed = claim(store, session, NAME);
    await clock.advance(99);
    expect([await isSettled(claimed), await stateOf(behind)]).toEqual([false, "vacant"]);
    await clock.advance(1);
    expect([(await claimed).kind, await stateOf(behind)]).toEqual(["granted", "held"]);
  });

  it("does not keep the caller, who is told unknown when it gives up; the request goes on", async () => {
    const clock = new ManualClock();
    const { store, behind, session } = await stage(clock);
    store.faults.next("claim", { delayMs: 100 });
    const caller = new AbortController();
    const claimed = claim(store, session, NAME, undefined, caller.signal);
    await clock.advance(50);
    caller.abort();
    expect((await claimed).kind).toBe("unknown");
    await clock.advance(50);
    expect(await stateOf(behind)).toBe("held");
  });
});

describe("hang", () => {
  it("neither reaches the store nor is answered, until the caller gives up", async () => {
    const { store, behind, session } = await stage();
    store.faults.next("claim", { hang: true });
    const caller = new AbortController();
    const claimed = claim(store, session, NAME, undefined, caller.signal);
    expect([await isSettled(claimed), await stateOf(behind)]).toEqual([false, "vacant"]);
    caller.abort();
    expect((await claimed).kind).toBe("unknown");
    expect(await stateOf(behind)).toBe("vacant");
  });

  it("of the whole store lasts until heal, which tells unknown to those who still wait; no hint comes through", async () => {
    const { store, behind, session } = await stage();
    const watch = store.watch([{ name: NAME }], call())[Symbol.asyncIterator]();
    const hint = watch.next();
    store.faults.hang();
    const kept = store.keep(session, [], call());
    const looked = store.look([{ name: NAME }], call());
    const held = await hold(behind, session, NAME);
    expect([await isSettled(kept), await isSettled(looked), await isSettled(hint)]).toEqual([false, false, false]);
    store.faults.heal();
    expect([(await kept).kind, (await looked).kind]).toEqual(["unknown", "unknown"]);
    expect((await store.keep(session, [], call())).kind).toBe("kept");
    await behind.release({ session, holds: [held], endSession: false }, call());
    expect((await hint).value).toMatchObject({ name: NAME, seat: { state: "vacant" } });
    await watch.return?.();
  });
});

describe("answerAfterMs", () => {
  it("applies the request at once and answers it later", async () => {
    const clock = new ManualClock();
    const { store, behind, session } = await stage(clock);
    store.faults.next("claim", { answerAfterMs: 40 });
    const claimed = claim(store, session, NAME);
    expect([await isSettled(claimed), await stateOf(behind)]).toEqual([false, "held"]);
    await clock.advance(39);
    expect(await isSettled(claimed)).toBe(false);
    await clock.advance(1);
    expect((await claimed)?.kind).toBe("granted");
  });
});

describe("dropAnswer", () => {
  it("applies the request and never answers it", async () => {
    const { store, behind, session } = await stage();
    store.faults.next("claim", { dropAnswer: true });
    const caller = new AbortController();
    const claimed = claim(store, session, NAME, undefined, caller.signal);
    expect([await isSettled(claimed), await stateOf(behind)]).toEqual([false, "held"]);
    caller.abort(new Error("gave up"));
    expect(await claimed).toMatchObject({ kind: "unknown", cause: { message: "gave up" } });
  });
});

describe("error", () => {
  it.each(["refused", "thrown"] as const)("%s: before anything is applied", async (error) => {
    const { store, behind, session } = await stage();
    store.faults.next("claim", { error });
    const claimed = claim(store, session, NAME);
    if (error === "thrown") await expect(claimed).rejects.toThrow(/asked for a driver that throws/);
    else expect(await claimed).toMatchObject({ kind: "refused", code: "STORE_UNREACHABLE", retryable: true });
    expect(await stateOf(behind)).toBe("vacant");
  });
});

describe("reorder", () => {
  it("applies and answers a request only after the next one was applied", async () => {
    const { store, behind, session, rival } = await stage();
    const before = await behind.look([{ name: NAME }], call());
    const over = before.kind === "seen" ? before.seats[0]?.version : undefined;
    const send = (by: Session, bid: string): Promise<readonly { readonly kind: string }[]> =>
      store.claim([{ session: by, name: NAME, bid: bid as never, over, value: "" }], call());
    store.faults.next("claim", { reorder: true });
    const [earlier, later] = [send(session, "b.1"), send(rival, "b.2")];
    expect((await later)[0]?.kind).toBe("granted");
    expect((await earlier)[0]?.kind).toBe("beaten");
  });
});

describe("late", () => {
  it("applies a request after its caller gave up and after a later request", async () => {
    const { store, behind, session } = await stage();
    const held = await hold(behind, session, NAME);
    store.faults.next("release", { late: true });
    const caller = new AbortController();
    const released = store.release({ session, holds: [held], endSession: false }, call(caller.signal));
    expect((await store.keep(session, [held], call())).kind).toBe("kept");
    expect([await isSettled(released), await stateOf(behind)]).toEqual([false, "held"]);
    caller.abort();
    expect((await released).kind).toBe("unknown");
    expect(await stateOf(behind)).toBe("held");
    await store.keep(session, [held], call());
    await isSettled(released);
    expect(await stateOf(behind)).toBe("vacant");
  });
});

describe("stale", () => {
  it("shows what was seen so many looks ago", async () => {
    const { store, session } = await stage();
    expect(await stateOf(store)).toBe("vacant");
    const held = await hold(store, session, NAME);
    expect(await stateOf(store)).toBe("held");
    await store.release({ session, holds: [held], endSession: false }, call());
    store.faults.next("look", { stale: 1 });
    expect(await stateOf(store)).toBe("held");
    expect(await stateOf(store)).toBe("vacant");
  });

  it("shows the truth where nothing was seen before", async () => {
    const { store, session, behind } = await stage();
    await hold(behind, session, NAME);
    store.faults.next("look", { stale: 3 });
    expect(await stateOf(store)).toBe("held");
  });
});

describe("chance", () => {
  const KINDS = ["delayMs", "answerAfterMs", "error", "dropAnswer", "hang", "reorder", "late", "stale"] as const;

  async function run(seed: number): Promise<readonly { readonly method: string; readonly fault: StoreFault }[]> {
    const clock = new ManualClock();
    const behind = memory({ clock });
    const store = faulty(behind, { clock, random: { seed, chance: 0.5 } });
    const session = await open(behind);
    for (let round = 0; round < 100; round++) {
      const caller = new AbortController();
      const answers = [store.keep(session, [], call(caller.signal)), store.look([{ name: NAME }], call(caller.signal))];
      for (const answer of answers) answer.catch(() => "thrown on request");
      await clock.advance(10);
      caller.abort();
    }
    return store.faults.injected;
  }

  it("is drawn from the seed alone, and meets every kind of fault", async () => {
    const faults = await run(7);
    expect(await run(7)).toEqual(faults);
    expect(await run(8)).not.toEqual(faults);
    expect(faults.length).toBeGreaterThan(70);
    expect(faults.length).toBeLessThan(130);
    expect(new Set(faults.flatMap(({ fault }) => Object.keys(fault)))).toEqual(new Set(KINDS));
    expect(faults.some(({ method, fault }) => method !== "look" && "stale" in fault)).toBe(false);
  });

  it("ends with heal", async () => {
    const store = faulty(memory(), { random: { seed: 1, chance: 1, kinds: ["error"] } });
    await store.look([], call()).catch(() => "thrown");
    store.faults.heal();
    expect((await store.look([], call())).kind).toBe("seen");
    expect(store.faults.injected).toHaveLength(1);
  });
});
