// Laws 7 to 15 of a term, on attempts, work and tokens, each by name, on the machine alone. Laws 11 and 16 are shown on the host in test/election; law 12
// belongs to guards at a resource (test/fencing).
import { describe, expect, it } from "vitest";
import type { Version } from "conclave/stores/contract";
import { holdOf, Rig, version } from "./rig.ts";

const RHO = 0.005;
const silence = (ttlMs: number): number => ttlMs * (1 + 2 * RHO) + 5;

describe("law 7, unknown is unknown", () => {
  it("re-sends a claim without an answer with the same bid over the same version", () => {
    const rig = new Rig();
    const first = rig.standAndClaim();
    rig.unknown(first);
    rig.pass(500);
    const second = rig.next("claim");
    expect(second.request.claims).toEqual(first.request.claims);
  });

  it("hands a grant back that arrives too late, and never announces it", () => {
    const rig = new Rig();
    const call = rig.standAndClaim();
    rig.jump(8500);
    rig.grant(call);
    rig.pass(0);
    expect(rig.happened("elected")).toHaveLength(0);
    expect(rig.happened("handed-back")).toMatchObject([{ why: "late" }]);
    expect(rig.next("release").request.will.holds).toMatchObject([{ bid: call.request.claims[0]?.bid }]);
  });

  it("gives back what a claim that was given up turns out to have won", () => {
    const rig = new Rig();
    const call = rig.standAndClaim();
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
      while (!rig.has("claim")) {
        rig.pass(10);
        if (rig.has("keep")) rig.keep();
      }
      pauses.push(rig.now.mono - since);
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
    const rig = new Rig().stand();
    rig.see({
      state: "held",
      version: version("v1"),
      ttlMs: 100,
      holder: { candidate: "bob", bid: "bob.1" as never, token: 7n, domain: "table" },
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

  it("does not compare tokens of different domains", () => {
    const rig = new Rig();
    rig.lead();
    rig.input({ type: "resign", name: "x" });
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    while (!rig.has("claim")) {
      rig.pass(50);
      if (rig.has("keep")) rig.keep();
      if (rig.has("look")) rig.see({ version: version("v9") });
    }
    const call = rig.next("claim");
    const [claim] = call.request.claims;
    if (claim === undefined) throw new Error("nothing was claimed");
    const token = { domain: "another store", value: 1n, bid: claim.bid };
    rig.answer(call, { kind: "claimed", claimed: [{ kind: "granted", hold: { name: "x", bid: claim.bid, token } }] });
    expect(rig.happened("elected")).toHaveLength(2);
    expect(rig.happened("error")).toEqual([]);
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
      rig.stand();
      rig.see(dead);
      rig.pass(0);
    }
    expect(fenced.has("claim")).toBe(true);
    expect(unfenced.has("claim")).toBe(false);
  });
});

describe("law 14, deletion is a forced takeover", () => {
  it("waits the last ttl of a record that is gone", () => {
    const rig = new Rig({ judge: "store-monotonic" }).stand();
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

  it("refuses more names than the store allows for one session", () => {
    const rig = new Rig({ holdsPerSession: 1 });
    rig.lead("a");
    rig.input({ type: "stand", name: "b", value: "" });
    expect(rig.effects.at(-1)).toMatchObject({ type: "free", name: "b", error: { code: "STORE_FULL" } });
    expect(rig.machine.campaigns.size).toBe(1);
  });
});
