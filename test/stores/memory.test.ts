// The in-memory store: that it keeps the contract in each of its shapes, shares by name, tells whom it should, and costs little.
import type { Bid, Hint, PassesInvitations, Store, Token } from "conclave/stores/contract";
import { memory, type MemoryOptions } from "conclave/stores/memory";
import { ManualClock, storeConformance } from "conclave/testing";
import { describe, expect, it } from "vitest";
import { call, claim, hold, open } from "./moves.ts";

const KINDS: readonly MemoryOptions[] = [
  { shape: "line" },
  { shape: "race", judge: "store" },
  { shape: "race", judge: "taker" },
];

for (const options of KINDS)
  describe.concurrent(`memory as a ${options.shape} judged by the ${options.judge ?? "store"}`, () => {
    for (const { name, run } of storeConformance(async () => memory(options))) it(name, run);
  });

describe.concurrent("memory over compare-and-swap", () => {
  for (const { name, run } of storeConformance(async () => memory("memory:?layout=swap"))) it(name, run);
});

describe("names", () => {
  it("share one store, and no name shares with nobody", async () => {
    const session = await open(memory({ name: "shared" }));
    await hold(memory("memory:shared"), session, "x");
    expect((await look(memory({ name: "shared" }), "x")).state).toBe("held");
    expect((await look(memory(), "x")).state).toBe("vacant");
    expect((await look(memory("memory:"), "x")).state).toBe("vacant");
  });

  it("are told by the url, with what differs from the default", () => {
    expect(memory({ name: "a b/ü", shape: "line" }).url).toBe("memory:a%20b%2F%C3%BC?shape=line");
    expect(memory(memory({ name: "taken", judge: "taker" }).url).guarantee.judge).toBe("taker");
    expect(memory("memory://slashes").url).toBe("memory:slashes");
    expect(memory().url).toBe("memory:");
  });

  it("refuse options that contradict the store of that name, and take it as it is without any", () => {
    memory({ name: "contradicted", shape: "line" });
    expect(memory("memory:contradicted").guarantee.shape).toBe("line");
    expect(() => memory({ name: "contradicted", shape: "race", clock: new ManualClock() })).toThrow(
      /2 problems · it is a line.* · it lives by another clock/,
    );
  });

  it("refuse what is not a setting", () => {
    expect(() => memory("memory:x?shap=line")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(() => memory({ shape: "line", judge: "taker" })).toThrow(/in a line the store judges/);
    expect(() => memory("memory:x?shape=ring")).toThrow(/"ring" is not known/);
    expect(() => memory("memory:%")).toThrow(/%25/);
    expect(() => memory("redis://h")).toThrow(/does not begin with memory:/);
    expect(() => memory({ shap: "line" } as never)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: "memory: 1 problem · shap is not an option; did you mean shape?",
      }),
    );
    expect(() => memory(7 as never)).toThrow(/the options are a number, not an object/);
  });
});

describe("the judge", () => {
  it("ends a silent session at its ttl, not a millisecond earlier", async () => {
    const clock = new ManualClock();
    const store = memory({ clock });
    await hold(store, await open(store, 1000), "x");
    clock.freeze(999);
    expect((await look(store, "x")).state).toBe("held");
    clock.freeze(1);
    expect((await look(store, "x")).state).toBe("vacant");
  });

  it("tells those who wait, by a timer that runs only while somebody watches", async () => {
    const clock = new CountingClock();
    const store = memory({ clock });
    const session = await open(store, 1000);
    await hold(store, session, "x");
    expect(clock.pending).toBe(0);
    const watch = listen(store, [{ name: "x" }]);
    expect(clock.pending).toBe(1);
    await clock.advance(900);
    await store.keep(session, [], call());
    await clock.advance(999);
    expect(watch.heard).toEqual([]);
    await clock.advance(1);
    expect(watch.heard.map(({ name, seat }) => [name, seat?.state])).toEqual([["x", "vacant"]]);
    watch.controller.abort();
    expect(await watch.ended).toBe("ended");
    expect(clock.pending).toBe(0);
  });
});

describe("a watch", () => {
  it("of a line wakes only the entry that became first", async () => {
    const store = memory({ shape: "line" });
    const sessions = [await open(store), await open(store), await open(store)] as const;
    const first = await hold(store, sessions[0], "x");
    const bids = ["b.1", "b.2"] as Bid[];
    for (const [index, bid] of bids.entries()) await claim(store, sessions[index + 1] ?? sessions[1], "x", bid);
    const second = listen(store, [{ name: "x", bid: bids[0], session: sessions[1] }]);
    const third = listen(store, [{ name: "x", bid: bids[1], session: sessions[2] }]);
    const onlooker = listen(store, [{ name: "x" }]);
    await store.release({ session: sessions[0], holds: [first], endSession: false }, call());
    await settle();
    expect([second, third, onlooker].map(({ heard }) => heard.length)).toEqual([1, 0, 1]);
    await store.release({ session: sessions[1], holds: [], endSession: true }, call());
    await settle();
    expect([second, third, onlooker].map(({ heard }) => heard.length)).toEqual([2, 1, 2]);
  });

  it("of a line wakes at once an entry that became first before it watched", async () => {
    const store = memory({ shape: "line" });
    const session = await open(store);
    const { bid } = await hold(store, session, "x");
    const watch = listen(store, [{ name: "x", bid, session }]);
    await settle();
    expect(watch.heard).toHaveLength(1);
  });

  it("of a race wakes the waiters of that name, and not for a keep", async () => {
    const store = memory();
    const session = await open(store);
    const held = await hold(store, session, "x");
    const [a, b, other] = [
      listen(store, [{ name: "x" }]),
      listen(store, [{ name: "x" }]),
      listen(store, [{ name: "y" }]),
    ];
    await store.keep(session, [held], call());
    await settle();
    expect([a, b, other].map(({ heard }) => heard.length)).toEqual([0, 0, 0]);
    await store.release({ session, holds: [held], endSession: false }, call());
    await settle();
    expect([a, b, other].map(({ heard }) => heard.length)).toEqual([1, 1, 0]);
  });

  it("hears of every seat of a session that a taker ended", async () => {
    const store = memory({ judge: "taker" });
    const [silent, taker] = [await open(store), await open(store)];
    await hold(store, silent, "taken");
    await hold(store, silent, "freed");
    const watch = listen(store, [{ name: "taken" }, { name: "freed" }]);
    await hold(store, taker, "taken");
    await settle();
    expect(watch.heard.map(({ name, seat }) => [name, seat?.state])).toEqual([
      ["taken", "held"],
      ["freed", "vacant"],
    ]);
  });

  it("keeps one hint a name for a slow reader, the latest", async () => {
    const store = memory();
    const session = await open(store);
    const iterator = store.watch([{ name: "x" }], call())[Symbol.asyncIterator]();
    for (let round = 0; round < 100; round++) {
      const held = await hold(store, session, "x");
      await store.release({ session, holds: [held], endSession: false }, call());
    }
    expect((await iterator.next()).value?.seat.state).toBe("vacant");
    const next = iterator.next();
    await iterator.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("ends when the store is closed, which can be used again", async () => {
    const store = memory();
    const watch = listen(store, [{ name: "x" }]);
    await store.close();
    expect(await watch.ended).toBe("ended");
    await hold(store, await open(store), "x");
  });
});

for (const options of KINDS)
  it(`keeps ten thousand holds of one session in little time: ${options.shape}, ${options.judge ?? "store"}`, async () => {
    const store = memory(options);
    const session = await open(store);
    const names = Array.from({ length: 10_000 }, (_, index) => `name-${index}`);
    const looked = await store.look(
      names.map((name) => ({ name })),
      call(),
    );
    const seats = looked.kind === "seen" ? looked.seats : [];
    const claimed = await store.claim(
      names.map((name, index) => ({ session, name, bid: `b.${index}` as Bid, over: seats[index]?.version, value: "" })),
      call(),
    );
    const holds = claimed.flatMap((answer) => (answer.kind === "granted" ? [answer.hold] : []));
    expect(holds).toHaveLength(10_000);
    const spentMs: number[] = [];
    for (let round = 0; round < 20; round++) {
      const startedAt = performance.now();
      expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], strays: [] });
      spentMs.push(performance.now() - startedAt);
    }
    // The quickest: the others may have waited for a processor.
    expect(Math.min(...spentMs)).toBeLessThan(50);
  });

// ---- helpers ----

class CountingClock extends ManualClock {
  pending = 0;

  override timer(afterMs: number, wake: () => void): { cancel(): void } {
    this.pending++;
    let open = true;
    const close = (): void => {
      if (open) this.pending--;
      open = false;
    };
    const timer = super.timer(afterMs, () => {
      close();
      wake();
    });
    return {
      cancel: () => {
        close();
        timer.cancel();
      },
    };
  }
}

async function look(store: Store, name: string): Promise<{ readonly state: string }> {
  const looked = await store.look([{ name }], call());
  return looked.kind === "seen" ? (looked.seats[0] ?? { state: "none" }) : { state: looked.kind };
}

function listen(
  store: Store,
  questions: Parameters<Store["watch"]>[0],
): { readonly heard: Hint[]; readonly ended: Promise<string>; readonly controller: AbortController } {
  const controller = new AbortController();
  const heard: Hint[] = [];
  const hints = store.watch(questions, { signal: controller.signal, sentAtMs: 0 });
  const read = async (): Promise<string> => {
    for await (const hint of hints) heard.push(hint);
    return "ended";
  };
  return { heard, ended: read(), controller };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

it("tells a slow reader of the seat and of an invitation: the one does not take the place of the other", async () => {
  const store = memory() as unknown as Store & PassesInvitations;
  const session = await open(store);
  const held = await hold(store, session, "x");
  const hints = store.watch([{ name: "x" }], call())[Symbol.asyncIterator]();
  const invitation = { token: held.token as Token, to: "b" };
  await store.release({ session, holds: [held], endSession: false }, call());
  await store.invite("x", invitation, call());
  expect(await hints.next()).toMatchObject({ value: { name: "x", seat: { state: "vacant" } } });
  expect(await hints.next()).toMatchObject({ value: { name: "x", invited: invitation } });
});
