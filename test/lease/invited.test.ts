// Invitations and priorities, on the machine alone: who asks, who leaves the seat to another and for how long, who makes way.
import { describe, expect, it } from "vitest";
import type { Bid, Guarantee, Invitation, Seat, Token } from "conclave/stores/contract";
import type { SettingsInput } from "../../src/lease/settings.ts";
import { Rig, version } from "./rig.ts";

const TTL_MS = 10_000;
const INVITES: Partial<Guarantee> = { wakes: "watch", invites: true };
const LEADER: Token = { domain: "table", value: 7n, bid: "other.1" as Bid };
const HELD: Partial<Seat> = {
  version: version("v7"),
  state: "held",
  ttlMs: TTL_MS,
  holder: { candidate: "bob_other", bid: LEADER.bid, token: LEADER.value, domain: LEADER.domain },
};
const VACATED: Seat = { name: "x", version: version("v8"), state: "vacant" };

/** Behind a leader, of which it knows by a look. */
function waiting(input: Partial<SettingsInput> = {}): Rig {
  const rig = new Rig(INVITES, { id: "alice_me", ...input }).stand();
  rig.see(HELD);
  rig.pass(rig.machine.settings.pollMs);
  rig.see(HELD);
  return rig;
}

function hear(rig: Rig, invited: Partial<Invitation>): void {
  rig.input({ type: "hint", hint: { name: "x", invited: { token: LEADER, to: "carol", ...invited } } });
  rig.pass(0);
}

function vacate(rig: Rig): void {
  rig.input({ type: "hint", hint: { name: "x", seat: VACATED } });
  rig.pass(0);
}

function leading(input: Partial<SettingsInput> = {}): { readonly rig: Rig; readonly bid: Bid; readonly token: Token } {
  const rig = new Rig(INVITES, input);
  const bid = rig.lead();
  return { rig, bid, token: { domain: "table", value: 1n, bid } };
}

describe("a waiting candidate that is invited", () => {
  it.each(["alice", "alice_me"])("as %s asks the leader of that term to leave, and no other", (to) => {
    const rig = waiting();
    hear(rig, { to });
    expect(rig.next("askToLeave").request).toMatchObject({ name: "x", token: LEADER });
    expect(rig.has("askToLeave")).toBe(false);
  });

  it("claims at once when the seat is free", () => {
    const rig = waiting();
    hear(rig, { to: "alice" });
    vacate(rig);
    expect(rig.has("claim")).toBe(true);
  });

  it("also if another was invited before it, after the same term", () => {
    const rig = waiting();
    hear(rig, { to: "dave" });
    hear(rig, { to: "alice" });
    vacate(rig);
    expect(rig.has("claim")).toBe(true);
  });

  it("does not answer for a term that is over, as far as it has seen", () => {
    const rig = waiting();
    hear(rig, { to: "alice", token: { ...LEADER, value: 6n } });
    expect(rig.has("askToLeave")).toBe(false);
  });

  it("does not answer while it is to stay away itself, or while the store does not answer it", () => {
    const { rig } = leading({ id: "alice_me" });
    rig.pass(3000);
    const bid = rig.machine.campaigns.get("x")?.stage.kind === "leading" ? rig.happened("elected") : [];
    expect(bid).toHaveLength(1);
    rig.input({ type: "resign", name: "x" });
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    hear(rig, { to: "alice" });
    expect(rig.has("askToLeave")).toBe(false); // it cools down
    const other = waiting();
    other.pass(other.machine.settings.pollMs);
    other.unknown(other.next("look"));
    hear(other, { to: "alice" });
    expect(other.has("askToLeave")).toBe(false);
  });

  it("by itself, because of its priority, asks nobody", () => {
    const rig = waiting({ priority: 3 });
    hear(rig, { to: "alice_me", priority: 3 });
    expect(rig.has("askToLeave")).toBe(false);
  });
});

describe("a waiting candidate that hears that another is invited", () => {
  it("leaves a free seat to the other for a poll and a half, and then claims it, whatever it hears meanwhile", () => {
    const rig = waiting();
    const { pollMs } = rig.machine.settings;
    hear(rig, {});
    expect(rig.has("askToLeave")).toBe(false);
    vacate(rig);
    expect(rig.has("claim")).toBe(false);
    rig.pass(1.4 * pollMs);
    vacate(rig);
    hear(rig, {});
    expect(rig.has("claim")).toBe(false);
    rig.pass(0.2 * pollMs);
    expect(rig.has("claim")).toBe(true);
  });

  it("waits for a ttl at most", () => {
    const rig = waiting();
    hear(rig, {});
    vacate(rig);
    rig.healthy(TTL_MS);
    expect(rig.has("claim")).toBe(true);
  });

  it("does so also over a leader that has died", () => {
    const rig = waiting();
    for (let polls = 0; polls < 20 && !rig.has("claim"); polls++) {
      hear(rig, {});
      rig.healthy(500);
      if (rig.has("look")) rig.see(HELD);
    }
    // The silence of the leader has lasted for its ttl: one pause more, and no longer.
    const { pollMs } = rig.machine.settings;
    expect(rig.has("claim")).toBe(false);
    for (let passed = 0; passed < TTL_MS && !rig.has("claim"); passed += 100) {
      rig.healthy(100);
      if (rig.has("look")) rig.see(HELD);
    }
    expect(rig.has("claim")).toBe(true);
    expect(pollMs).toBeLessThan(TTL_MS);
  });

  it("forgets an invitation on which nothing has followed for three ttls", () => {
    const rig = waiting();
    hear(rig, {});
    for (let passed = 0; passed < 3 * TTL_MS; passed += 1000) {
      rig.healthy(1000);
      if (rig.has("look")) rig.see({ ...HELD, version: version(`v${passed}`) });
    }
    vacate(rig);
    expect(rig.has("claim")).toBe(true);
  });

  it("pays no attention to an invitation after a term that is over", () => {
    const rig = waiting();
    hear(rig, { token: { ...LEADER, value: 6n } });
    vacate(rig);
    expect(rig.has("claim")).toBe(true);
  });

  it.each([
    [2, true],
    [3, true],
    [4, false],
  ])("a priority of %i beside its own 3: claims at once is %s", (priority, claims) => {
    const rig = waiting({ priority: 3 });
    hear(rig, { priority });
    vacate(rig);
    expect(rig.has("claim")).toBe(claims);
  });

  it("sends an attempt again that has been sent: its outcome is not known yet", () => {
    const rig = waiting();
    vacate(rig);
    rig.unknown(rig.next("claim"));
    hear(rig, {});
    rig.pass(1000);
    expect(rig.has("claim")).toBe(true);
  });
});

describe("a waiting candidate with a priority", () => {
  it("says so when it has seen who leads, once in a ttl", () => {
    const rig = waiting({ priority: 5 });
    expect(rig.next("invite").request).toMatchObject({
      name: "x",
      invitation: { token: LEADER, to: "alice_me", priority: 5 },
    });
    for (let passed = 0; passed < TTL_MS; passed += 1000) {
      expect(rig.has("invite")).toBe(false);
      rig.healthy(1000);
      if (rig.has("look")) rig.see({ ...HELD, version: version(`v${passed}`) });
    }
    for (let passed = 0; passed < TTL_MS / 2; passed += 1000) {
      rig.healthy(1000);
      if (rig.has("look")) rig.see({ ...HELD, version: version(`w${passed}`) });
    }
    expect(rig.has("invite")).toBe(true);
  });

  it("says nothing without a priority, nor of a lock", () => {
    expect(waiting().has("invite")).toBe(false);
    const rig = new Rig(INVITES, { priority: 5 });
    rig.input({ type: "stand", name: "x", value: "", brief: true });
    rig.pass(0);
    rig.keep();
    rig.pass(0);
    rig.see(HELD);
    rig.pass(rig.machine.settings.pollMs);
    rig.see(HELD);
    expect(rig.has("invite")).toBe(false);
  });
});

describe("a leader that hears of a greater priority", () => {
  const plea = (token: Token, priority = 2): Partial<Invitation> => ({ token, priority, to: "carol" });

  it("makes way when it has led for two ttls, and not before", () => {
    const { rig, token } = leading({ priority: 1 });
    rig.healthy(2 * TTL_MS - 1);
    hear(rig, plea(token));
    expect(rig.happened("state")).toEqual([]);
    rig.pass(1);
    hear(rig, plea(token));
    expect(rig.happened("state").at(-1)).toMatchObject({ state: "ending", reason: "outranked" });
  });

  it("is held until its work has settled, and then stays away as one that was asked", () => {
    const { rig, bid, token } = leading();
    rig.healthy(2 * TTL_MS);
    hear(rig, plea(token));
    rig.healthy(20_000);
    expect(rig.isHeld(bid)).toBe(true);
    expect(rig.has("release")).toBe(false);
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    vacate(rig);
    rig.pass(1.4 * rig.machine.settings.pollMs);
    expect(rig.has("claim") || rig.has("look")).toBe(false);
  });

  it.each([
    ["its own priority", {}, 1],
    ["another token", { value: 2n }, 2],
    ["another bid", { bid: "me.99" as Bid }, 2],
    ["another domain", { domain: "elsewhere" }, 2],
  ])("but not for %s", (_, other, priority) => {
    const { rig, bid, token } = leading({ priority: 1 });
    rig.healthy(2 * TTL_MS);
    hear(rig, plea({ ...token, ...other }, priority));
    expect(rig.state(bid)).toBe("safe");
  });

  it("and not for an invitation without one: whom that names has to answer", () => {
    const { rig, bid, token } = leading();
    rig.healthy(3 * TTL_MS);
    hear(rig, { token, to: "carol" });
    expect(rig.state(bid)).toBe("safe");
  });
});

it.each([
  [{ priority: 1.5 }, INVITES, /priority 1.5 is not a whole number from 0 to 1000/],
  [{ priority: -1 }, INVITES, /priority -1 is not a whole number/],
  [{ priority: "high" as never }, INVITES, /priority "high" is not a whole number/],
  [{ priority: 1 }, { shape: "line", judge: "store-monotonic" } as const, /its queue says who leads next/],
  [{ priority: 1 }, { wakes: "poll" } as const, /hear nothing between two looks/],
  [{ priority: 1 }, { wakes: "watch" } as const, /passes no invitations on/],
])("%j on %j is refused", (input, guarantee, message) => {
  expect(() => new Rig(guarantee, input)).toThrow(message);
});
