// Handing over on request: a request ends the term that it names, as `resign` does, and no other. On the machine alone.
import { describe, expect, it } from "vitest";
import type { Bid, Guarantee, Hold, Token } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const SHOWN = { version: "v1", state: "held", ttlMs: 10_000 } as const;

function leading(guarantee: Partial<Guarantee> = {}): { readonly rig: Rig; readonly bid: Bid; readonly token: Token } {
  const rig = new Rig(guarantee);
  const bid = rig.lead();
  const [elected] = rig.happened("elected");
  if (elected?.type !== "elected" || elected.token === undefined) throw new Error("nobody was elected");
  return { rig, bid, token: elected.token };
}

/** The next renewal is answered with this request. */
function ask(rig: Rig, bid: Bid, token: Token | undefined): void {
  rig.pass(3000);
  const asked: Hold[] = [{ name: "x", bid, token }];
  rig.keep(rig.next("keep"), { asked });
}

describe("a request that names this very term", () => {
  it("makes it end as if it had resigned, says why, and stays held until the work has settled", () => {
    const { rig, bid, token } = leading();
    ask(rig, bid, token);
    expect(rig.happened("state").at(-1)).toMatchObject({ state: "ending", reason: "asked" });
    expect(rig.isHeld(bid)).toBe(true);
    rig.healthy(20_000);
    expect(rig.isHeld(bid)).toBe(true);
    expect(rig.has("release")).toBe(false);
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    expect(rig.isHeld(bid)).toBe(false);
    expect(rig.next("release").request.will.holds).toMatchObject([{ name: "x", bid }]);
    expect(rig.happened("settled")).toMatchObject([{ reason: "asked" }]);
  });

  it("is obeyed when the renewal thread's keep has brought it", () => {
    const { rig, bid, token } = leading();
    const { session } = rig.machine;
    if (session.kind !== "open") throw new Error("there is no session");
    const asked = [{ name: "x", bid, token }];
    const kept = { kind: "kept", session: session.session, lost: [], unsure: [], strays: [], asked } as const;
    rig.input({ type: "repeated", opened: session.opened, keep: 1, sentAt: rig.now, kept });
    expect(rig.state(bid)).toBe("ending");
  });

  it("in a race the candidate stays away for longer than a poll, whatever it hears, and then stands again", () => {
    const { rig, bid, token } = leading();
    ask(rig, bid, token);
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    const { pollMs } = rig.machine.settings;
    rig.input({ type: "hint", hint: { name: "x", seat: { name: "x", version: "v2" as never, state: "vacant" } } });
    rig.pass(1.4 * pollMs);
    expect(rig.has("claim") || rig.has("look")).toBe(false);
    rig.pass(0.2 * pollMs);
    expect(rig.has("claim") || rig.has("look")).toBe(true);
  });

  it("in a line it does not stay away: those who wait stand before it", () => {
    const { rig, bid, token } = leading({ shape: "line", judge: "store-monotonic" });
    ask(rig, bid, token);
    rig.input({ type: "settle", name: "x" });
    rig.pass(0);
    rig.answer(rig.next("release"), { kind: "released" });
    rig.pass(1000);
    expect(rig.has("claim")).toBe(true);
  });
});

describe("a request that names another term ends nothing", () => {
  const others: readonly (readonly [what: string, (token: Token) => Token | undefined])[] = [
    ["an earlier value", (token) => ({ ...token, value: token.value - 1n })],
    ["a later value", (token) => ({ ...token, value: token.value + 1n })],
    ["the same value of another domain", (token) => ({ ...token, domain: "elsewhere" })],
    ["the same value of another bid", (token) => ({ ...token, bid: "other.1" as Bid })],
    ["no token", () => undefined],
  ];
  it.each(others)("%s", (_what, changed) => {
    const { rig, bid, token } = leading();
    ask(rig, bid, changed(token));
    expect(rig.state(bid)).toBe("safe");
    rig.healthy(30_000);
    expect(rig.isHeld(bid)).toBe(true);
  });

  it("also without a token of its own", () => {
    const { rig, bid } = leading();
    const campaign = rig.machine.campaigns.get("x");
    if (campaign?.stage.kind !== "leading") throw new Error("nobody leads");
    (campaign.stage.term.hold as { token?: Token | undefined }).token = undefined;
    ask(rig, bid, undefined);
    expect(rig.state(bid)).toBe("safe");
  });

  it("a name that is not led, or not stood for", () => {
    const rig = new Rig();
    rig.stand();
    rig.see({ ...SHOWN, version: "v1" as never });
    rig.pass(3000);
    const token = { domain: "table", value: 1n, bid: "me.1" as Bid };
    rig.keep(rig.next("keep"), { asked: ["x", "y"].map((name) => ({ name, bid: token.bid, token })) });
    expect(rig.happened("state")).toEqual([]);
  });
});

it("a hint of a request makes the holder renew at once, and ends nothing by itself", () => {
  const { rig, bid } = leading();
  rig.healthy(500);
  expect(rig.has("keep")).toBe(false);
  rig.input({ type: "hint", hint: { name: "x", asked: true } });
  rig.pass(0);
  expect(rig.has("keep")).toBe(true);
  expect(rig.state(bid)).toBe("safe");
});
