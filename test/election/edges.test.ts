// What a hostile reading of the host found once, each as a claim that it stays mended.
import { describe, expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, elect, type Store } from "conclave";
import { memory } from "conclave/stores/memory";
import { fakeStore, faulty } from "conclave/testing";

/** `store`, with some methods replaced. */
function altered<S extends Store>(store: S, methods: Partial<Record<keyof Store, unknown>>): S {
  return new Proxy(store, {
    get(target, key) {
      if (Object.hasOwn(methods, key)) return methods[key as keyof Store];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("a term that is over", () => {
  it("cannot resign the next one", async () => {
    const store = fakeStore();
    const election = elect("x", { store, ttlMs: 10_000 });
    election.start();
    await store.advance(1);
    const first = election.term();
    store.depose("x");
    await store.advance(30_000);
    const second = election.term();
    expect(second?.token.value).toBeGreaterThan(first?.token.value ?? 0n);
    await first?.resign();
    await store.advance(1_000);
    expect(second?.isLeading()).toBe(true);
  });

  it("hears it from an announcement too", async () => {
    const store = fakeStore();
    const network = faulty(store);
    const campaign = elect("x", { store: network, ttlMs: 10_000 }).campaign();
    await store.advance(1);
    const term = await campaign;
    network.faults.hang(); // no hint comes through
    store.depose("x");
    await store.advance(1);
    network.faults.heal();
    const announced = expect(term.announce("here")).rejects.toMatchObject({ code: "TERM_LOST", reason: "superseded" });
    await store.advance(1);
    await announced;
    expect(term.isHeld()).toBe(false);
  });
});

describe("work", () => {
  it("is not begun for a term that was lost while another's work blocked the loop", async () => {
    const candidate = createCandidate({ store: memory(), ttlMs: 300, drainMs: 50 });
    const begun: string[] = [];
    const heldAtBegin: boolean[] = [];
    const stop = new AbortController();
    const leads = ["a", "b", "c"].map((name) =>
      candidate.election(name).lead(
        async (term) => {
          heldAtBegin.push(term.isHeld());
          begun.push(name);
          const until = performance.now() + (begun.length === 1 ? 400 : 0);
          while (performance.now() < until);
          if (begun.length > 1) stop.abort();
          await term.ended;
        },
        { signal: stop.signal },
      ),
    );
    await Promise.all(leads);
    await candidate.close();
    expect(begun.length).toBeGreaterThan(1);
    expect(heldAtBegin.every(Boolean)).toBe(true);
  });

  it("under a lock that was lost is not reported as done, also after it was told to stop", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    let finish: () => void = () => {};
    const locked = candidate.withLock("x", async (term) => {
      await term.resign();
      await new Promise<void>((resolve) => (finish = resolve));
      return "written";
    });
    const refused = expect(locked).rejects.toMatchObject({ code: "TERM_LOST" });
    await store.advance(1);
    store.hang();
    await store.advance(20_000);
    finish();
    store.heal();
    await store.advance(1_000);
    await refused;
  });
});

describe("renew and announce", () => {
  it("settle when the term ends before they are answered", async () => {
    const store = fakeStore();
    const campaign = elect("x", { store, ttlMs: 10_000 }).campaign();
    await store.advance(1);
    const term = await campaign;
    store.hang();
    const both = Promise.allSettled([term.renew(), term.announce("here")]);
    const resigned = term.resign();
    await store.advance(5_000);
    store.heal();
    await store.advance(20_000);
    await resigned;
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

describe("a store that goes on ending sessions", () => {
  it("is not asked without pause", async () => {
    let calls = 0;
    const store = altered(memory(), {
      claim: (claims: readonly unknown[]) => {
        calls++;
        return Promise.resolve(claims.map(() => ({ kind: "session-lost" })));
      },
    });
    const candidate = createCandidate({ store, ttlMs: 2_000 });
    candidate.election("x").start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(calls).toBeLessThan(30);
    expect(calls).toBeGreaterThan(2);
    await candidate.close();
  });
});

describe("answers that are none", () => {
  const ANSWERS: readonly (readonly [keyof Store, unknown])[] = [
    ["claim", [undefined]],
    ["claim", [{ kind: "granted" }]],
    ["claim", [{ kind: "waiting", hold: {}, ahead: 1 }]],
    ["claim", "granted"],
    ["claim", [{ kind: "perhaps" }]],
    ["look", { kind: "seen" }],
    ["look", { kind: "seen", seats: [{ ttlMs: Number.NaN }] }],
    ["look", 10n],
    ["keep", { kind: "kept", session: { id: "s" } }],
    ["keep", { kind: "kept", session: { id: "s", ttlMs: Number.NaN }, lost: [], unsure: [], strays: [] }],
    ["keep", undefined],
  ];

  it.each(ANSWERS)(
    "%s answering %o elects nobody, is reported, and does not stall the candidate",
    async (method, answer) => {
      let broken = true;
      const right = memory();
      const holder = createCandidate({ store: right, ttlMs: 1_000 });
      if (method === "look") await holder.election("x").campaign(); // nobody looks at what is free
      const store = altered(right, {
        [method]: (...args: never[]) =>
          broken ? Promise.resolve(answer) : (right[method] as (...each: never[]) => unknown)(...args),
      });
      const candidate = createCandidate({ store, ttlMs: 1_000 });
      const events: ConclaveEvent[] = [];
      candidate.subscribe((event) => events.push(event));
      const leading = candidate.election("x").lead(async () => "led");
      const outcome = leading.catch((error: unknown) => error);
      await expect.poll(() => events.some(({ type }) => type === "error")).toBe(true);
      expect(events.some(({ type }) => type === "elected")).toBe(false);
      broken = false;
      await holder.close();
      const settled = await outcome;
      if (settled !== "led") expect(settled).toMatchObject({ code: "STORE_UNSUPPORTED" });
      await candidate.close();
    },
  );
});

describe("a name that the store refuses for good", () => {
  it("rejects, although the session is fine and other names lead", async () => {
    const right = memory();
    const foreign = { kind: "refused", code: "STORE_FOREIGN_DATA", message: "not ours", retryable: false } as const;
    const store = altered(right, {
      claim: (claims: readonly { readonly name: string }[], call: never) =>
        claims.some(({ name }) => name === "foreign")
          ? Promise.resolve(claims.map(() => foreign))
          : right.claim(claims as never, call),
    });
    const candidate = createCandidate({ store, ttlMs: 2_000 });
    const term = await candidate.election("ours").campaign();
    await expect(candidate.election("foreign").lead(async () => {})).rejects.toMatchObject({
      code: "STORE_FOREIGN_DATA",
    });
    await expect(candidate.election("foreign").tryCampaign()).rejects.toMatchObject({ code: "STORE_FOREIGN_DATA" });
    expect(term.isLeading()).toBe(true);
    await term.resign();
    await candidate.close();
  });
});

describe("askers of one name", () => {
  it("are not withdrawn by one that failed before them", async () => {
    let refusals = 1;
    const right = memory();
    const denied = { kind: "refused", code: "STORE_DENIED", message: "no", retryable: false } as const;
    const store = altered(right, {
      keep: (...args: Parameters<Store["keep"]>) => (refusals-- > 0 ? Promise.resolve(denied) : right.keep(...args)),
    });
    const candidate = createCandidate({ store, ttlMs: 2_000 });
    const stop = new AbortController();
    const first = candidate.withLock("x", async () => 1, { signal: stop.signal }).catch(() => stop.abort());
    const second = candidate.withLock("x", async () => 2);
    await first;
    await expect(second).resolves.toBe(2);
    await candidate.close();
  });
});

describe("events", () => {
  it("come in the order in which things happened", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const types: string[] = [];
    candidate.subscribe((event) => types.push(event.type === "state" ? event.state : event.type));
    candidate.election("x").start();
    await store.advance(1);
    store.depose("x");
    await store.advance(10);
    const order = ["standing", "session", "elected", "ending", "lost", "settled", "standing"];
    expect(types.filter((type) => order.includes(type)).slice(0, order.length)).toEqual(order);
  });
});

describe("elect", () => {
  it("leaves nothing open when its lead has ended, and may be asked again", async () => {
    let closes = 0;
    const right = memory();
    const store = altered(right, { close: () => Promise.resolve(void closes++) });
    const election = elect("x", { store, ttlMs: 2_000 });
    const first = await election.lead(async (term) => term.token);
    await expect.poll(() => closes).toBe(1);
    const second = await election.lead(async (term) => term.token);
    expect(second?.value).toBeGreaterThan(first?.value ?? 0n);
    expect(second?.bid).not.toBe(first?.bid);
    await expect.poll(() => closes).toBe(2);
    await election.close();
    expect(closes).toBe(2);
  });

  it("waits in close() for the session that its lead has left, because the caller may end the store's client next", async () => {
    let answer: (() => void) | undefined;
    const right = memory();
    const store = altered(right, {
      release: async (...[will, call]: Parameters<Store["release"]>) => {
        if (will.endSession) await new Promise<void>((resolve) => (answer = resolve));
        return right.release(will, call);
      },
    });
    const election = elect("x", { store, ttlMs: 60_000 });
    await election.lead(async () => {});
    await expect.poll(() => answer).toBeDefined();
    let closed = false;
    const closing = election.close().then(() => (closed = true));
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    answer?.();
    await closing;
  });

  it("closed by a listener of its signal closes once, in order", async () => {
    const candidate = createCandidate({ store: memory(), ttlMs: 1_000, drainMs: 50 });
    const election = candidate.election("x");
    await election.campaign().then((term) => term.signal.addEventListener("abort", () => void candidate.close()));
    await candidate.close();
    await expect(election.lead(async () => {})).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("observe", () => {
  it("ends at once for a reader that leaves while the store hangs", async () => {
    const store = fakeStore();
    store.hang();
    const leaders = elect("x", { store, ttlMs: 60_000 }).observe()[Symbol.asyncIterator]();
    const waiting = leaders.next();
    await leaders.return?.();
    await expect(waiting).resolves.toMatchObject({ done: true });
  });

  it("reports once that the store cannot be read, goes on, and reports it again only after a look that succeeded", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const errors: string[] = [];
    candidate.subscribe((event) => event.type === "error" && errors.push(`${event.election} ${event.error.code}`));
    const stop = new AbortController();
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const leader of candidate.election("x").observe({ signal: stop.signal })) seen.push(leader);
    })();
    for (let outage = 1; outage <= 2; outage++) {
      store.hang();
      await store.advance(60_000);
      expect(errors).toHaveLength(outage);
      store.heal();
      await store.advance(60_000);
    }
    expect(errors).toEqual(["x STORE_TIMEOUT", "x STORE_TIMEOUT"]);
    expect(seen).toEqual([undefined]);
    stop.abort();
    await watching;
  });
});

describe("signals", () => {
  it("may be shared by a thousand elections without a warning, and are left as they were found", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void =>
      void (warning.name === "MaxListenersExceededWarning" && warnings.push(warning));
    process.on("warning", note);
    const candidate = createCandidate({ store: memory(), ttlMs: 2_000 });
    const stop = new AbortController();
    const leads = Array.from({ length: 1_000 }, (_, index) =>
      candidate.election(`tenant/${index}`).lead((term) => term.ended, { signal: stop.signal }),
    );
    await expect.poll(() => candidate.election("tenant/999").term()).toBeDefined();
    stop.abort();
    await Promise.all(leads);
    await candidate.close();
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });
});

describe("misuse that only JavaScript allows", () => {
  it("gets a coded error that says what to pass", async () => {
    const candidate = createCandidate({ store: memory(), ttlMs: 2_000 });
    const invalid = { code: "CONFIG_INVALID" };
    await expect(candidate.election("x").lead(undefined as never)).rejects.toMatchObject(invalid);
    await expect(candidate.election("x").lead(async () => {}, new AbortController().signal as never)).rejects.toThrow(
      /pass \{ signal \}/,
    );
    await expect(candidate.withLock("x", async () => {}, { waitMs: "5s" as never })).rejects.toMatchObject(invalid);
    await expect(candidate.withLock("x", undefined as never)).rejects.toMatchObject(invalid);
    expect(() => candidate.election(10n as never)).toThrow(expect.objectContaining(invalid));
    expect(() => createCandidate(undefined as never)).toThrow(expect.objectContaining(invalid));
    expect(() => createCandidate({ store: "memory:" } as never)).toThrow(/openStore/);
    expect(() => createCandidate({ store: memory(), id: 10n as never })).toThrow(expect.objectContaining(invalid));
    await candidate.close();
  });

  it("waitMs 0 takes a free lock and fails at once on one that is not", async () => {
    const store = memory();
    const one = createCandidate({ store, ttlMs: 2_000 });
    const two = createCandidate({ store, ttlMs: 2_000 });
    await expect(one.withLock("x", async () => "free", { waitMs: 0 })).resolves.toBe("free");
    await one.withLock("x", async () => {
      await expect(two.withLock("x", async () => "in", { waitMs: 0 })).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
      await expect(one.withLock("x", async () => "in", { waitMs: 0 })).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
    });
    await Promise.all([one.close(), two.close()]);
  });

  it("an onOverstay that throws, or rejects, harms nobody", async () => {
    const failing: readonly ((election: string) => unknown)[] = [
      () => {
        throw new Error("thrown");
      },
      () => Promise.reject(new Error("rejected")),
    ];
    for (const fail of failing) {
      const store = fakeStore();
      const candidate = createCandidate({ store, ttlMs: 10_000, onOverstay: fail });
      void candidate.election("x").lead(() => new Promise<void>(() => {}));
      await store.advance(1);
      store.hang();
      await store.advance(20_000);
      expect(candidate.election("x").term()).toBeUndefined();
    }
  });
});

describe("an election that rests between two calls", () => {
  it("begins anew as another candidate: no bid is used twice", async () => {
    const store = memory();
    const nonces: string[] = [];
    const keep: Store["keep"] = (session, holds, call, wish) => {
      if ("nonce" in session) nonces.push(session.nonce);
      return store.keep(session, holds, call, wish);
    };
    const election = elect("x", { store: altered(store, { keep }), ttlMs: 5000 });
    const led = async (): Promise<readonly string[]> =>
      (await election.lead(async (term) => [term.candidate, term.token.bid])) ?? [];
    const [first, second] = [await led(), await led()];
    expect(new Set([...first, ...second]).size).toBe(4);
    expect(new Set(nonces).size).toBe(2);
    await election.close();
  });

  it("gives its store back, which is closed when nobody uses it any more", async () => {
    const store = memory();
    let closed = 0;
    const shared = altered(store, { close: () => (closed++, store.close()) });
    const [one, other] = [elect("one", { store: shared }), elect("other", { store: shared })];
    const term = await other.campaign();
    await one.lead(async () => {});
    await one.close();
    expect(closed).toBe(0);
    expect(term.isHeld()).toBe(true);
    await other.close({ drainMs: 0 });
    expect(closed).toBe(1);
  });
});
