// A leader that is asked to hand over, as its user sees it: the signal aborts with the reason, the work drains, another leads, and a late request ends nothing.
import { describe, expect, it } from "vitest";
import { createCandidate, type ConclaveEvent, type FencingToken, type Term, TermLostError } from "conclave";
import { asBid, type AsksToLeave } from "conclave/stores/contract";
import { fakeStore } from "conclave/testing";

const TTL_MS = 10_000;
const DRAIN_MS = 2_000;

function stage(drainMs = DRAIN_MS) {
  const store = fakeStore();
  const events: ConclaveEvent[] = [];
  const onEvent = (event: ConclaveEvent): void => void events.push(event);
  const open = (id: string) => createCandidate({ store, id, ttlMs: TTL_MS, drainMs, onEvent });
  const ask = async (term: Pick<FencingToken, "domain" | "value" | "bid"> | undefined): Promise<string> => {
    if (term === undefined) throw new Error("nobody leads");
    const token = { domain: term.domain, value: term.value, bid: asBid(term.bid) };
    const call = { signal: AbortSignal.timeout(5000), sentAtMs: 0 };
    const answer = await (store as unknown as AsksToLeave).askToLeave("x", token, call);
    await store.advance(1);
    return answer.kind;
  };
  return { store, events, open, ask };
}

/** Works until it is told to stop. */
const untilAborted = (term: Term): Promise<void> =>
  new Promise((resolve) => term.signal.addEventListener("abort", () => resolve()));

it("start(): the drain of a term that was asked is over when its user has resigned it, and ends no later term", async () => {
  const { store, open, ask } = stage(7_000);
  const candidate = open("one");
  const election = candidate.election("x");
  election.start();
  await store.advance(1);
  const first = election.term();
  expect(await ask(first?.token)).toBe("asked");
  expect(first?.signal.aborted).toBe(true);
  await first?.resign();
  let waitedMs = 0;
  for (; election.term() === undefined; waitedMs += 100) await store.advance(100);
  expect(waitedMs).toBeLessThan(7_000); // the next term begins before that drain would have passed
  const second = election.term();
  await store.advance(8_000);
  expect(second?.isLeading()).toBe(true);
  const closed = candidate.close({ drainMs: 0 });
  await store.advance(TTL_MS);
  await closed;
});

describe("lead", () => {
  it("ends the work with the reason, hands over to the one that waits, and stands again behind it", async () => {
    const { store, open, ask } = stage();
    const [one, two] = [open("one").election("x"), open("two").election("x")];
    const reasons: unknown[] = [];
    const work = async (term: Term): Promise<void> => {
      await untilAborted(term);
      reasons.push(term.signal.reason);
    };
    void one.lead(work);
    await store.advance(1);
    const first = one.term()?.token;
    void two.lead(work);
    await store.advance(1);
    expect(await ask(first)).toBe("asked");
    await store.advance(100);
    expect([one.isLeading(), two.isLeading()]).toEqual([false, true]);
    expect(reasons).toMatchObject([{ reason: "asked" }]);
    expect(reasons[0]).toBeInstanceOf(TermLostError);
    // The same request, late: another leads by now.
    expect(await ask(first)).toBe("not-leading");
    await store.advance(3 * TTL_MS);
    expect(two.isLeading()).toBe(true);
    expect(await ask(two.term()?.token)).toBe("asked");
    await store.advance(100);
    expect(one.isLeading()).toBe(true);
  });

  it("leads again, with a new token, if nobody else stands", async () => {
    const { store, open, ask } = stage();
    const one = open("one").election("x");
    void one.lead(untilAborted);
    await store.advance(1);
    const first = one.term()?.token;
    await ask(first);
    await store.advance(2000);
    expect(one.isLeading()).toBe(false);
    await store.advance(TTL_MS);
    expect(one.term()?.token.value).toBe((first?.value ?? 0n) + 1n);
  });

  it("is led on while its work does not end", async () => {
    const { store, open, ask } = stage();
    const [one, two] = [open("one").election("x"), open("two").election("x")];
    void one.lead(() => new Promise(() => {}));
    await store.advance(1);
    const term = one.term();
    two.start();
    await ask(term?.token);
    await store.advance(5 * TTL_MS);
    expect([term?.isHeld(), term?.isLeading(), two.isLeading()]).toEqual([true, false, false]);
  });
});

describe("start()", () => {
  it("gives the term back after its drain, not before: somebody may have seen that this one leads", async () => {
    const { store, open, ask } = stage();
    const [one, two] = [open("one").election("x"), open("two").election("x")];
    one.start();
    await store.advance(1);
    const looked = await store.look([{ name: "x" }], { signal: AbortSignal.timeout(5000), sentAtMs: 0 });
    const holder = looked.kind === "seen" ? looked.seats[0]?.holder : undefined;
    two.start();
    await store.advance(1);
    expect(one.isLeading()).toBe(true);
    await ask({ domain: holder?.domain ?? "", value: holder?.token ?? 0n, bid: holder?.bid ?? "" });
    expect(one.isLeading()).toBe(false);
    await store.advance(DRAIN_MS / 2);
    expect(two.isLeading()).toBe(false);
    await store.advance(DRAIN_MS);
    expect(two.isLeading()).toBe(true);
  });
});

describe("campaign()", () => {
  it("gives the term back after its drain", async () => {
    const { store, events, open, ask } = stage();
    const won = open("one").election("x").campaign();
    await store.advance(1);
    const term = await won;
    await ask(term.token);
    expect([term.isHeld(), term.isLeading()]).toEqual([true, false]);
    await store.advance(DRAIN_MS + 100);
    expect(term.isHeld()).toBe(false);
    expect(await term.ended).toBe("asked");
    expect(events.map(({ type }) => type)).toContain("released");
  });
});
