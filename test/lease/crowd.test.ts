// Very many names at once: what is under way together, and that the rest has not been sent.
import { expect, it } from "vitest";
import type { Claim, Guarantee } from "conclave/stores/contract";
import { Rig } from "./rig.ts";

const NAMES = Array.from({ length: 5000 }, (_, index) => `n${index}`);

/** All stand, and the session is open. */
function crowd(besides: Partial<Guarantee> = {}): Rig {
  const rig = new Rig({ shape: "line", judge: "store-monotonic", holdsPerSession: Infinity, ...besides });
  for (const name of NAMES) rig.input({ type: "stand", name, value: "" });
  rig.pass(0);
  rig.keep();
  rig.pass(0);
  return rig;
}

const claimsIn = (rig: Rig): readonly Claim[] =>
  rig.pending.flatMap(({ request }) => (request.method === "claim" ? request.claims : []));

/** Answers what is under way, `tookMs` later, one after the other, and then lets out what there is room for. */
function answer(rig: Rig, tookMs: number): void {
  rig.pass(tookMs);
  if (rig.has("keep")) rig.keep();
  for (const { request } of rig.pending.slice()) if (request.method === "claim") rig.grant();
  rig.pass(0);
}

it("a few claims go out first; as long as answers come quickly there are more, in requests of a bounded size, of which a bounded number is under way", () => {
  const rig = crowd();
  expect(claimsIn(rig)).toHaveLength(128);
  const underWay = [];
  for (let turn = 0; turn < 5; turn++) {
    answer(rig, 1);
    underWay.push(claimsIn(rig).length);
  }
  expect(underWay).toEqual([256, 512, 1024, 1024, 1024]);
  for (const { request } of rig.pending)
    expect(request.method === "claim" && request.claims.length).toBeLessThanOrEqual(256);
});

it("a request carries no more claims than the store asks for", () => {
  const rig = crowd({ claimsPerRequest: 20 });
  answer(rig, 1);
  const sizes = rig.pending.flatMap(({ request }) => (request.method === "claim" ? [request.claims.length] : []));
  expect(Math.max(...sizes)).toBe(20);
  expect(claimsIn(rig)).toHaveLength(256);
});

it("one slow moment halves what is under way, however many answers it has delayed; and again, down to one", () => {
  const rig = crowd();
  const underWay = [];
  for (let turn = 0; turn < 9; turn++) {
    answer(rig, 400);
    underWay.push(claimsIn(rig).length);
  }
  expect(underWay).toEqual([64, 32, 16, 8, 4, 2, 1, 1, 1]);
  while (rig.has("claim")) answer(rig, 1);
  expect(rig.happened("elected")).toHaveLength(NAMES.length);
});

it("answers that are neither quick nor slow change nothing", () => {
  const rig = crowd();
  for (let turn = 0; turn < 5; turn++) answer(rig, 200);
  expect(claimsIn(rig)).toHaveLength(128);
});

it("where the store is slow, a renewal has precedence: all claims but one wait until it is answered, and then go on", () => {
  const rig = crowd();
  answer(rig, 400);
  while (!rig.has("keep")) rig.pass(100);
  while (rig.has("claim")) rig.grant();
  rig.pass(0);
  expect(claimsIn(rig)).toHaveLength(1);
  rig.keep();
  rig.pass(0);
  expect(claimsIn(rig).length).toBeGreaterThan(1);
});

it("all are won, each once, as answers come", () => {
  const rig = crowd();
  const sent: string[] = [];
  while (rig.has("claim")) {
    expect(claimsIn(rig).length).toBeLessThanOrEqual(1024);
    const call = rig.next("claim");
    sent.push(...call.request.claims.map(({ name }) => name));
    rig.grant(call);
    rig.pass(0);
  }
  expect(sent.toSorted()).toEqual(NAMES.toSorted());
  expect(rig.happened("elected")).toHaveLength(NAMES.length);
});

it("what is given up before it was sent leaves no trace: no claim of it goes out, and there is no bid to search for", () => {
  const rig = crowd();
  const first = new Set(claimsIn(rig).map(({ name }) => name));
  for (const name of NAMES) if (!first.has(name)) rig.input({ type: "withdraw", name });
  rig.pass(0);
  expect(rig.machine.bidsMade).toBe(first.size);
  while (rig.has("claim")) {
    rig.grant();
    rig.pass(0);
  }
  expect(rig.happened("elected")).toHaveLength(first.size);
  expect(rig.machine.campaigns.size).toBe(first.size);
});

it("claims without an answer make room too, and are sent again with their bids", () => {
  const rig = crowd();
  const lost = claimsIn(rig);
  while (rig.has("claim")) rig.unknown(rig.next("claim"));
  rig.pass(0);
  const others = claimsIn(rig);
  expect(others.length).toBeGreaterThanOrEqual(128);
  for (const claim of others) expect(lost).not.toContainEqual(claim);
  const elected = (): number => rig.happened("elected").length;
  for (let turn = 0; turn < 100 && elected() < NAMES.length; turn++) {
    rig.pass(200);
    if (rig.has("keep")) rig.keep();
    while (rig.has("claim")) rig.grant();
  }
  expect(elected()).toBe(NAMES.length);
});
