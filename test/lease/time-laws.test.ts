// Laws 1 to 5 of a term, on time, each by name, on the machine alone; law 6 is in proof-law.test.ts. That a signal has aborted before isHeld() answers (law 3) is shown on the
// host: test/incidents/blocked-loop.test.ts.
import { describe, expect, it } from "vitest";
import { Rig, sessionOf, version } from "./rig.ts";

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

  it("opens anew after an outage longer than the ttl, rather than be granted a session that is past already", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    const nonces = new Set<unknown>();
    for (let spentMs = 0; spentMs < 30_000; spentMs += 100) {
      if (rig.has("keep")) {
        const call = rig.next("keep");
        nonces.add((call.request.session as { nonce?: string }).nonce);
        rig.unknown(call);
      }
      rig.pass(100);
    }
    for (let guard = 0; guard < 1000 && !rig.has("keep"); guard++) rig.pass(100);
    const latestSend = rig.now.mono;
    rig.keep();
    rig.pass(100);
    expect(rig.happened("session")).toMatchObject([{ state: "opened" }]);
    expect(rig.deadline).toBeLessThanOrEqual(latestSend + belief(10_000));
    // A few openings in thirty seconds, each tried several times: not one for each try.
    expect(nonces.size).toBeLessThanOrEqual(6);
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

  it("takes off the margin that the server has told with the opening, then and at every keep", () => {
    const rig = new Rig();
    const first = rig.now.mono;
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep(rig.next("keep"), { met: { server: "relay 2", extraMarginMs: 700 } });
    expect(rig.deadline).toBeCloseTo(first + belief(10_000) - 700, 6);
    expect(rig.happened("session")).toMatchObject([{ state: "opened", met: { server: "relay 2" } }]);
    rig.pass(3000);
    const keep = rig.next("keep");
    const latestSend = rig.now.mono;
    rig.keep(keep);
    expect(rig.deadline).toBeGreaterThan(first + belief(10_000) - 700);
    expect(rig.deadline).toBeLessThanOrEqual(latestSend + belief(10_000) - 700);
  });

  it("refuses a session where the margin of the server leaves no room to renew", () => {
    const rig = new Rig();
    rig.input({ type: "stand", name: "x", value: "" });
    rig.pass(0);
    rig.keep(rig.next("keep"), { met: { server: "relay 2", extraMarginMs: 9900 } });
    expect(rig.machine.session.kind).not.toBe("open");
    expect(rig.happened("error")[0]).toMatchObject({ error: { code: "STORE_UNSUPPORTED" } });
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
    const rig = new Rig({}, {}, "me").stand();
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
    judged.stand();
    judged.see(held("v1"));
    waitForClaim(judged, held("v1"));
    expect(judged.has("claim")).toBe(false);
  });

  it("never takes a held seat whose ttl is not recorded: its own ttl says nothing of the holder's", () => {
    const rig = standing();
    const seat = { ...held("v1"), ttlMs: undefined };
    rig.see(seat);
    waitForClaim(rig, seat);
    expect(rig.has("claim")).toBe(false);
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
