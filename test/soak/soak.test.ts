// The judge of `npm run soak` must find what is shown to it: two leaders at once, and a write that came after a newer one.
import { describe, expect, it } from "vitest";
import { formatToken } from "conclave";
import { forge, judgeSoak } from "./judge.ts";

const token = (value: number, bid = `b.${value}`): string =>
  formatToken({ domain: "d", value: BigInt(value), bid } as never);
const LOG = "10 a/1 begin 1\n20 a/1 act 1\n30 a/1 end 1\n40 b/2 begin 2\n80 b/2 act 2\n";
const ACCEPTED = [token(1), token(2), token(2)];

describe("the judge of a soak", () => {
  it("finds nothing where nothing is wrong", () => {
    expect(judgeSoak(...forge(undefined, LOG, ACCEPTED))).toEqual({ terms: 2, writes: 3, findings: [] });
  });

  it("finds two terms at once", () => {
    expect(judgeSoak(...forge("overlap", LOG, ACCEPTED)).findings).toEqual([
      expect.stringMatching(/forged\/1 \(token 3\) began 20\.000 ms before b\/2/),
    ]);
  });

  it("finds a write that was accepted after a newer one", () => {
    expect(judgeSoak(...forge("stale-write", LOG, ACCEPTED)).findings).toEqual([
      "a write with token 1 was accepted after one with 2",
    ]);
  });

  it("finds two terms of one number, another domain, and silence", () => {
    expect(judgeSoak(LOG, [token(2), token(2, "other")]).findings).toEqual(["two terms with token 2 have written"]);
    const foreign = formatToken({ domain: "e", value: 3n, bid: "b" } as never);
    expect(judgeSoak(LOG, [token(2), foreign]).findings).toEqual(["a write of domain e was accepted after one of d"]);
    expect(judgeSoak("", []).findings).toEqual(["nobody ever led", "nothing was ever written"]);
  });
});
