// The host when things go wrong: what rejects, what is retried, what is reported, and that nothing vanishes or crashes (laws 9 and 16).
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, elect, requireFenced, type Store } from "conclave";
import { memory } from "conclave/stores/memory";
import { fakeStore, faulty } from "conclave/testing";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", note));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled.splice(0)).toEqual([]);
});

function refusing(store: Store, refusal: { readonly retryable: boolean; readonly times: number }): Store {
  let left = refusal.times;
  const refused = {
    kind: "refused",
    code: "STORE_DENIED",
    message: "wrong password. Set another.",
    retryable: refusal.retryable,
  } as const;
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (key === "keep")
        return (...args: Parameters<Store["keep"]>) => (left-- > 0 ? Promise.resolve(refused) : target.keep(...args));
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("law 9, before the first exchange", () => {
  it("a refusal that trying again cannot help rejects lead, campaign, tryCampaign and withLock", async () => {
    const make = (): ReturnType<typeof createCandidate> =>
      createCandidate({ store: refusing(memory(), { retryable: false, times: Infinity }) as never, ttlMs: 1000 });
    await expect(
      make()
        .election("x")
        .lead(async () => {}),
    ).rejects.toMatchObject({ code: "STORE_DENIED" });
    await expect(make().election("x").campaign()).rejects.toMatchObject({ code: "STORE_DENIED" });
    await expect(make().election("x").tryCampaign()).rejects.toMatchObject({ code: "STORE_DENIED" });
    await expect(make().withLock("x", async () => {})).rejects.toMatchObject({ code: "STORE_DENIED" });
  });

  it("one that asks once behind start(), which goes on trying, is told of the refusal and not that somebody leads", async () => {
    const right = memory();
    const guarantee = { ...right.guarantee, holdsPerSession: 1 };
    const full = new Proxy(right, {
      get(target, key) {
        const value: unknown = key === "guarantee" ? guarantee : Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    for (const [store, code] of [
      [refusing(memory(), { retryable: false, times: Infinity }), "STORE_DENIED"],
      [full, "STORE_FULL"],
    ] as const) {
      const candidate = createCandidate({ store: store as never, ttlMs: 1000, onEvent: () => {} });
      candidate.election("only").start();
      candidate.election("x").start();
      const asked = [candidate.election("x").tryCampaign(), candidate.withLock("x", async () => {}, { waitMs: 0 })];
      for (const each of asked) {
        const hangs = new Promise((resolve) => setTimeout(resolve, 5000, "hangs"));
        expect(await Promise.race([each.catch((error: unknown) => error), hangs])).toMatchObject({ code });
      }
      await candidate.close();
    }
  });

  it("a caller that waits behind in the process is told too, and a later try may succeed", async () => {
    const candidate = createCandidate({
      store: refusing(memory(), { retryable: false, times: 2 }) as never,
      ttlMs: 1000,
    });
    const both = [candidate.withLock("x", async () => 1), candidate.withLock("x", async () => 2)];
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(candidate.withLock("x", async () => 3)).resolves.toBe(3);
    await candidate.close();
  });

  it("one that may pass is retried and reported", async () => {
    const candidate = createCandidate({
      store: refusing(memory(), { retryable: true, times: 2 }) as never,
      ttlMs: 1000,
    });
    const errors: ConclaveEvent[] = [];
    candidate.subscribe((event) => void ((event.type === "error" || event.type === "recovered") && errors.push(event)));
    await expect(candidate.withLock("x", async () => "in")).resolves.toBe("in");
    expect(errors).toMatchObject([{ type: "error" }, { type: "recovered", failures: 2 }]);
    await candidate.close();
  });

  it("start() reports it and does not crash", async () => {
    const candidate = createCandidate({
      store: refusing(memory(), { retryable: false, times: 1 }) as never,
      ttlMs: 1000,
    });
    const codes: string[] = [];
    candidate.subscribe((event) => void (event.type === "error" && codes.push(event.error.code)));
    const election = candidate.election("x");
    election.start();
    await expect.poll(() => codes).toEqual(["STORE_DENIED"]);
    election.start(); // and may be asked again
    await expect.poll(() => election.term()).toBeDefined();
    await candidate.close();
  });
});

describe("law 16, a driver that throws", () => {
  it("counts as unknown, and is survived", async () => {
    const store = fakeStore();
    const network = faulty(store);
    const election = elect("x", { store: network, ttlMs: 10_000 });
    election.start();
    await store.advance(1);
    const term = election.term();
    for (let round = 0; round < 3; round++) network.faults.next("keep", { error: "thrown" });
    await store.advance(20_000);
    expect(term?.isHeld()).toBe(true);
  });

  it("or answers nonsense is not believed", async () => {
    const store = memory();
    const nonsense = new Proxy(store, {
      get(target, key) {
        if (key === "claim")
          return async (claims: { readonly bid: string; readonly name: string }[]) =>
            claims.map(({ name, bid }) => ({ kind: "granted", hold: { name, bid } }));
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const candidate = createCandidate({ store: nonsense, ttlMs: 1000 });
    const messages: string[] = [];
    candidate.subscribe((event) => void (event.type === "error" && messages.push(event.error.message)));
    await expect(candidate.election("x").lead(async () => "never")).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
    });
    expect(messages).toEqual([expect.stringMatching(/granted bid .* without its token/)]);
    await candidate.close();
  });
});

describe("renew", () => {
  it("proves now, rejects with another code when the outcome is unknown, and with TERM_LOST when it is over", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, renewal: "manual", ttlMs: 10_000 });
    const campaign = candidate.election("x").tryCampaign();
    await store.advance(1);
    const term = await campaign;
    if (term === undefined) throw new Error("not elected");
    await store.advance(5_000);
    const before = term.remainingMs();
    const renewed = term.renew();
    await store.advance(1);
    await renewed;
    expect(term.remainingMs()).toBeGreaterThan(before);
    store.dropNextAnswer();
    const lost = term.renew();
    const unknown = expect(lost).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await store.advance(3_000);
    await unknown;
    expect(term.isHeld()).toBe(true);
    await store.advance(20_000);
    await expect(term.renew()).rejects.toMatchObject({ code: "TERM_LOST", reason: "expired" });
  });

  it("rejects with TERM_LOST when the store has named another meanwhile", async () => {
    const store = fakeStore();
    const campaign = createCandidate({ store, renewal: "manual", ttlMs: 10_000 }).election("x").campaign();
    await store.advance(1);
    const term = await campaign;
    store.depose("x");
    const renewed = expect(term.renew()).rejects.toMatchObject({ code: "TERM_LOST", reason: "superseded" });
    await store.advance(10);
    await renewed;
  });

  it("with manual renewal nothing is renewed by itself", async () => {
    const store = fakeStore();
    const campaign = createCandidate({ store, renewal: "manual", ttlMs: 10_000 }).election("x").campaign();
    await store.advance(1);
    const term = await campaign;
    await store.advance(9_000);
    expect(term.state()).toBe("ending");
    await store.advance(2_000);
    expect(term.isHeld()).toBe(false);
  });
});

describe("an unfenced store", () => {
  const unfenced = (): Store<"unfenced"> => {
    const store = memory();
    const guarantee = { ...store.guarantee, fencing: "unfenced" as const };
    return new Proxy(store, {
      get(target, key) {
        if (key === "guarantee") return guarantee;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }) as unknown as Store<"unfenced">;
  };

  it("must be accepted in words, by JavaScript users too", () => {
    expect(() => createCandidate({ store: unfenced() } as never)).toThrow(/cannot fence: .* Pass unfenced: true/);
    expect(() => requireFenced(unfenced() as Store)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
    expect(() => createCandidate({ store: unfenced(), unfenced: true })).not.toThrow();
  });
});

describe("closing", () => {
  it("rejects what waits, waits for what works, resolves twice, and leaves the session ended", async () => {
    const store = memory();
    const candidate = createCandidate({ store, ttlMs: 1000 });
    let finish: () => void = () => {};
    const working = candidate.withLock("x", async (term) => {
      await term.ended;
      await new Promise<void>((resolve) => (finish = resolve));
      return "done";
    });
    const waiting = candidate.withLock("x", async () => "never");
    await expect.poll(async () => (await candidate.election("x").leader())?.id).toBe(candidate.id);
    const refused = expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    const closed = candidate.close();
    await refused;
    expect(
      await Promise.race([
        closed.then(() => "closed"),
        new Promise((resolve) => setTimeout(() => resolve("waits"), 50)),
      ]),
    ).toBe("waits");
    finish();
    await expect(working).resolves.toBe("done");
    await closed;
    await candidate.close();
    expect(() => candidate.election("x")).toThrow(expect.objectContaining({ code: "CLOSED" }));
    await expect(candidate.withLock("x", async () => {})).rejects.toMatchObject({ code: "CLOSED" });
  });
});
