// What a term answers at the worst moment: inside the abort of another term that ended in the same step, before the loop has turned after it was blocked, and
// to somebody who never asked before. Time is in the test's hand; `freeze` is a blocked loop: time passes, and no timer fires.
import { describe, expect, it } from "vitest";
import { createCandidate, type Term } from "conclave";
import { fakeStore, ManualClock } from "conclave/testing";
import { unknown } from "../../src/base/outcome.ts";
import { exchange } from "../../src/election/ask.ts";
import type { Answer, Request } from "../../src/lease/state.ts";
import { asBid, type Released, type Store, VACANT } from "conclave/stores/contract";
import { hostClockOf } from "../../src/stores/host-clock.ts";

const TTL_MS = 10_000;
const DRAIN_MS = 2_000;

function stage() {
  const store = fakeStore();
  const clock = hostClockOf(store) as ManualClock;
  const open = (id: string) => createCandidate({ store, id, ttlMs: TTL_MS, drainMs: DRAIN_MS, onEvent: () => {} });
  return { store, clock, open };
}

/** Two terms of one session, which end in one step. */
async function twoTerms() {
  const { store, clock, open } = stage();
  const candidate = open("me");
  const won = Promise.all(["x", "y"].map((name) => candidate.election(name).campaign()));
  await store.advance(1);
  const [x, y] = (await won) as [Term, Term];
  return { store, clock, x, y };
}

/** To a millisecond at which the terms are ending, and not lost. */
const toEnding = (term: Term): number => term.remainingMs() - DRAIN_MS / 2;
const pastDeadline = (term: Term): number => term.remainingMs() + 1;

describe("inside the abort of another term, which is told first", () => {
  it("a lost term is not held, and its signal has aborted before it says so", async () => {
    for (const ask of ["isHeld", "isLeading"] as const) {
      const { clock, x, y } = await twoTerms();
      const { signal } = y;
      let seen: readonly boolean[] = [];
      x.signal.addEventListener("abort", () => (seen = [signal.aborted, y[ask](), signal.aborted]));
      clock.freeze(pastDeadline(x));
      expect(x.isHeld()).toBe(false);
      expect(seen, ask).toEqual([false, false, true]);
    }
  });

  it("a term that ends is not led, although nobody has told it yet", async () => {
    const { clock, x, y } = await twoTerms();
    const { signal } = y;
    let seen: readonly boolean[] = [];
    x.signal.addEventListener("abort", () => (seen = [signal.aborted, y.isLeading()]));
    clock.freeze(toEnding(x));
    expect(x.isHeld()).toBe(true);
    expect(seen).toEqual([false, false]);
    expect(y.isHeld()).toBe(true);
  });
});

describe("after a blocked loop", () => {
  it("a held term whose signal has not aborted, directly after it was asked, has its drain before it", async () => {
    for (const ask of [(term: Term) => term.isHeld(), (term: Term) => term.remainingMs() > 0]) {
      const { clock, x } = await twoTerms();
      const { signal } = x;
      clock.freeze(toEnding(x));
      expect(ask(x)).toBe(true);
      expect(signal.aborted).toBe(true);
    }
  });

  it("a signal that is asked for the first time has aborted, if its term has ended by the clock or long ago", async () => {
    const { store, clock, x, y } = await twoTerms();
    clock.freeze(pastDeadline(x));
    expect(x.signal.aborted).toBe(true);
    await store.advance(1);
    expect(y.signal.aborted).toBe(true);
    expect(y.signal.reason).toMatchObject({ code: "TERM_LOST" });
  });

  it("work that ends after its deadline has not led to its end: lead begins again, and a lock says that it was lost", async () => {
    const { store, clock, open } = stage();
    let times = 0;
    const led = open("me")
      .election("x")
      .lead(async (term) => {
        times++;
        if (times === 1) clock.freeze(pastDeadline(term));
        return times;
      });
    await store.advance(TTL_MS * 2);
    expect(await led).toBe(2);
    const locked = open("other").withLock("l", async (term) => clock.freeze(pastDeadline(term)));
    const outcome = locked.then(
      () => "done",
      (error: { code: string }) => error.code,
    );
    await store.advance(TTL_MS);
    expect(await outcome).toBe("TERM_LOST");
  });
});

describe("what is proven, or written, when the term has begun to end", () => {
  it("a renewal has come too late: the caller would go on as a leader", async () => {
    const { store, x, y } = await twoTerms();
    const outcome = x.renew().then(
      () => "renewed",
      (error: { code: string }) => error.code,
    );
    void x.resign();
    await store.advance(1);
    expect(await outcome).toBe("TERM_LOST");
    expect(y.isLeading()).toBe(true); // the session was renewed
  });

  it("so has an announcement", async () => {
    const { store, clock, x } = await twoTerms();
    const outcome = x.announce("here").then(
      () => "announced",
      (error: { code: string }) => error.code,
    );
    clock.freeze(toEnding(x));
    await store.advance(1);
    expect(await outcome).toBe("TERM_LOST");
  });

  it("a renewal that is under way does not stand for one that is asked for now", async () => {
    const { store, x } = await twoTerms();
    store.faults.next("keep", { answerAfterMs: 300 });
    store.faults.next("keep", { answerAfterMs: 600 });
    const done: string[] = [];
    void x.renew().then(() => done.push("first"));
    await store.advance(1);
    void x.renew().then(() => done.push("second"));
    await store.advance(350);
    expect(done).toEqual(["first"]);
    await store.advance(600);
    expect(done).toEqual(["first", "second"]);
  });
});

describe("a term of start() that nobody has asked for", () => {
  it("is given back after its drain, not before, if it ends without being resigned: somebody may have seen that this one leads", async () => {
    const { store, open } = stage();
    const [mine, other] = [open("me").election("x"), open("other").election("x")];
    mine.start();
    await store.advance(1);
    other.start();
    await store.advance(1);
    expect(mine.isLeading()).toBe(true);
    store.hang();
    while (mine.isLeading()) await store.advance(100);
    store.heal();
    await store.advance(DRAIN_MS / 2);
    expect(other.isLeading()).toBe(false);
    await store.advance(TTL_MS);
    expect(other.isLeading()).toBe(true);
  });
});

describe("one request", () => {
  const request: Request = { method: "release", will: { session: { id: "s", candidate: "a", ttlMs: 1 }, holds: [], endSession: true } }; // prettier-ignore
  const released: Released = { kind: "released" };

  function ask(answer: (store: { signal: AbortSignal }) => Promise<Released>) {
    const clock = new ManualClock();
    const heard: Answer[] = [];
    const signals: AbortSignal[] = [];
    const store = {
      guarantee: { store: "scripted" },
      release: (_: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal);
        return answer({ signal });
      },
    } as unknown as Store;
    const sent = exchange(store, clock, request, 1000, clock.now(), (each) => heard.push(each));
    return { clock, heard, signals, sent };
  }

  it("is answered once: what comes after its timeout is dropped, and it was given up", async () => {
    let late: (answer: Released) => void = () => {};
    const { clock, heard, signals } = ask(() => new Promise((resolve) => (late = resolve)));
    await clock.advance(1000);
    late(released);
    await clock.advance(1);
    expect(heard.map(({ kind }) => kind)).toEqual(["unknown"]);
    expect(signals[0]?.aborted).toBe(true);
  });

  it("has no timeout once it is answered", async () => {
    const { clock, heard } = ask(() => Promise.resolve(released));
    await clock.advance(2000);
    expect(heard).toEqual([released]);
  });

  it("that nobody waits for any more is not answered, and is given up", async () => {
    const { clock, heard, sent, signals } = ask(() => Promise.resolve(released));
    sent.cancel();
    await clock.advance(2000);
    expect(heard).toEqual([]);
    expect(signals[0]?.aborted).toBe(true);
  });

  it("whose driver throws, rejects, or answers another request is unknown", async () => {
    const answers: (() => Promise<Released>)[] = [
      () => Promise.reject(new Error("boom")),
      () => {
        throw new Error("boom");
      },
      () => Promise.resolve({ kind: "session-lost" } as unknown as Released),
    ];
    for (const answer of answers) {
      expect(() => ask(answer)).not.toThrow();
      const { clock, heard } = ask(answer);
      await clock.advance(1);
      expect(heard.map(({ kind }) => kind)).toEqual([unknown("").kind]);
    }
  });
});

describe("a grant", () => {
  const claim = {
    session: { id: "s", candidate: "a", ttlMs: 1 },
    name: "x",
    bid: asBid("mine"),
    over: VACANT,
    value: "",
  };
  const request: Request = { method: "claim", claims: [claim] };

  async function kindOf(hold: object, fencing: "fenced" | "unfenced"): Promise<string | undefined> {
    const heard: Answer[] = [];
    const store = {
      guarantee: { store: "scripted", shape: "race", fencing },
      claim: () => Promise.resolve([{ kind: "granted", hold }]),
    } as unknown as Store;
    const clock = new ManualClock();
    exchange(store, clock, request, 1000, clock.now(), (each) => heard.push(each));
    await clock.advance(1);
    const [answer] = heard;
    return answer?.kind === "claimed" ? answer.claimed[0]?.kind : answer?.kind;
  }

  it("is believed only for the bid that asked, and of a store that fences only with the token of that bid", async () => {
    const token = { domain: "d", value: 1n, bid: "mine" };
    expect(await kindOf({ name: "x", bid: "mine", token }, "fenced")).toBe("granted");
    expect(await kindOf({ name: "x", bid: "mine" }, "unfenced")).toBe("granted");
    const wrong: readonly (readonly [object, "fenced" | "unfenced"])[] = [
      [{ name: "x", bid: "another's", token }, "fenced"],
      [{ name: "x", bid: "another's" }, "unfenced"],
      [{ name: "x", bid: "mine" }, "fenced"],
      [{ name: "x", bid: "mine", token: { ...token, value: 1 } }, "fenced"],
      [{ name: "x", bid: "mine", token: { ...token, bid: "another's" } }, "fenced"],
    ];
    for (const [hold, fencing] of wrong) expect(await kindOf(hold, fencing), JSON.stringify(hold, (_, value: unknown) => typeof value === "bigint" ? "1n" : value)).toBe("refused"); // prettier-ignore
  });
});

it("two askers of one name in one candidate are never inside together", async () => {
  const { store, open } = stage();
  const candidate = open("me");
  let [inside, most] = [0, 0];
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await Promise.resolve();
    inside--;
  };
  const locks = Promise.allSettled([candidate.withLock("x", work), candidate.withLock("x", work)]);
  await store.advance(100);
  const outcomes = await Promise.race([locks, Promise.resolve("not settled")]);
  expect(most).toBe(1);
  expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }]);
});
