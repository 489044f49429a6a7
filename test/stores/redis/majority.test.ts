// What several servers have said together, counted: granted and kept need a certain majority; lost and beaten need that none can be reached any more; anything between is unknown.
import { describe, expect, it } from "vitest";
import { asBid, asVersion, type Claimed, type Hold, type Kept, type Seat } from "conclave/stores/contract";
import {
  answerUngranted,
  decideClaim,
  decideKept,
  majorityOf,
  seatOf,
  versionAt,
} from "../../../src/stores/redis/majority.ts";

const session = { id: "s", candidate: "c", ttlMs: 1000 };
const hold: Hold = { name: "x", bid: asBid("b") };
const granted: Claimed = { kind: "granted", hold };
const seat = (holder?: string): Seat => ({
  name: "x",
  version: asVersion(holder ?? "-"),
  ...(holder === undefined
    ? { state: "vacant" }
    : { state: "held", holder: { candidate: holder, bid: asBid(holder) } }),
});
const beaten = (holder?: string): Claimed => ({ kind: "beaten", seat: seat(holder) });
const unknown = { kind: "unknown", cause: "silence" } as const;
const over = { kind: "session-lost" } as const;
const refused = (retryable: boolean): Extract<Claimed, { kind: "refused" }> => ({
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message: "no",
  retryable,
});
const kept = (...lost: readonly Hold[]): Kept => ({ kind: "kept", session, lost, unsure: [], strays: [] });
const anew = (): Kept => ({ kind: "kept", session, lost: [], unsure: [], strays: [], proves: false });

it("a majority is more than a half", () => {
  expect([1, 2, 3, 4, 5].map(majorityOf)).toEqual([1, 2, 2, 3, 3]);
});

describe("a claim", () => {
  it.each<readonly [votes: readonly (Claimed | undefined)[], decided: unknown]>([
    [[granted, granted, undefined], "granted"],
    [[granted, undefined, undefined], undefined],
    [[granted, beaten("r"), undefined], undefined],
    [[granted, beaten("r"), beaten("r")], "not"],
    [[granted, beaten("r"), unknown], "unsure"],
    [[beaten("r"), beaten("r"), undefined], "not"],
    [[granted, unknown, unknown], "unsure"],
    [[granted, refused(true), refused(true)], "not"],
    [[granted, granted, beaten("r"), beaten("r")], "not"],
    [[granted, granted, granted, beaten("r")], "granted"],
  ])("%j is %s", (votes, decided) => {
    expect(decideClaim(votes)).toBe(decided);
  });

  it("that was not granted is told what a majority shows, or why there is none", () => {
    expect(answerUngranted([granted, beaten("r"), beaten("r")], seat("r"))).toMatchObject({ kind: "beaten" });
    expect(answerUngranted([over, over, granted], seat())).toEqual(over);
    expect(answerUngranted([refused(false), refused(false), unknown], undefined)).toMatchObject({
      kind: "refused",
      retryable: false,
    });
    expect(answerUngranted([refused(false), refused(true), unknown], undefined)).toMatchObject({
      kind: "refused",
      retryable: true,
    });
    expect(answerUngranted([unknown, unknown, granted], seat())).toEqual(unknown);
  });
});

describe("a keep", () => {
  it("renews a record only where a majority has it, and loses it only where none can have it", () => {
    expect(decideKept([kept(), kept(), undefined], [hold])).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    expect(decideKept([kept(), kept(hold), undefined], [hold])).toBeUndefined();
    expect(decideKept([kept(), kept(hold), unknown], [hold])).toMatchObject({ lost: [], unsure: [hold] });
    expect(decideKept([kept(), kept(hold), refused(true)], [hold])).toMatchObject({ lost: [], unsure: [hold] });
    expect(decideKept([kept(), kept(hold), kept(hold)], [hold])).toMatchObject({ lost: [hold], unsure: [] });
    expect(decideKept([kept(), kept(hold), over], [hold])).toMatchObject({ lost: [hold], unsure: [] });
  });

  it("shows what is left over at any of them, each bid by itself", () => {
    const left = (bid: string): Kept => ({ ...kept(), strays: [{ name: "x", bid: asBid(bid) }] }) as Kept;
    const decided = decideKept([left("older"), left("oldest"), left("older")], []);
    expect(decided).toMatchObject({ strays: [{ bid: "older" }, { bid: "oldest" }] });
  });

  it("is lost where a majority does not know the session, or has made it anew", () => {
    expect(decideKept([over, over, undefined], [])).toEqual(over);
    // One server that has forgotten it decides nothing, as long as a majority may know it.
    expect(decideKept([kept(), over, undefined], [])).toBeUndefined();
    expect(decideKept([kept(), over, unknown], [])).toEqual(unknown);
    expect(decideKept([anew(), anew(), kept()], [])).toEqual(over);
    expect(decideKept([anew(), kept(), kept()], [])).toMatchObject({ kind: "kept" });
    expect(decideKept([kept(), unknown, unknown], [])).toEqual(unknown);
    expect(decideKept([kept(), unknown, undefined], [])).toBeUndefined();
  });
});

describe("a seat", () => {
  it("is held by the majority's bid, vacant where a majority can be had, and else by the one that has most", () => {
    expect(seatOf("x", [seat("a"), seat("a"), seat("b")])).toMatchObject({ state: "held", holder: { bid: "a" } });
    expect(seatOf("x", [seat("a"), seat(), seat()])).toMatchObject({ state: "vacant" });
    expect(seatOf("x", [seat("a"), seat("b"), seat()])).toMatchObject({ state: "held" });
    expect(seatOf("x", [seat(), seat(), undefined])).toMatchObject({ state: "vacant" });
  });

  it("has a version that says what each server showed", () => {
    const { version } = seatOf("x", [seat("a|?"), undefined, seat()]);
    expect([0, 1, 2, 3].map((server) => versionAt(version, server))).toEqual(["a|?", undefined, "-", undefined]);
  });
});
