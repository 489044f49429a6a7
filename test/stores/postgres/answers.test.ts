// What the answers of the database's functions mean where a row of it makes no sense: for each claim, whether something was written.
import { expect, it } from "vitest";
import type { Bid, Claim, Version } from "conclave/stores/contract";
import { readClaimed, readSeat } from "../../../src/stores/postgres/answers.ts";

const where = { place: "db.example:5432/app", schema: "conclave" };
const claim: Claim = {
  session: { id: "s", candidate: "c", ttlMs: 4000 },
  name: "x",
  bid: "b.1" as Bid,
  over: "never" as Version,
  value: "",
};
const seat = { name: "x", version: "held 1", state: "held", candidate: "c", bid: "b.0", token: "4", value: "", ttl: 1 };

it("reads a grant, a claim that was beaten, and a session that is over", () => {
  expect(readClaimed(claim, { verdict: "granted", token: "5" }, "d", where)).toMatchObject({ kind: "granted" });
  expect(readClaimed(claim, { verdict: "beaten", seat }, "d", where)).toMatchObject({ kind: "beaten" });
  expect(readClaimed(claim, { verdict: "session-lost" }, "d", where)).toEqual({ kind: "session-lost" });
});

it("a grant whose token or domain makes no sense is unknown: it was written", () => {
  for (const token of [undefined, null, "", "0", "-4", "1.5", 5])
    expect(readClaimed(claim, { verdict: "granted", token }, "d", where).kind).toBe("unknown");
  expect(readClaimed(claim, { verdict: "granted", token: "5" }, undefined, where).kind).toBe("unknown");
  expect(readClaimed(claim, {}, "d", where).kind).toBe("unknown");
});

it("a claim that was beaten by a row that makes no sense is refused: nothing was written for it", () => {
  for (const edit of [{ ttl: 0 }, { token: "-4" }, { state: "?" }, { candidate: 7 }]) {
    const row = { ...seat, ...edit };
    expect(readClaimed(claim, { verdict: "beaten", seat: row }, "d", where)).toMatchObject({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
    });
    expect(() => readSeat(row, where)).toThrow(/somebody has edited it/);
  }
});
