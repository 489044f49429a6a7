// A session on which nothing hangs: its keeps need no proof, nothing they are answered moves a date, and a proof comes before anything is won.
import { describe, expect, it } from "vitest";
import type { Hold, KeepWish } from "conclave/stores/contract";
import { holdOf, Rig } from "./rig.ts";

/** Answers the keep that waits as a store does that proves only what it is asked to prove. Returns what was wished. */
function keepAsWished(rig: Rig, strays: readonly Hold[] = []): KeepWish {
  const call = rig.next("keep");
  const { wish = {} } = call.request;
  const shown = wish.strays === false ? [] : strays;
  rig.keep(call, wish.proof === false ? { strays: shown, proves: false } : { strays: shown });
  return wish;
}

/** Stands in line behind another, in a session of 10 s if no other ttl is given. */
function waiting(
  input: ConstructorParameters<typeof Rig>[1] = {},
  promises: ConstructorParameters<typeof Rig>[0] = {},
): Rig {
  const guarantee = {
    shape: "line",
    judge: "store-monotonic",
    wakes: "watch",
    hintsUntilEnd: true,
    ...promises,
  } as const;
  const rig = new Rig(guarantee, input).stand();
  const claim = rig.next("claim");
  const hold = holdOf(claim.request.claims[0] as never, 7n);
  rig.answer(claim, { kind: "claimed", claimed: [{ kind: "waiting", hold, ahead: 1 }] });
  rig.pass(0);
  rig.see({ state: "held", place: { present: true, ahead: 1 } }); // it looks once, for people to know who leads
  return rig;
}

/** Lets so much time pass, with keeps answered as wished. Returns the wishes. */
function live(rig: Rig, ms: number): KeepWish[] {
  const wishes: KeepWish[] = [];
  for (const end = rig.now.mono + ms; rig.now.mono < end;) {
    rig.pass(100);
    if (rig.has("keep")) wishes.push(keepAsWished(rig));
    if (rig.has("look")) rig.see({ state: "held", place: { present: true, ahead: 1 } });
  }
  return wishes;
}

/** How many messages are sent in that time: one a keep, and two a look, which is what the driver of etcd sends for it. */
function count(rig: Rig, ms: number): number {
  let sent = 0;
  for (const end = rig.now.mono + ms; rig.now.mono < end;) {
    rig.pass(100);
    for (const { request } of rig.pending) sent += request.method === "look" ? 2 : 1;
    if (rig.has("keep")) keepAsWished(rig);
    if (rig.has("look")) rig.see({ state: "held", place: { present: true, ahead: 1 } });
  }
  return sent;
}

const first = {
  name: "x",
  seat: { name: "x", state: "held", version: "v", place: { present: true, ahead: 0 } },
} as never;

describe("who waits", () => {
  it("sends keeps without a wish for proof or strays, and its session lives on", () => {
    const rig = waiting();
    const wishes = live(rig, 60_000);
    expect(wishes.length).toBeGreaterThan(12);
    expect(wishes).toEqual(wishes.map(() => ({ proof: false, strays: false })));
    expect(rig.happened("session")).toHaveLength(1);
    expect(rig.machine.session.kind).toBe("open");
  });

  it.each([3, 10, 15, 30, 60, 600])(
    "sends no more than Go's client, keeps and looks together, with a ttl of %d s",
    (seconds) => {
      const rig = waiting({ ttlMs: seconds * 1000, drainMs: 100 });
      const forMs = 100 * seconds * 1000;
      // Go's looks twice a second whether a third of the ttl has passed.
      const sentByGo = forMs / (Math.ceil((seconds * 2) / 3) * 500);
      expect(count(rig, forMs)).toBeLessThanOrEqual(sentByGo);
    },
  );

  it("hears nothing that moves a date", () => {
    const rig = waiting();
    const { deadline } = rig;
    live(rig, 30_000);
    expect(rig.deadline).toBe(deadline);
  });

  it("proves its session before it asks whether it is first, and leads from that date", () => {
    const rig = waiting();
    live(rig, 30_000);
    rig.input({ type: "hint", hint: first });
    rig.pass(50);
    expect(rig.has("claim")).toBe(false);
    const sentAt = rig.now.mono;
    expect(keepAsWished(rig).proof).toBeUndefined();
    rig.pass(50);
    rig.grant();
    expect(rig.happened("elected")).toHaveLength(1);
    expect(rig.deadline).toBeLessThan(sentAt + 10_000);
    expect(rig.deadline).toBeGreaterThan(sentAt);
  });

  it("sends the proof in the step that learns of its turn, and the claim in the one that hears of the proof", () => {
    const rig = waiting();
    live(rig, 30_000);
    rig.input({ type: "hint", hint: first });
    rig.pass(0);
    expect(keepAsWished(rig).proof).toBeUndefined();
    rig.pass(0);
    expect(rig.next("claim").request.claims[0]).toMatchObject({ stands: true });
  });

  it("says of its first claim not that it stands", () => {
    const rig = new Rig({ shape: "line", judge: "store-monotonic", wakes: "watch" }).stand();
    expect(rig.next("claim").request.claims[0]?.stands).toBeUndefined();
  });

  it("does not claim while a proof does not come", () => {
    const rig = waiting();
    live(rig, 30_000);
    rig.input({ type: "hint", hint: first });
    for (let turn = 0; turn < 20; turn++) {
      rig.pass(500);
      if (rig.has("keep")) rig.unknown(rig.next("keep"));
      expect(rig.has("claim")).toBe(false);
    }
  });

  it("asks for a proof at once when it has won by an older one, and for one each time while it holds", () => {
    const rig = waiting();
    rig.pass(4000);
    const weak = rig.next("keep");
    expect(weak.request.wish).toEqual({ proof: false, strays: false });
    rig.input({ type: "hint", hint: first });
    rig.pass(0);
    rig.grant();
    rig.keep(weak, { proves: false });
    rig.pass(0);
    expect(rig.happened("elected")).toHaveLength(1);
    expect(keepAsWished(rig).proof).toBeUndefined();
    for (const wish of live(rig, 20_000)) expect(wish.proof).toBeUndefined();
  });

  it("learns that its session is over", () => {
    const rig = waiting();
    live(rig, 30_000);
    while (!rig.has("keep")) rig.pass(100);
    rig.answer(rig.next("keep"), { kind: "session-lost" });
    rig.pass(100);
    expect(rig.next("keep").request.session).toMatchObject({ nonce: "me.s2" });
  });
});

/** Waits for so long, by keeps that can be confirmed later. Returns when the last of them was sent. */
function witnessed(rig: Rig, ms: number): number {
  let sentAt = NaN;
  for (const end = rig.now.mono + ms; rig.now.mono < end;) {
    rig.pass(100);
    if (rig.has("look")) rig.see({ state: "held", place: { present: true, ahead: 1 } });
    if (!rig.has("keep")) continue;
    sentAt = rig.now.mono;
    rig.pass(7);
    rig.keep(rig.next("keep"), { proves: false, witness: `of ${sentAt}` });
  }
  return sentAt;
}

/** A hint has come, and the claim that follows at once is granted. */
function grantStanding(rig: Rig, confirms?: true): { readonly witness?: string | undefined } {
  rig.input({ type: "hint", hint: first });
  rig.pass(0);
  const call = rig.next("claim");
  const [claim] = call.request.claims;
  const granted = { kind: "granted", hold: holdOf(claim as never, 7n), ...(confirms ? { confirms } : {}) } as const;
  rig.answer(call, { kind: "claimed", claimed: [granted] });
  return { witness: claim?.witness };
}

describe("a grant that confirms the last keep", () => {
  it("is announced without another proof, from the date of that keep, and a keep with proof follows", () => {
    const rig = waiting();
    const sentAt = witnessed(rig, 30_000);
    expect(grantStanding(rig, true)).toEqual({ witness: `of ${sentAt}` });
    expect(rig.happened("elected")).toHaveLength(1);
    expect(rig.deadline).toBeGreaterThan(sentAt + 9800);
    expect(rig.deadline).toBeLessThanOrEqual(sentAt + 9900);
    rig.pass(3000);
    expect(keepAsWished(rig).proof).toBeUndefined();
  });

  it("is the only one that is: without the store's word the place stays, and a proof comes before the next claim", () => {
    const rig = waiting();
    witnessed(rig, 30_000);
    const { deadline } = rig;
    grantStanding(rig);
    expect(rig.happened("elected")).toHaveLength(0);
    expect(rig.happened("handed-back")).toHaveLength(0);
    rig.pass(0);
    expect(rig.deadline).toBe(deadline);
    expect([rig.has("claim"), rig.has("release")]).toEqual([false, false]);
    expect(keepAsWished(rig).proof).toBeUndefined();
    rig.pass(0);
    const again = rig.next("claim");
    expect(again.request.claims[0]).toMatchObject({ stands: true });
    expect(again.request.claims[0]?.witness).toBeUndefined();
    const hold = holdOf(again.request.claims[0] as never, 7n);
    rig.answer(again, { kind: "claimed", claimed: [{ kind: "granted", hold }] });
    expect(rig.happened("elected")).toHaveLength(1);
  });

  it("is not asked for while the last keep is so old that it would leave no time for another", () => {
    const rig = waiting();
    witnessed(rig, 30_000);
    while (!rig.has("keep")) rig.pass(100);
    rig.unknown(rig.next("keep"));
    rig.pass(2000);
    rig.input({ type: "hint", hint: first });
    rig.pass(0);
    expect(rig.has("claim")).toBe(false);
  });

  it("is not asked for with manual renewal: there a term begins with a keep of this invocation", () => {
    const rig = waiting({ renewal: "manual" });
    for (let turn = 0; turn < 6; turn++) {
      rig.input({ type: "renew" });
      rig.pass(1000);
      rig.keep(rig.next("keep"), { proves: false, witness: "w" });
    }
    rig.input({ type: "hint", hint: first });
    rig.pass(0);
    expect(rig.has("claim")).toBe(false);
    expect(rig.next("keep").request.wish?.proof).toBeUndefined();
  });

  it("comes too late where a late answer proves nothing", () => {
    const rig = waiting({}, { proofWithinMs: 1000 });
    witnessed(rig, 30_000);
    rig.pass(2000);
    rig.input({ type: "hint", hint: first });
    rig.pass(0);
    expect(rig.has("claim")).toBe(false);
  });
});

/** Eight keeps look for strays and find none; the ninth does not look. */
function searchesEnd(rig: Rig): void {
  for (let search = 0; search < 8; search++) {
    rig.pass(4000);
    expect(keepAsWished(rig), `search ${search}`).toEqual({ proof: false });
  }
  rig.pass(4000);
  expect(keepAsWished(rig)).toEqual({ proof: false, strays: false });
}

describe("strays are looked for", () => {
  it("after a claim without an answer, until eight keeps that were sent later have found none, and not again", () => {
    const rig = waiting();
    rig.input({ type: "stand", name: "y", value: "" });
    rig.pass(0);
    const claim = rig.next("claim");
    rig.pass(4000);
    const before = rig.next("keep"); // left before the doubt
    rig.unknown(claim);
    rig.keep(before, { proves: false });
    rig.pass(100);
    const again = rig.next("claim").request.claims[0];
    rig.input({ type: "withdraw", name: "y" });
    rig.pass(4000);
    const late: Hold = { name: "y", bid: again?.bid as never };
    expect(keepAsWished(rig, [late])).toEqual({ proof: false });
    rig.pass(0);
    expect(rig.next("release").request.will.holds).toEqual([late]);
    searchesEnd(rig);
  });

  it("again if another claim came into doubt after the keep that found none had left", () => {
    const rig = waiting();
    const inDoubt = (name: string): { readonly errand: number } => {
      rig.input({ type: "stand", name, value: "" });
      rig.pass(0);
      const claim = rig.next("claim");
      rig.input({ type: "withdraw", name });
      return claim;
    };
    rig.unknown(inDoubt("y"));
    const second = inDoubt("z");
    rig.pass(4000);
    const search = rig.next("keep");
    expect(search.request.wish).toEqual({ proof: false });
    rig.unknown(second);
    rig.keep(search, { proves: false });
    searchesEnd(rig);
  });

  it("now and then in any case: what was in doubt may be applied very late", () => {
    const rig = waiting();
    const searches = live(rig, 40 * 3600).filter(({ strays }) => strays === undefined);
    expect(searches).toHaveLength(1);
  });
});
