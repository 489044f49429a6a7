// Signed tokens: what a guard with `verify` refuses, each in its own words and before it remembers anything; how keys rotate; and that every guard verifies.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isConclaveError, parseToken } from "conclave";
import { etcdFence } from "conclave/fencing/etcd";
import {
  durableFence,
  type Fence,
  fencedHandler,
  fencedListener,
  fencingHeaders,
  fileFence,
  keyId,
  memoryFence,
  type Signed,
  type SignOptions,
  signToken,
  sqliteFence,
  type Verification,
  verifyToken,
} from "conclave/fencing";
import { type PostgresTransaction, postgresFence } from "conclave/fencing/postgres";
import { fakeTerm } from "conclave/testing";
import { contentOf, parseSigned, writeSigned } from "../../src/fencing/signed-text.ts";
import { bindings } from "./bindings.ts";
import { codeOf } from "./tokens.ts";

const NOW = 1_700_000_000_000;
const pair = (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } => generateKeyPairSync("ed25519");
const [ours, next, strange] = [pair(), pair(), pair()];
const pem = (key: KeyObject): string =>
  key.export({ type: key.type === "public" ? "spki" : "pkcs8", format: "pem" }) as string;

const folder = mkdtempSync(path.join(tmpdir(), "conclave-signed-"));
afterAll(() => rmSync(folder, { recursive: true }));

const term = (value: bigint): ReturnType<typeof fakeTerm> => fakeTerm({ token: value, election: "billing" });
const signed = (value: bigint, options: Partial<SignOptions> = {}, key: KeyObject = ours.privateKey): Signed =>
  signToken(term(value), key, { audience: "ledger", ttlMs: 10_000, now: () => NOW, ...options });
const verification = (more: Partial<Verification> = {}): Verification => ({
  keys: ours.publicKey,
  skewMs: 1_000,
  now: () => NOW,
  ...more,
});
const guard = (more: Partial<Verification> = {}): Fence<Signed> => memoryFence({ verify: verification(more) });

const refusal = async (work: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> => {
  try {
    await work;
  } catch (error) {
    if (isConclaveError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: "admitted", message: "" };
};
const problem = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (isConclaveError(error) && error.code === "CONFIG_INVALID") return error.message;
    throw error;
  }
  return "no problem";
};

/** A token whose text was changed after it was signed, with a signature of the same length. */
const altered = ({ signed: text }: Signed, part: number, to: string): Signed => ({
  signed: text.split(":").with(part, to).join(":"),
});

/** Signed by a key that is accepted, and for what it says; only the claims are not what signToken would have put there. */
function signedWith(more: Partial<ReturnType<typeof parseSigned>["claims"]>, key: KeyObject = ours.privateKey): Signed {
  const content = contentOf({ ...parseSigned(signed(41n).signed).claims, ...more });
  return { signed: writeSigned(content, sign(null, Buffer.from(content), key)) };
}

describe("a guard with verify", () => {
  it("takes a token that was signed for it, and compares tokens as every guard does", async () => {
    const fence = guard();
    await fence.raise("ledger", signed(41n));
    expect(await fence.run("ledger", signed(42n), ({ token }) => token.value)).toBe(42n);
    expect(await codeOf(fence.raise("ledger", signed(41n)))).toBe("TOKEN_STALE");
  });

  it("refuses an old token that was signed just now: to be signed is not to be new", async () => {
    const fence = guard();
    await fence.raise("ledger", signed(42n, { now: () => NOW - 9_000 }));
    expect(await codeOf(fence.raise("ledger", signed(41n)))).toBe("TOKEN_STALE");
  });

  it("refuses a token of a key that it does not accept", async () => {
    const { code, message } = await refusal(guard().raise("ledger", signed(41n, {}, strange.privateKey)));
    expect(code).toBe("TOKEN_UNTRUSTED");
    expect(message).toContain(`no key ${keyId(strange.privateKey)} is accepted here, but ${keyId(ours.publicKey)}`);
  });

  it("refuses a token that names an accepted key and was signed by another", async () => {
    const forged = signedWith({}, strange.privateKey);
    expect(await refusal(guard().raise("ledger", forged))).toMatchObject({
      code: "TOKEN_UNTRUSTED",
      message: expect.stringContaining("forged or altered"),
    });
  });

  it.each([
    ["when it was issued", 2, `${NOW + 1}`],
    ["when it expires", 3, `${NOW + 60_000}`],
    ["what it is for", 4, "payroll"],
    ["its election", 5, "shipping"],
    ["its domain", 6, "etcd-2"],
    ["its value", 7, "9000"],
    ["its bid", 8, "web-9"],
    ["its signature", 9, "A".repeat(86)],
  ])("refuses a token that was altered after it was signed: %s", async (_, part, to) => {
    expect(await codeOf(guard().raise("ledger", altered(signed(41n), part, to)))).toBe("TOKEN_UNTRUSTED");
  });

  it("refuses the key id of another accepted key", async () => {
    const fence = guard({ keys: [ours.publicKey, next.publicKey] });
    expect(await codeOf(fence.raise("ledger", altered(signed(41n), 1, keyId(next.publicKey))))).toBe("TOKEN_UNTRUSTED");
  });

  it("refuses a token for another resource, by the resource's name or by the audience that it was given", async () => {
    const { code, message } = await refusal(guard().raise("payroll", signed(41n)));
    expect([code, message]).toEqual(["TOKEN_UNTRUSTED", expect.stringContaining(`for "ledger"`)]);
    const named = guard({ audience: "https://ledger.example" });
    expect(await codeOf(named.raise("ledger", signed(41n)))).toBe("TOKEN_UNTRUSTED");
    expect(await codeOf(named.raise("ledger", signed(41n, { audience: "https://ledger.example" })))).toBe("admitted");
  });

  it("refuses a token of another election, if it was told which one is its own", async () => {
    expect(await codeOf(guard({ election: "shipping" }).raise("ledger", signed(41n)))).toBe("TOKEN_UNTRUSTED");
    expect(await codeOf(guard({ election: "billing" }).raise("ledger", signed(41n)))).toBe("admitted");
  });

  it.each([
    ["is not over", 10_999, "admitted"],
    ["is over by more than the clocks may differ", 11_000, "TOKEN_EXPIRED"],
    ["has not come, by no more than the clocks may differ", -1_000, "admitted"],
    ["has not come", -1_001, "TOKEN_EXPIRED"],
    ["cannot be told, because the clock gives no number", Number.NaN, "TOKEN_EXPIRED"],
  ])("a token whose time %s", async (_, afterMs, outcome) => {
    expect(await codeOf(guard({ now: () => NOW + afterMs }).raise("ledger", signed(41n)))).toBe(outcome);
  });

  it("refuses a token that is not signed, a text, and nothing at all", async () => {
    const fence = guard() as Fence<never>;
    const strangers = [
      term(41n),
      { token: parseToken("etcd-1:41:b") },
      signed(41n).signed,
      undefined,
      { signed: 41 },
      {},
    ];
    const codes = await Promise.all(strangers.map((each) => codeOf(fence.raise("ledger", each as never))));
    expect(codes).toEqual([
      "TOKEN_UNTRUSTED",
      "TOKEN_UNTRUSTED",
      ...Array.from({ length: 4 }, () => "TOKEN_MALFORMED"),
    ]);
  });

  it("believes only what is signed of an object that also has a token", async () => {
    const fence = guard();
    const both = { ...signed(41n), token: term(9000n).token };
    expect(await fence.run("ledger", both, ({ token }) => token.value)).toBe(41n);
  });

  it("remembers nothing of what it refuses", async () => {
    const fence = guard();
    const huge = 10n ** 38n;
    for (const bad of [
      signed(huge, {}, strange.privateKey),
      altered(signed(41n), 7, `${huge}`),
      signed(huge, { audience: "payroll" }),
      signed(huge, { now: () => NOW - 60_000 }),
    ])
      await refusal(fence.raise("ledger", bad));
    expect(await codeOf(fence.raise("ledger", signed(1n)))).toBe("admitted");
  });

  it("does not show a signed token in a refusal", async () => {
    const token = signed(41n, { audience: "payroll" });
    const { message } = await refusal(guard().raise("ledger", token));
    expect(message).not.toContain(token.signed.split(":").at(-1));
    expect(() => parseToken(token.signed)).toThrow(/^this is a signed token/);
  });
});

describe("keys rotate", () => {
  it("both keys are accepted while both are named, and a key that was withdrawn is not", async () => {
    let keys = [ours.publicKey];
    const fence = guard({ keys: () => keys });
    await fence.raise("ledger", signed(1n));
    expect(await codeOf(fence.raise("ledger", signed(2n, {}, next.privateKey)))).toBe("TOKEN_UNTRUSTED");
    keys = [ours.publicKey, next.publicKey];
    await fence.raise("ledger", signed(2n, {}, next.privateKey));
    await fence.raise("ledger", signed(3n));
    keys = [next.publicKey];
    expect(await codeOf(fence.raise("ledger", signed(4n)))).toBe("TOKEN_UNTRUSTED");
    await fence.raise("ledger", signed(4n, {}, next.privateKey));
  });

  it("a key is known by an id that private, public and PEM share, and another key does not", () => {
    const ids = [ours.privateKey, ours.publicKey, pem(ours.privateKey), pem(ours.publicKey)].map(keyId);
    expect(new Set(ids)).toEqual(new Set([keyId(createPublicKey(ours.privateKey))]));
    expect(keyId(next.publicKey)).not.toBe(ids[0]);
  });

  it("keys may be PEM", () => {
    const token = signToken(term(41n), pem(ours.privateKey), { audience: "ledger", ttlMs: 1_000 });
    expect(verifyToken("ledger", token, pem(ours.publicKey))).toMatchObject({
      token: { value: 41n },
      election: "billing",
      audience: "ledger",
      keyId: keyId(ours.publicKey),
    });
  });
});

describe("what cannot work is refused where it is configured", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 });
  it.each([
    ["a key that is not set", undefined, "Is the environment variable set?"],
    ["an empty text", "", "Is the environment variable set?"],
    ["a text that is no key", "ssh-ed25519 AAAA", "no key in PEM"],
    ["no key", [], "names no key"],
    ["too many keys", Array.from({ length: 65 }, () => ours.publicKey), "65 keys"],
    ["the private key", ours.privateKey, "this is the private key"],
    ["the private key in PEM", pem(ours.privateKey), "this is the private key"],
    ["a key of another kind", rsa.publicKey, "of rsa, not of Ed25519"],
    ["a misspelled option", { key: ours.publicKey }, "key is not an option; did you mean keys?"],
    ["an audience that is not set", { keys: ours.publicKey, audience: "" }, "verify.audience"],
    ["a skew that is no number", { keys: ours.publicKey, skewMs: Number.NaN }, "verify.skewMs"],
    ["a skew of more than an hour", { keys: ours.publicKey, skewMs: 3_600_001 }, "verify.skewMs"],
    ["a clock that is none", { keys: ours.publicKey, now: NOW }, "now is not a function"],
  ])("verify: %s", (_, verify, why) => {
    expect(problem(() => memoryFence({ verify: verify as KeyObject }))).toContain(why);
  });

  it("a misspelled verify does not make an open guard", () => {
    const misspelled = { verfiy: ours.publicKey } as never;
    expect(problem(() => memoryFence(misspelled))).toContain("verfiy is not an option");
    expect(problem(() => durableFence(folder, misspelled))).toContain("verfiy is not an option");
    expect(problem(() => fileFence(folder, "f", misspelled))).toContain("verfiy is not an option");
    expect(problem(() => sqliteFence(misspelled))).toContain("verfiy is not an option");
    expect(problem(() => postgresFence(misspelled))).toContain("verfiy is not an option");
    expect(problem(() => etcdFence("etcd://127.0.0.1:1", misspelled))).toContain("verfiy is not an option");
  });

  it.each([
    ["no audience", { ttlMs: 1 }, ours.privateKey, "audience is undefined"],
    ["no ttl", { audience: "a" }, ours.privateKey, "ttlMs is undefined"],
    ["a ttl of 0", { audience: "a", ttlMs: 0 }, ours.privateKey, "ttlMs is 0"],
    ["a ttl of more than a day", { audience: "a", ttlMs: 86_400_001 }, ours.privateKey, "a day"],
    ["a clock that gives no number", { audience: "a", ttlMs: 1, now: () => Number.NaN }, ours.privateKey, "no time"],
    ["a misspelled option", { audience: "a", ttlMs: 1, ttl: 1 }, ours.privateKey, "ttl is not an option"],
    ["the public key", { audience: "a", ttlMs: 1 }, ours.publicKey, "the private one is needed"],
    ["a key of another kind", { audience: "a", ttlMs: 1 }, rsa.privateKey, "not of Ed25519"],
  ])("signToken: %s", (_, options, key, why) => {
    expect(problem(() => signToken(term(1n), key, options as SignOptions))).toContain(why);
  });

  it("signToken needs the election, too", () => {
    const bare = { token: term(1n).token } as never;
    expect(problem(() => signToken(bare, ours.privateKey, { audience: "a", ttlMs: 1 }))).toContain(
      "{ token, election }",
    );
  });

  it("a guard without verify says what to do with a signed token, and does not admit it", async () => {
    const { code, message } = await refusal((memoryFence() as Fence<never>).raise("ledger", signed(1n) as never));
    expect([code, message]).toEqual(["TOKEN_MALFORMED", expect.stringContaining("{ verify: publicKey }")]);
  });

  it("the compiler tells signed and unsigned apart", () => {
    const misuse = (): void => {
      // @ts-expect-error a guard with verify takes no term
      void memoryFence({ verify: ours.publicKey }).raise("ledger", term(1n));
      // @ts-expect-error a guard without verify takes nothing signed
      void memoryFence().raise("ledger", signed(1n));
    };
    expect(misuse).toBeTypeOf("function");
  });
});

describe("every guard verifies before it touches what it guards", () => {
  const verify = verification();
  const untouched: PostgresTransaction = {
    query: () => {
      throw new Error("the database was asked");
    },
  };
  const tables = sqliteFence({ verify });
  const files = fileFence(folder, "ledger", { verify });
  const [binding] = bindings;
  const raises: readonly (readonly [string, (by: Signed) => Promise<unknown>])[] = [
    ["memory", (by) => memoryFence({ verify }).raise("ledger", by)],
    ["durable", (by) => durableFence(path.join(folder, "durable"), { verify }).raise("ledger", by)],
    ["file, raise", (by) => files.raise(by)],
    ["file, write", (by) => files.write("content", by)],
    ["sqlite", async (by) => tables.raise(opened(), "ledger", by)],
    ["postgres, admit", (by) => postgresFence({ verify }).admit(untouched, "ledger", by)],
    ["postgres, raise", (by) => postgresFence({ verify }).raise(untouched, "ledger", by)],
    ["etcd, raise", (by) => etcdFence("etcd://127.0.0.1:1", { verify }).raise("ledger", by)],
    ["etcd, write", (by) => etcdFence("etcd://127.0.0.1:1", { verify }).write("ledger", by, [])],
  ];
  const opened = (): ReturnType<(typeof bindings)[0]["open"]> => {
    const database = binding?.open(path.join(folder, "fence.db"));
    if (database === undefined) throw new Error("there is no binding");
    database.exec(tables.schema());
    return database;
  };

  it.each(raises)("%s", async (_, raise) => {
    expect(await codeOf(raise(signed(10n ** 38n, {}, strange.privateKey)))).toBe("TOKEN_UNTRUSTED");
    expect(await codeOf(raise(term(41n) as never))).toBe("TOKEN_UNTRUSTED");
  });

  it("and admits what was signed for it", async () => {
    for (const [name, raise] of raises.slice(0, 5))
      expect([name, await codeOf(raise(signed(41n)))]).toEqual([name, "admitted"]);
  });
});

describe("over HTTP", () => {
  const ask = (by: Parameters<typeof fencingHeaders>[0]): Request =>
    new Request("http://ledger/", { headers: fencingHeaders(by) });
  const serve = fencedHandler(guard(), "ledger", (_, { token }) => new Response(`${token.value}`));

  it("the header carries the signed token, and the handler is handed what was verified", async () => {
    const response = await serve(ask(signed(41n)));
    expect([response.status, await response.text()]).toEqual([200, "41"]);
  });

  it.each([
    ["a token that is not signed", term(41n), 403, "TOKEN_UNTRUSTED"],
    ["a forged token", signed(9000n, {}, strange.privateKey), 403, "TOKEN_UNTRUSTED"],
    ["a token for another resource", signed(9000n, { audience: "payroll" }), 403, "TOKEN_UNTRUSTED"],
    ["a token that has expired", signed(9000n, { now: () => NOW - 60_000 }), 403, "TOKEN_EXPIRED"],
    ["an older token", signed(40n), 412, "TOKEN_STALE"],
  ])("%s", async (_, by, status, code) => {
    const response = await serve(ask(by));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
  });

  it("a listener of node:http is behind the same checks", async () => {
    const listener = fencedListener(guard(), "ledger", async (_, response, { token }) => {
      response.end(`${token.value}`);
    });
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const answers = [];
    for (const by of [signed(41n), term(41n), signed(42n, {}, strange.privateKey), signed(40n)]) {
      const response = await fetch(url, { headers: fencingHeaders(by) });
      answers.push([response.status, (await response.text()).slice(0, 27)]);
    }
    server.closeAllConnections();
    server.close();
    expect(answers).toEqual([
      [200, "41"],
      [403, '{"code":"TOKEN_UNTRUSTED","'],
      [403, '{"code":"TOKEN_UNTRUSTED","'],
      [412, '{"code":"TOKEN_STALE","mess'],
    ]);
  });

  it("a signed token that is none is answered 400, and no client sends one", async () => {
    const headers = { "fencing-token": "conclave-signed-1:x" };
    expect((await serve(new Request("http://ledger/", { headers }))).status).toBe(400);
    expect(() => fencingHeaders({ signed: "conclave-signed-1:x" })).toThrow("not a signed token");
  });
});
