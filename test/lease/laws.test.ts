// The laws of a term, each by name, on the machine alone. What the machine cannot show (law 3's signal, law 11's turns, law 16's promises) is shown on the
// host in test/election; law 12 belongs to guards at a resource (test/fencing).
import { describe, expect, it } from "vitest";
import type { Version } from "../../src/lease/exchange.ts";
import { holdOf, Rig, sessionOf, version } from "./rig.ts";

const RHO = 0.005;
/** D of law 1 for the rig's ttl, before and after the grain of the monotonic hand. */
const belief = (ttlMs: number): number => (ttlMs * (1 - RHO)) / (1 + RHO) - 5;
const silence = (ttlMs: number): number => ttlMs * (1 + 2 * RHO) + 5;

describe("law 1, deadline from send", () => {
  it("counts from before the request left, however late the answer", () => {
    const rig = new Rig();
    rig.lead();
    rig.pass(3000);
    const call = rig.next("keep");
    const latestSend = rig.now.mono;
    rig.jump(900);
    rig.keep(call);
    expect(rig.deadline).toBeLessThanOrEqual(latestSend + belief(10_000));
    expect(rig.deadline).toBeGreaterThan(latestSend + belief(10_000) - 500);
  });

  it("dates a re-sent opening at its first try", () => {
    const rig = new Rig();
    const first = rig.now.mono;
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.unknown(rig.next("keep"));
    rig.pass(500);
    rig.keep();
    expect(rig.deadline).toBeCloseTo(first + belief(10_000), 6);
  });

  it("counts by the ttl that was granted, not the one asked for", () => {
    const rig = new Rig();
    const first = rig.now.mono;
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    const call = rig.next("keep");
    rig.keep(call, { session: { ...sessionOf(call.request.session), ttlMs: 6000 } });
    expect(rig.deadline).toBeCloseTo(first + belief(6000), 6);
  });

  it("does not let an answer after the deadline revive the term", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.pass(3000);
    const call = rig.next("keep");
    rig.jump(20_000);
    rig.keep(call);
    expect(rig.isHeld(bid)).toBe(false);
    expect(rig.happened("lost")).toHaveLength(1);
  });

  it("refuses a session whose granted ttl leaves no room to renew", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    const call = rig.next("keep");
    rig.keep(call, { session: { ...sessionOf(call.request.session), ttlMs: 2000 } });
    expect(rig.machine.session.kind).not.toBe("open");
    expect(rig.happened("error")[0]).toMatchObject({ error: { code: "STORE_UNSUPPORTED" } });
  });
});

describe("law 2, the taker's law", () => {
  const held = (label: string): object => ({
    state: "held",
    version: version(label),
    ttlMs: 4000,
    holder: { candidate: "bob", bid: "bob.1" },
  });

  function standing(): Rig {
    const rig = new Rig({}, {}, "me");
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    return rig;
  }

  /** Looks go on showing the same seat; returns when the claim was sent. */
  function waitForClaim(rig: Rig, seat: object): number {
    for (let look = 0; look < 100 && !rig.has("claim"); look++) {
      rig.pass(100);
      if (rig.has("keep")) rig.keep();
      if (rig.has("look")) rig.see(seat);
    }
    return rig.now.mono;
  }

  it("waits the recorded ttl since the receipt of the first look, and no less", () => {
    const rig = standing();
    rig.jump(700); // the answer travels
    const receipt = rig.now.mono;
    rig.see(held("v1"));
    const claimed = waitForClaim(rig, held("v1"));
    expect(claimed - receipt).toBeGreaterThanOrEqual(silence(4000));
    expect(claimed - receipt).toBeLessThan(silence(4000) + 250);
  });

  it("swaps over exactly the version it watched", () => {
    const rig = standing();
    rig.see(held("v1"));
    waitForClaim(rig, held("v1"));
    expect(rig.next("claim").request.claims[0]?.over).toBe("v1");
  });

  it("starts anew when another version is seen", () => {
    const rig = standing();
    rig.see(held("v1"));
    rig.pass(3900);
    if (rig.has("keep")) rig.keep();
    while (!rig.has("look")) rig.pass(50);
    const receipt = rig.now.mono;
    rig.see(held("v2"));
    expect(waitForClaim(rig, held("v2")) - receipt).toBeGreaterThanOrEqual(silence(4000));
  });

  it("does not wait where the seat is vacant, and never takes a held one where the store judges", () => {
    const vacant = standing();
    vacant.see({ state: "vacant" });
    vacant.pass(0);
    expect(vacant.has("claim")).toBe(true);
    const judged = new Rig({ judge: "store-monotonic" });
    judged.input({ type: "stand", name: "x", value: "" });
    judged.pass(0);
    judged.keep();
    judged.pass(0);
    judged.see(held("v1"));
    waitForClaim(judged, held("v1"));
    expect(judged.has("claim")).toBe(false);
  });

  it("needs no silence where holder and taker read one clock", () => {
    const rig = standing();
    rig.see({ ...held("v1"), heldUntilMs: rig.now.mono + 300 });
    rig.pass(304);
    expect(rig.has("claim")).toBe(false);
    rig.pass(2);
    expect(rig.has("claim")).toBe(true);
  });
});

describe("law 3, a synchronous check", () => {
  it("knows the deadline by the clock although nothing has ticked", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.jump(rig.remaining - 1);
    expect(rig.isHeld(bid)).toBe(true);
    rig.jump(1);
    expect(rig.isHeld(bid)).toBe(false);
  });
});

describe("law 4, suspend counts", () => {
  it("ends the term when boot time alone has passed the deadline, and says that the host slept", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.sleep(20_000);
    expect(rig.isHeld(bid)).toBe(false);
    rig.input({ type: "tick" });
    expect(rig.happened("lost")).toMatchObject([{ reason: "suspended" }]);
  });

  it("with manual renewal a keep older than the call proves nothing", () => {
    const rig = new Rig({}, { renewal: "manual" });
    rig.lead();
    rig.input({ type: "withdraw", name: "x" });
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    rig.input({ type: "stand", name: "y", value: "" });
    rig.pass(0);
    rig.see();
    rig.pass(50);
    expect(rig.has("claim")).toBe(false);
    rig.keep();
    rig.pass(100);
    expect(rig.has("claim")).toBe(true);
  });
});

describe("law 5, two instants", () => {
  it("aborts drainMs before the deadline, and holds until the deadline", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.pass(rig.remaining - 2000 - 10);
    expect(rig.state(bid)).toBe("jeopardy");
    rig.pass(20);
    expect(rig.state(bid)).toBe("ending");
    expect(rig.happened("state").at(-1)).toMatchObject({ state: "ending", reason: "expired" });
    expect(rig.isHeld(bid)).toBe(true);
    rig.pass(2000);
    expect(rig.isHeld(bid)).toBe(false);
    expect(rig.state(bid)).toBe("lost");
  });

  it("never un-aborts: a keep that comes in the drain saves the session, not the term", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.pass(rig.deadline - 1500 - rig.now.mono);
    rig.keep(rig.next("keep"));
    while (rig.has("keep")) rig.keep();
    expect(rig.state(bid)).toBe("ending");
    expect(rig.machine.session.kind).toBe("open");
  });

  it("aborts and loses at once when the store names another, or the session is gone", () => {
    const superseded = new Rig();
    const bid = superseded.lead();
    superseded.pass(3000);
    superseded.keep(superseded.next("keep"), { lost: [{ name: "x", bid }] });
    expect(superseded.happened("lost")).toMatchObject([{ reason: "superseded" }]);
    expect(superseded.isHeld(bid)).toBe(false);
    const gone = new Rig();
    const other = gone.lead();
    gone.pass(3000);
    gone.answer(gone.next("keep"), { kind: "session-lost" });
    expect(gone.happened("lost")).toMatchObject([{ reason: "session-lost" }]);
    expect(gone.isHeld(other)).toBe(false);
  });

  it("goes from safe to jeopardy when the last proven keep is overdue, and back when one is proven", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.pass(5000);
    expect(rig.state(bid)).toBe("jeopardy");
    rig.keep();
    rig.healthy(3000);
    expect(rig.state(bid)).toBe("safe");
    expect(rig.happened("state").map((event) => (event.type === "state" ? event.state : ""))).toEqual([
      "jeopardy",
      "safe",
    ]);
  });
});

describe("law 6, proof", () => {
  it("is not given by a look, a hint, a refusal or an unknown", () => {
    const rig = new Rig();
    rig.lead();
    const before = rig.deadline;
    rig.pass(3000);
    rig.answer(rig.next("keep"), { kind: "refused", code: "STORE_UNREACHABLE", message: "away", retryable: true });
    rig.pass(300);
    rig.unknown(rig.next("keep"));
    rig.input({ type: "hint", hint: { name: "x", seat: { name: "x", version: version("v"), state: "held" } } });
    expect(rig.deadline).toBe(before);
  });

  it("is of the keep answered before, where the store relays touches", () => {
    const rig = new Rig({ keepProves: "previous-send" });
    rig.lead();
    const opening = rig.deadline;
    rig.pass(3000);
    rig.keep();
    expect(rig.deadline).toBe(opening);
    const first = rig.now.mono;
    rig.pass(3000);
    rig.keep();
    expect(rig.deadline - belief(10_000)).toBeLessThanOrEqual(first);
    expect(rig.deadline).toBeGreaterThan(opening);
  });

  it("is not given by an answer that took longer than the store allows for", () => {
    const rig = new Rig({ proofWithinMs: 250 });
    rig.lead();
    const before = rig.deadline;
    rig.pass(3000);
    rig.jump(251);
    rig.keep();
    expect(rig.deadline).toBe(before);
  });

  it("extends, record by record, only what the keep carried and the store was sure of", () => {
    const rig = new Rig({ keep: "per-hold" });
    const sure = rig.lead("sure");
    const unsure = rig.lead("unsure");
    rig.pass(3000);
    rig.keep(rig.next("keep"), { unsure: [{ name: "unsure", bid: unsure }] });
    rig.healthy(100);
    rig.jump(belief(10_000) - 3100 + 50);
    expect(rig.isHeld(sure, "sure")).toBe(true);
    expect(rig.isHeld(unsure, "unsure")).toBe(false);
  });
});

describe("law 7, unknown is unknown", () => {
  it("re-sends a claim without an answer with the same bid over the same version", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    rig.see();
    rig.pass(0);
    const first = rig.next("claim");
    rig.unknown(first);
    rig.pass(500);
    const second = rig.next("claim");
    expect(second.request.claims).toEqual(first.request.claims);
  });

  it("hands a grant back that arrives too late, and never announces it", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    rig.see();
    rig.pass(0);
    const call = rig.next("claim");
    rig.jump(8500);
    rig.grant(call);
    rig.pass(0);
    expect(rig.happened("elected")).toHaveLength(0);
    expect(rig.happened("handed-back")).toMatchObject([{ why: "late" }]);
    expect(rig.next("release").request.will.holds).toMatchObject([{ bid: call.request.claims[0]?.bid }]);
  });

  it("gives back what a claim that was given up turns out to have won", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    rig.see();
    rig.pass(0);
    const call = rig.next("claim");
    rig.input({ type: "withdraw", name: "x" });
    rig.pass(0);
    rig.unknown(rig.next("release"));
    rig.grant(call);
    rig.pass(5000);
    expect(rig.happened("elected")).toHaveLength(0);
    expect(rig.next("release").request.will.holds).toMatchObject([{ name: "x", bid: call.request.claims[0]?.bid }]);
  });

  it("gives back a stray that the store shows with a keep", () => {
    const rig = new Rig();
    rig.lead("other");
    rig.pass(3000);
    const stray = holdOf({ name: "x", bid: "me.99" as never }, 9n);
    rig.keep(rig.next("keep"), { strays: [stray] });
    rig.pass(0);
    expect(rig.next("release").request.will.holds).toEqual([stray]);
  });
});

describe("law 8, drain, then release", () => {
  it("tells the store only after the work has settled, and is not held from then on", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.input({ type: "withdraw", name: "x" });
    rig.pass(1000);
    expect(rig.has("release")).toBe(false);
    expect(rig.isHeld(bid)).toBe(true);
    rig.input({ type: "settle", name: "x" });
    expect(rig.isHeld(bid)).toBe(false);
    rig.pass(0);
    expect(rig.has("release")).toBe(true);
  });

  it("reports work that runs past the deadline, once, and does not stand again before it has settled", () => {
    const rig = new Rig();
    rig.lead();
    rig.pass(30_000);
    expect(rig.happened("overstayed")).toHaveLength(1);
    expect(rig.machine.session.kind).toBe("none");
    rig.input({ type: "settle", name: "x" });
    rig.pass(1000);
    expect(rig.happened("standing")).toHaveLength(2);
    expect(rig.machine.session.kind).toBe("opening");
  });

  it("does not release a lost term's session while its work runs", () => {
    const rig = new Rig();
    rig.lead();
    rig.pass(30_000);
    expect(rig.has("release")).toBe(false);
  });
});

describe("law 9, campaign again", () => {
  it("rejects what cannot succeed before the first exchange, and retries it afterwards", () => {
    const denied = { kind: "refused", code: "STORE_DENIED", message: "no", retryable: false } as const;
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.answer(rig.next("keep"), denied);
    expect(rig.effects.at(-1)).toMatchObject({ type: "failed", error: { code: "STORE_DENIED" } });
    const known = new Rig();
    const bid = known.lead();
    known.pass(3000);
    known.answer(known.next("keep"), denied);
    expect(known.effects.some(({ type }) => type === "failed")).toBe(false);
    known.pass(1000);
    expect(known.has("keep")).toBe(true);
    expect(known.isHeld(bid)).toBe(true);
  });

  it("replaces its own old record at once, with a new bid", () => {
    const rig = new Rig();
    const bid = rig.lead();
    rig.pass(30_000);
    rig.pending.length = 0;
    rig.input({ type: "settle", name: "x" });
    rig.pass(1000);
    rig.keep();
    rig.pass(0);
    rig.see({ state: "held", version: version("old"), ttlMs: 10_000, holder: { candidate: "alice", bid } });
    rig.pass(0);
    const claim = rig.next("claim").request.claims[0];
    expect(claim?.over).toBe("old");
    expect(claim?.bid).not.toBe(bid);
  });

  it("waits longer each time while terms stay short", () => {
    const rig = new Rig();
    const pauses: number[] = [];
    for (let round = 0; round < 4; round++) {
      rig.lead();
      rig.input({ type: "resign", name: "x" });
      rig.input({ type: "settle", name: "x" });
      rig.pass(0);
      rig.answer(rig.next("release"), { kind: "released" });
      const since = rig.now.mono;
      while (!rig.has("look")) {
        rig.pass(10);
        if (rig.has("keep")) rig.keep();
      }
      pauses.push(rig.now.mono - since);
      rig.see();
      rig.pass(0);
      rig.grant();
      rig.input({ type: "withdraw", name: "x" });
      rig.input({ type: "settle", name: "x" });
      rig.pass(0);
      rig.answer(rig.next("release"), { kind: "released" });
    }
    expect(pauses.every((pause) => pause >= 200)).toBe(true);
  });
});

describe("law 10, tokens", () => {
  it("refuses to lead with a token that is not greater than one seen before", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    rig.see({
      state: "held",
      version: version("v1"),
      ttlMs: 100,
      holder: { candidate: "bob", bid: "bob.1" as never, token: 7n },
    });
    while (!rig.has("claim")) {
      rig.pass(50);
      if (rig.has("look")) rig.see({ state: "vacant", version: version("v2") });
    }
    rig.grant(rig.next("claim"), 7n);
    expect(rig.happened("elected")).toHaveLength(0);
    expect(rig.happened("error")).toMatchObject([{ error: { code: "TOKEN_REGRESSED" } }]);
    expect(rig.happened("handed-back")).toMatchObject([{ why: "regressed" }]);
  });
});

describe("law 13, fast takeover only with fencing", () => {
  const dead = {
    state: "abandoned",
    version: "v1" as Version,
    ttlMs: 4000,
    holder: { candidate: "bob", bid: "bob.1" },
  } as object;

  it("takes a proven death at once where terms are fenced, after a quiet period where not", () => {
    const fenced = new Rig();
    const unfenced = new Rig({ fencing: "unfenced" });
    for (const rig of [fenced, unfenced]) {
      rig.input({ type: "stand", name: "x", value: "" });
      rig.pass(0);
      rig.keep();
      rig.pass(0);
      rig.see(dead);
      rig.pass(0);
    }
    expect(fenced.has("claim")).toBe(true);
    expect(unfenced.has("claim")).toBe(false);
  });
});

describe("law 14, deletion is a forced takeover", () => {
  it("waits the last ttl of a record that is gone", () => {
    const rig = new Rig({ judge: "store-monotonic" });
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    const gone = { state: "missing", version: version("gone@4"), ttlMs: 1500 } as const;
    rig.see(gone);
    const since = rig.now.mono;
    while (!rig.has("claim")) {
      rig.pass(50);
      if (rig.has("look")) rig.see(gone);
      if (rig.has("keep")) rig.keep();
    }
    expect(rig.now.mono - since).toBeGreaterThanOrEqual(silence(1500));
  });
});

describe("law 15, a session is a blast radius", () => {
  it("ends every term of a session that is gone, and opens another for those who still stand", () => {
    const rig = new Rig();
    const bids = [rig.lead("a"), rig.lead("b")];
    rig.pass(3000);
    rig.answer(rig.next("keep"), { kind: "session-lost" });
    expect(rig.isHeld(bids[0] as never, "a") || rig.isHeld(bids[1] as never, "b")).toBe(false);
    rig.input({ type: "settle", name: "a" });
    rig.pass(1000);
    expect(rig.next("keep").request.session).toMatchObject({ nonce: "me.s2" });
  });

  it("ignores an answer meant for an earlier session", () => {
    const rig = new Rig();
    rig.lead("a");
    rig.input({ type: "stand", name: "b", value: "" });
    rig.pass(0);
    rig.see();
    rig.pass(0);
    const stale = rig.next("claim");
    rig.pass(3000);
    rig.answer(rig.next("keep"), { kind: "session-lost" });
    rig.pass(0);
    rig.keep();
    rig.grant(stale);
    expect(rig.happened("elected")).toHaveLength(1);
  });
});
