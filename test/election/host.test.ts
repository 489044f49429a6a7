// The host on a real clock and memory:, as a user meets it.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it } from "vitest";
import {
  type Candidate,
  ConclaveError,
  type ConclaveEvent,
  createCandidate,
  elect,
  type Term,
  TermLostError,
} from "conclave";
import { memory } from "conclave/stores/memory";

const SHAPES = [{ shape: "race" }, { shape: "race", judge: "taker" }, { shape: "line" }] as const;

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close()));
});
function closedLater<C extends { close(): Promise<void> }>(one: C): C {
  closing.push(one);
  return one;
}

describe.each(SHAPES)("on memory: %o", (options) => {
  it("leads on exactly one of several candidates, and the next takes over when it resigns", async () => {
    const store = memory(options);
    const candidates = ["a", "b", "c"].map((id) => closedLater(createCandidate({ store, id, ttlMs: 2000 })));
    const story: string[] = [];
    let inside = 0;
    await Promise.all(
      candidates.map((candidate) =>
        candidate.election("x").lead(async (term) => {
          inside++;
          expect(inside).toBe(1);
          story.push(String(term.token.value));
          await new Promise((resolve) => setTimeout(resolve, 20));
          inside--;
        }),
      ),
    );
    expect(story).toHaveLength(3);
    expect(story.map(Number)).toEqual(story.map(Number).toSorted((a, b) => a - b));
  });

  it("resolves lead with the work's value, rejects with its error", async () => {
    const candidate = closedLater(createCandidate({ store: memory(options), ttlMs: 2000 }));
    await expect(candidate.election("x").lead(async () => 42)).resolves.toBe(42);
    const boom = new Error("boom");
    await expect(candidate.election("x").lead(() => Promise.reject(boom))).rejects.toBe(boom);
    await expect(candidate.election("x").leader()).resolves.toBeUndefined();
  });

  it("gives tokens that grow from term to term", async () => {
    const candidate = closedLater(createCandidate({ store: memory(options), ttlMs: 2000 }));
    const tokens: bigint[] = [];
    for (let round = 0; round < 3; round++)
      await candidate.withLock("x", async (term) => void tokens.push(term.token.value));
    expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0n))).toBe(true);
  });
});

describe("lead", () => {
  it("resolves undefined when told to stop, after the work has settled and the store was told", async () => {
    const store = memory();
    const election = closedLater(elect("x", { store, ttlMs: 2000 }));
    const stop = new AbortController();
    let settled = false;
    const leading = election.lead(
      async (term) => {
        stop.abort();
        await term.ended;
        await new Promise((resolve) => setTimeout(resolve, 30));
        expect((await election.leader())?.id).toBe(term.candidate);
        settled = true;
      },
      { signal: stop.signal },
    );
    await expect(leading).resolves.toBeUndefined();
    expect(settled).toBe(true);
    await expect(election.leader()).resolves.toBeUndefined();
  });

  it("does nothing when the signal has aborted before, and rejects after close", async () => {
    const election = elect("x", { store: memory(), ttlMs: 2000 });
    await expect(election.lead(async () => 1, { signal: AbortSignal.abort() })).resolves.toBeUndefined();
    await election.close();
    await expect(election.lead(async () => 1)).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("a synchronous throw of the work is a rejection like any other", async () => {
    const election = closedLater(elect("x", { store: memory(), ttlMs: 2000 }));
    await expect(
      election.lead(() => {
        throw new Error("sync");
      }),
    ).rejects.toThrow("sync");
  });
});

describe("start and term", () => {
  it("keeps what it wins until close, which aborts the signal, waits the drain and then releases", async () => {
    const store = memory();
    const first = elect("x", { store, id: "first", ttlMs: 1000, drainMs: 100 });
    const second = closedLater(elect("x", { store, id: "second", ttlMs: 1000, drainMs: 100 }));
    first.start();
    second.start();
    await expect.poll(() => first.term() ?? second.term()).toBeDefined();
    const [leader, other] = first.term() ? [first, second] : [second, first];
    const term = leader.term() as Term;
    closedLater(other);
    const closed = leader.close();
    expect(term.signal.aborted).toBe(true);
    expect(leader.term()).toBeUndefined();
    expect(term.isHeld()).toBe(true);
    await closed;
    expect(term.isHeld()).toBe(false);
    await expect.poll(() => other.term()?.token.value).toBe(term.token.value + 1n);
  });
});

describe("campaign", () => {
  it("gives a term that its caller ends", async () => {
    const store = memory();
    const one = closedLater(elect("x", { store, ttlMs: 2000 }));
    const two = closedLater(elect("x", { store, ttlMs: 2000 }));
    const term = await one.campaign();
    expect(await two.tryCampaign()).toBeUndefined();
    await term.resign();
    expect(term.isHeld()).toBe(false);
    expect(term.signal.reason).toBeInstanceOf(TermLostError);
    await expect(term.ended).resolves.toBe("resigned");
    const next = await two.campaign();
    expect(next.token.value).toBeGreaterThan(term.token.value);
    await next.resign();
    await next.resign();
  });

  it("rejects with the reason of its signal, and with CLOSED when closed", async () => {
    const store = memory();
    const one = closedLater(elect("x", { store, ttlMs: 2000 }));
    await one.campaign();
    const two = elect("x", { store, ttlMs: 2000 });
    const why = new Error("enough");
    const stop = new AbortController();
    const waiting = two.campaign({ signal: stop.signal });
    stop.abort(why);
    await expect(waiting).rejects.toBe(why);
    const again = two.campaign();
    const closed = two.close();
    await expect(again).rejects.toMatchObject({ code: "CLOSED" });
    await closed;
  });

  it("ends with the block that holds it", async () => {
    const store = memory();
    {
      await using election = elect("x", { store, ttlMs: 2000 });
      await using term = await election.campaign();
      expect(term.isHeld()).toBe(true);
    }
    const next = closedLater(elect("x", { store, ttlMs: 2000 }));
    expect(await next.tryCampaign()).toBeDefined();
  });
});

describe("withLock, and law 11: one asker of a name at a time", () => {
  it("never lets two of one process in together, whatever their order", async () => {
    const candidate = closedLater(createCandidate({ store: memory(), ttlMs: 2000 }));
    let inside = 0;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        candidate.withLock("x", async () => {
          expect(++inside).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          inside--;
          return index;
        }),
      ),
    );
    expect(results).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it("rejects LOCK_TIMEOUT when the lock is not free in time, and leaves no trace", async () => {
    const store = memory();
    const one = closedLater(createCandidate({ store, ttlMs: 2000 }));
    const two = closedLater(createCandidate({ store, ttlMs: 2000 }));
    let release: () => void = () => {};
    const holding = one.withLock("x", () => new Promise<void>((resolve) => (release = resolve)));
    await expect.poll(async () => (await one.election("x").leader())?.id).toBe(one.id);
    await expect(two.withLock("x", async () => 1, { waitMs: 50 })).rejects.toMatchObject({
      code: "LOCK_TIMEOUT",
      retryable: true,
    });
    release();
    await holding;
    await expect(two.withLock("x", async () => 2, { waitMs: 1000 })).resolves.toBe(2);
  });
});

describe("observe", () => {
  it("shows the present leader first, then each change, with what it announced", async () => {
    const store = memory();
    const candidate = closedLater(createCandidate({ store, id: "web", ttlMs: 2000 }));
    const election = candidate.election("x");
    const stop = new AbortController();
    const seen: (string | undefined)[] = [];
    const watching = (async () => {
      for await (const leader of election.observe({ signal: stop.signal }))
        seen.push(leader && (leader.value ?? leader.id));
    })();
    await expect.poll(() => seen).toEqual([undefined]);
    await election.lead(async (term) => {
      await expect.poll(() => seen.at(-1)).toBe(candidate.id);
      await term.announce("http://127.0.0.1:3000");
      await expect.poll(() => seen.at(-1)).toBe("http://127.0.0.1:3000");
    });
    await expect.poll(() => seen.at(-1)).toBeUndefined();
    stop.abort();
    await watching;
  });
});

describe("events", () => {
  it("are one stream for listeners and diagnostics_channel alike, and a listener that throws does no harm", async () => {
    const candidate = closedLater(createCandidate({ store: memory(), ttlMs: 2000 }));
    const heard: ConclaveEvent[] = [];
    const published: unknown[] = [];
    const listen = (message: unknown): void => void published.push((message as { event: ConclaveEvent }).event);
    subscribe("conclave", listen);
    candidate.subscribe(() => {
      throw new Error("a listener's own affair");
    });
    const stop = candidate.subscribe((event) => void heard.push(event));
    await candidate.election("x").lead(async () => {});
    unsubscribe("conclave", listen);
    expect(heard.map(({ type }) => type)).toEqual(
      ["standing", "session", "leader", "elected", "state", "settled", "released"].filter((type) =>
        heard.some((event) => event.type === type),
      ),
    );
    expect(published).toEqual(heard);
    stop();
  });
});

describe("options", () => {
  it("lists every problem in one error", () => {
    const store = memory();
    const wrong = { store, ttlMs: "soon", drainMs: -1, ttl: 3, onOverstay: "later" } as never;
    expect(() => createCandidate(wrong)).toThrow(ConclaveError);
    try {
      createCandidate(wrong);
    } catch (error) {
      const { code, message } = error as ConclaveError;
      expect(code).toBe("CONFIG_INVALID");
      expect(message).toMatch(/4 problems/);
      expect(message).toMatch(/did you mean ttlMs/);
    }
  });

  it("says what is missing when the store is none, and refuses odd names", () => {
    expect(() => createCandidate({ store: {} } as never)).toThrow(/has no keep, claim, release, look, watch, close/);
    expect(() => createCandidate({} as never)).toThrow(ConclaveError);
    const candidate: Candidate = closedLater(createCandidate({ store: memory(), ttlMs: 2000 }));
    expect(() => candidate.election("")).toThrow(/not a name/);
    expect(() => candidate.election("a\nb")).toThrow(/not a name/);
  });
});
