// The text of a signed token: one form for one content, bounded, and read without ever failing in another way than by its refusal.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isConclaveError } from "conclave";
import { type Claims, contentOf, LIFE_MAX_MS, parseSigned, writeSigned } from "../../src/fencing/signed-text.ts";
import { makeToken } from "../../src/fencing/token.ts";

const SIGNATURE = Buffer.alloc(64, 0xa5);
const CLAIMS: Claims = {
  keyId: "AbCdEfGhIjKlMnOpQrStUv",
  issuedMs: 1_700_000_000_000,
  expiresMs: 1_700_000_010_000,
  audience: "https://ledger.example:8443/a b",
  election: "billing/nightly",
  token: makeToken({ domain: "etcd-1", value: 41n, bid: "web-1_9c" }),
};
const write = (claims: Claims): string => writeSigned(contentOf(claims), SIGNATURE);
const TEXT = write(CLAIMS);

const refusalOf = (text: string): string => {
  try {
    parseSigned(text);
  } catch (error) {
    if (isConclaveError(error) && error.code === "TOKEN_MALFORMED") return error.message;
    throw error;
  }
  return "read";
};
/** The text with one part replaced. */
const withPart = (index: number, part: string): string => TEXT.split(":").with(index, part).join(":");

const anyText = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !text.includes("\0"));
const anyClaims: fc.Arbitrary<Claims> = fc
  .record({
    keyId: fc.constant(CLAIMS.keyId),
    issuedMs: fc.integer({ min: 0, max: 2 ** 45 }),
    lifeMs: fc.integer({ min: 1, max: LIFE_MAX_MS }),
    audience: anyText,
    election: anyText,
    domain: anyText,
    bid: anyText,
    value: fc.bigInt(0n, 10n ** 39n - 1n),
  })
  .map(({ issuedMs, lifeMs, domain, bid, value, ...rest }) => ({
    ...rest,
    issuedMs,
    expiresMs: issuedMs + lifeMs,
    token: makeToken({ domain, value, bid }),
  }));

describe("the text of a signed token", () => {
  it("shows every field that is signed, and reads back as it was written", () => {
    expect(TEXT.split(":").slice(0, 9)).toEqual([
      "conclave-signed-1",
      "AbCdEfGhIjKlMnOpQrStUv",
      "1700000000000",
      "1700000010000",
      "https%3A//ledger.example%3A8443/a%20b",
      "billing/nightly",
      "etcd-1",
      "41",
      "web-1_9c",
    ]);
    expect(parseSigned(TEXT)).toEqual({ claims: CLAIMS, content: contentOf(CLAIMS), signature: SIGNATURE });
  });

  it("reads back whatever can be signed", () => {
    fc.assert(
      fc.property(anyClaims, (claims) => {
        expect(parseSigned(write(claims)).claims).toEqual(claims);
      }),
    );
  });

  it.each([
    ["is another version", withPart(0, "conclave-signed-2"), "does not begin with conclave-signed-1"],
    ["is a token that is not signed", "etcd-1:41:web-1_9c", "does not begin with conclave-signed-1"],
    ["lacks a part", TEXT.split(":").slice(0, 9).join(":"), "10 parts"],
    ["has a part too many", `${TEXT}:`, "10 parts"],
    ["has no key id", withPart(1, ""), "key id"],
    ["has a key id of another length", withPart(1, "AbCdEfGhIjKlMnOpQrStU"), "key id"],
    ["has an instant with a sign", withPart(2, "-1"), "instants"],
    ["has an instant with a leading zero", withPart(2, "01700000000000"), "instants"],
    ["has an instant of sixteen digits", withPart(3, "1700000010000000"), "instants"],
    ["expires when it was issued", withPart(3, "1700000000000"), "before it was issued"],
    ["lives for more than a day", withPart(3, `${1_700_000_000_000 + LIFE_MAX_MS + 1}`), "more than a day"],
    ["has no audience", withPart(4, ""), "audience cannot be written: it is empty"],
    ["has no election", withPart(5, ""), "election cannot be written: it is empty"],
    ["has no domain", withPart(6, ""), "domain cannot be written: it is empty"],
    ["has a value with a leading zero", withPart(7, "041"), "decimal"],
    ["has a value of forty digits", withPart(7, "1".repeat(40)), "decimal"],
    ["has a value in hexadecimal", withPart(7, "0x29"), "decimal"],
    ["has no bid", withPart(8, ""), "bid cannot be written: it is empty"],
    ["has an escape where none belongs", withPart(6, "etcd%2D1"), "one form"],
    ["has an escape in lower case", withPart(4, "a%3ab"), "one form"],
    ["has half an escape", withPart(4, "a%3"), "no escape"],
    ["has a character that should be escaped", withPart(5, "a b"), "one form"],
    ["has a NUL", withPart(5, "a%00b"), "NUL"],
    ["has a signature that is too short", withPart(9, "A".repeat(85)), "64 bytes"],
    ["has a signature in plain base64", withPart(9, `${"A".repeat(84)}+A`), "64 bytes"],
    ["has a signature with padding", `${TEXT}==`, "64 bytes"],
    ["has bits behind its signature", withPart(9, `${"A".repeat(85)}B`), "one form"],
    ["is longer than any reader takes", withPart(4, "a".repeat(4096)), "more than 4096 characters"],
  ])("is refused if it %s", (_, text, why) => {
    expect(refusalOf(text)).toContain(why);
  });

  it("repeats nothing of what it refuses: it may be a credential", () => {
    const message = refusalOf(withPart(7, "041"));
    for (const part of TEXT.split(":").slice(1)) expect(message).not.toContain(part.slice(0, 12));
  });

  it("cannot be written if it would be longer than any reader takes", () => {
    expect(() => write({ ...CLAIMS, audience: "ä".repeat(700) })).toThrow("may have 4096");
    expect(refusalOf(write({ ...CLAIMS, audience: "a".repeat(3000) }))).toBe("read");
  });

  it("fuzzed: any other text is refused, by its code and within a moment; a changed one never reads as the same content", () => {
    const cut = fc
      .record({ at: fc.nat(TEXT.length), remove: fc.nat(8), insert: fc.string({ maxLength: 8 }) })
      .map(({ at, remove, insert }) => TEXT.slice(0, at) + insert + TEXT.slice(at + remove));
    const garbage = fc.oneof(
      fc.string({ maxLength: 6000 }),
      fc.string({ unit: "binary", maxLength: 300 }),
      fc
        .array(fc.constantFrom(":", "%", "0", "conclave-signed-1", "\uD800", "A"), { maxLength: 5000 })
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(fc.oneof(cut, garbage), (text) => {
        if (refusalOf(text) !== "read") return;
        const { content, signature } = parseSigned(text);
        expect(writeSigned(content, signature)).toBe(text);
        if (text !== TEXT) expect([content, signature]).not.toEqual([contentOf(CLAIMS), SIGNATURE]);
      }),
      { numRuns: 2_000 },
    );
  });
});
