import { describe, expect, it } from "vitest";
import { ReplyError } from "../../src/clients/redis/resp.ts";
import { answerOf, encodeAnswer, helloOf, matches, Pairs } from "../../src/failover/sentinel-words.ts";
import { type SentinelView, switchMessages } from "conclave/failover";

const VIEW: SentinelView = {
  name: "orders",
  monitor: "m1",
  quorum: 2,
  epoch: 4,
  primary: { host: "10.0.0.1", port: 6379 },
  isPrimaryDown: false,
  replicas: [{ host: "10.0.0.2", port: 6379, isUp: true, isLinked: true }],
  others: [{ monitor: "m2", host: "10.0.0.2", port: 26379 }],
};

describe("what clients ask a sentinel", () => {
  it("the address of the primary, and none of another name or before there is one", () => {
    const asked = ["SENTINEL", "get-master-addr-by-name", "orders"];
    expect(answerOf(asked, VIEW)).toEqual(["10.0.0.1", "6379"]);
    expect(answerOf(["sentinel", "GET-MASTER-ADDR-BY-NAME", "other"], VIEW)).toBeNull();
    expect(answerOf(asked, { ...VIEW, primary: undefined })).toBeNull();
  });

  it("the master, its replicas and the other sentinels, as pairs", () => {
    const master = answerOf(["SENTINEL", "MASTER", "orders"], VIEW);
    expect(master).toBeInstanceOf(Pairs);
    expect(encodeAnswer(master, 3)).toMatch(/^%10\r\n/);
    expect(encodeAnswer(master, 2)).toMatch(/^\*20\r\n/);
    for (const sub of ["REPLICAS", "SLAVES", "SENTINELS"])
      expect(answerOf(["SENTINEL", sub, "orders"], VIEW)).toHaveLength(1);
    expect(answerOf(["SENTINEL", "MASTER", "other"], VIEW)).toBeInstanceOf(ReplyError);
  });

  it("a version of the protocol", () => {
    expect(helloOf(["HELLO", "3"]).protocol).toBe(3);
    expect(helloOf(["HELLO", "4"]).answer).toBeInstanceOf(ReplyError);
  });

  it("channels by patterns, as Redis has them", () => {
    expect(matches("[-+]sdown", "+sdown")).toBe(true);
    expect(matches("[-+]sdown", "xsdown")).toBe(false);
    expect(matches("+s*", "+switch-master")).toBe(true);
    expect(matches("+slave", "+slave")).toBe(true);
    expect(matches("a?c", "abc")).toBe(true);
    expect(matches("a.c", "abc")).toBe(false);
  });

  it("a switch is told in Sentinel's words", () => {
    const [old, next] = [
      { host: "h1", port: 1 },
      { host: "h2", port: 2 },
    ];
    expect(switchMessages("orders", old, next, [old])).toEqual([
      ["+switch-master", "orders h1 1 h2 2"],
      ["+slave", "slave h1:1 h1 1 @ orders h2 2"],
    ]);
  });
});
