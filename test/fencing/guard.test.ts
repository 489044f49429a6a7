// The guard's rule: what is admitted, what is refused, and in which words.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isConclaveError, parseToken, type UnfencedTerm } from "conclave";
import { fencingHeaders, memoryFence, StaleTokenError } from "conclave/fencing";
import { fakeTerm } from "conclave/testing";
import { admit, moveDomain, type Remembered } from "../../src/fencing/guard.ts";
import { anyToken, by, codeOf, findDisorder, token } from "./tokens.ts";

const known = (value: bigint, bid = `b${value}`): Remembered => admit("ledger", undefined, token(value, bid));
const refusal = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("a guard", () => {
  it("takes the first token as it comes, and then every greater one", () => {
    expect(admit("ledger", known(40n), token(41))).toMatchObject({
      domain: "etcd-1",
      mark: { value: 41n, bid: "b41" },
    });
  });

  it("admits the newest token again, and remembers nothing new", () => {
    const remembered = known(41n);
    expect(admit("ledger", remembered, token(41))).toBe(remembered);
  });

  it("refuses an older value, and says who was there and who came", () => {
    const error = refusal(() => admit("ledger", known(41n, "web-2_9c"), token(40, "web-1_1f")));
    expect(error).toBeInstanceOf(StaleTokenError);
    expect(error).toMatchObject({
      code: "TOKEN_STALE",
      retryable: false,
      resource: "ledger",
      presented: { value: 40n },
      newest: { value: 41n, bid: "web-2_9c" },
      message: `"ledger" has seen token 41 of web-2_9c; this write carries 40 of web-1_1f. The writer has been replaced.`,
    });
  });

  it("refuses an equal value of another bid", () => {
    const error = refusal(() => admit("ledger", known(41n, "x"), token(41, "y")));
    expect(error).toMatchObject({ code: "TOKEN_STALE", message: expect.stringContaining("Two terms with one number") });
  });

  it("refuses another domain with its own code, whatever the value", () => {
    const error = refusal(() => admit("ledger", known(41n), token(9000, "b", "etcd-2")));
    expect(error).toMatchObject({ code: "TOKEN_FOREIGN" });
    expect((error as Error).message).toContain(`{ from: "etcd-1", to: "etcd-2" }`);
    expect(error).not.toBeInstanceOf(StaleTokenError);
  });

  it("judges values of any size exactly", () => {
    const large = 2n ** 64n + 1n;
    expect(admit("ledger", known(large), token(large + 1n))).toMatchObject({ mark: { value: large + 1n } });
    expect(refusal(() => admit("ledger", known(large), token(large - 1n)))).toMatchObject({ code: "TOKEN_STALE" });
  });

  it("never admits an older token after a newer one, in any order of arrival", () => {
    fc.assert(
      fc.property(fc.array(anyToken, { maxLength: 30 }), (arrivals) => {
        let remembered: Remembered | undefined;
        const admitted = arrivals.filter((arrival) => {
          const next = refusal(() => admit("r", remembered, arrival));
          if (isConclaveError(next)) return false;
          remembered = next as Remembered;
          return true;
        });
        expect(findDisorder(admitted)).toBeUndefined();
        if (arrivals.length > 0) expect(admitted.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe("a repair", () => {
  const poisoned = admit("ledger", known(41n), token(9000, "huge"));
  const lowering = { domain: "etcd-1", from: 9000n, to: 40n };
  const lowered = moveDomain("ledger", poisoned, lowering);

  it("takes back exactly the value that it names, and admits only what is above the new one", () => {
    expect(lowered).toMatchObject({ domain: "etcd-1", mark: { value: 40n, bid: undefined } });
    expect(refusal(() => admit("ledger", lowered, token(40)))).toMatchObject({ code: "TOKEN_STALE" });
    expect(admit("ledger", lowered, token(41))).toMatchObject({ mark: { value: 41n } });
  });

  it("done twice is done once, also when greater tokens have come since", () => {
    expect(moveDomain("ledger", lowered, lowering)).toBe(lowered);
    const since = admit("ledger", lowered, token(50));
    expect(moveDomain("ledger", since, lowering)).toBe(since);
  });

  it("leaves domains that were left as they are", () => {
    const moved = moveDomain("ledger", known(7n), { from: "etcd-1", to: "etcd-2" });
    const huge = admit("ledger", moved, token(9000, "huge", "etcd-2"));
    const after = moveDomain("ledger", huge, { domain: "etcd-2", from: 9000n, to: 1n });
    expect(after.left).toEqual(new Map([["etcd-1", 7n]]));
  });

  it.each([
    ["of a value below the one that is known", { ...lowering, from: 8999n }, "it knows token 9000 of etcd-1"],
    ["of another domain", { ...lowering, domain: "etcd-2" }, "not 9000 of etcd-2"],
    ["to a value that is not below", { ...lowering, to: 9000n }, "9000 is not below 9000"],
    ["to a negative value", { ...lowering, to: -1n }, "-1 is not below 9000"],
    ["with numbers", { ...lowering, to: 40 as never }, "as bigint"],
  ])("is refused %s, and changes nothing", (_, asked, why) => {
    expect(refusal(() => moveDomain("ledger", poisoned, asked))).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(why),
    });
  });
});

describe("adopt", () => {
  const moved = moveDomain("ledger", known(41n), { from: "etcd-1", to: "etcd-2" });

  it("admits any token of the new domain, and none of the old one, however great", () => {
    expect(admit("ledger", moved, token(1, "b", "etcd-2"))).toMatchObject({ domain: "etcd-2", mark: { value: 1n } });
    const error = refusal(() => admit("ledger", moved, token(9000)));
    expect(error).toMatchObject({
      code: "TOKEN_FOREIGN",
      message: expect.stringContaining("has left etcd-1 for etcd-2"),
    });
  });

  it("done twice is done once", () => {
    expect(moveDomain("ledger", moved, { from: "etcd-1", to: "etcd-2" })).toBe(moved);
  });

  it("back to a domain that was left admits only what is newer than all that it had", () => {
    const back = moveDomain("ledger", moved, { from: "etcd-2", to: "etcd-1" });
    expect(refusal(() => admit("ledger", back, token(40)))).toMatchObject({ code: "TOKEN_STALE" });
    expect(refusal(() => admit("ledger", back, token(41)))).toMatchObject({ code: "TOKEN_STALE" });
    expect(admit("ledger", back, token(42))).toMatchObject({ mark: { value: 42n } });
    expect(refusal(() => admit("ledger", back, token(9, "b", "etcd-2")))).toMatchObject({ code: "TOKEN_FOREIGN" });
  });

  it.each([
    [
      "from a domain that is not the present one",
      known(41n),
      { from: "etcd-9", to: "etcd-2" },
      "knows tokens of etcd-1",
    ],
    [
      "from a domain that it has never known, although it is where it would lead",
      known(41n),
      { from: "etcd-9", to: "etcd-1" },
      "knows tokens of etcd-1",
    ],
    ["of a resource that has met no token", undefined, { from: "etcd-1", to: "etcd-2" }, "has met no token yet"],
    ["to the same domain", known(41n), { from: "etcd-1", to: "etcd-1" }, "both etcd-1"],
    ["without words", known(41n), undefined as never, "pass { from, to }"],
  ])("is refused %s", (_, remembered, move, why) => {
    const error = refusal(() => moveDomain("ledger", remembered, move));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(why) });
  });
});

describe("what JavaScript hands to a guard", () => {
  const { token: _, ...unfenced } = { ...fakeTerm(), isHeld: () => true };
  it.each([
    ["a term without a token", unfenced, "its store cannot fence"],
    ["a bigint", 41n, "only a number"],
    ["a number", 41, "only a number"],
    ["a text", "etcd-1:41:b", "parseToken(text)"],
    ["a token", token(41), "pass { token }"],
    ["a promise", Promise.resolve(by(41)), "await it"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["a token with a number", { token: { domain: "d", value: 41, bid: "b" } }, "numbers lose digits"],
    ["a token without a bid", { token: { domain: "d", value: 41n } }, "is not a token that a store made"],
    ["a negative value", { token: { domain: "d", value: -1n, bid: "b" } }, "out of bounds"],
    ["a value beyond the text form", { token: { domain: "d", value: 10n ** 39n, bid: "b" } }, "out of bounds"],
    ["a lone surrogate", { token: { domain: "\uD800", value: 1n, bid: "b" } }, "half of a surrogate pair"],
  ])("is refused with what to pass: %s", async (_, wrong, hint) => {
    const refused = expect.objectContaining({ code: "TOKEN_MALFORMED", message: expect.stringContaining(hint) });
    await expect(memoryFence().raise("ledger", wrong as never)).rejects.toEqual(refused);
    expect(refusal(() => fencingHeaders(wrong as never))).toEqual(refused);
  });

  it.each(["", undefined, 7])("is refused if the resource has no name: %s", async (resource) => {
    expect(await codeOf(memoryFence().raise(resource as never, by(1)))).toBe("CONFIG_INVALID");
  });

  it("does not compile where the compiler can see it", async () => {
    const fence = memoryFence();
    const unfencedTerm: UnfencedTerm = fakeTerm();
    const [value, text] = [41n, "etcd-1:41:b"];
    // @ts-expect-error a term without a token does not enter a guard
    await fence.raise("ledger", unfencedTerm);
    // @ts-expect-error nor does a number
    expect(await codeOf(fence.raise("ledger", value))).toBe("TOKEN_MALFORMED");
    // @ts-expect-error nor a text, not even in a header
    expect(() => fencingHeaders(text)).toThrow();
  });

  it("may be a term, or a parsed request", async () => {
    const fence = memoryFence();
    await fence.raise("ledger", fakeTerm({ token: 1n }));
    await fence.raise("ledger", { token: parseToken("fake:2:fake.2") });
    expect(await codeOf(fence.raise("ledger", fakeTerm({ token: 1n })))).toBe("TOKEN_STALE");
  });
});
