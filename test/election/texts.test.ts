// Half of a surrogate pair, and NUL, are refused at every door with a code that says what is wrong: names, ids, values, resources, tokens, URLs, and texts that are
// given to a store directly. UTF-8 cannot write the first, so that two names would become one; the second ends a text for some clients.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, elect, formatToken, openStore, parseToken } from "conclave";
import { durableFence, fencedHandler, fencingHeaders, fileFence, memoryFence } from "conclave/fencing";
import { type asBid, type Claim, type Session, VACANT } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { sqlite } from "conclave/stores/sqlite";
import { fakeStore } from "conclave/testing";
import { flawOf } from "../../src/base/text.ts";
import { resourceOf } from "../../src/fencing/input.ts";
import { makeToken } from "../../src/fencing/token.ts";

const BAD: readonly (readonly [what: string, text: string])[] = [
  ["NUL", "a\0b"],
  ["the first half of a pair", "a\uD83D"],
  ["the second half of a pair", "\uDE00b"],
  ["two halves in the wrong order", "\uDE00\uD83D"],
];
const invalid = { code: "CONFIG_INVALID" };

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-texts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it("whole pairs and every other character pass", () => {
  expect(flawOf("😀 ä 漢 \u200D \uFFFD")).toBeUndefined();
});

it("an escaped NUL opens no store either: some clients take what is before it", async () => {
  const hidden = [
    "sqlite:/tmp/a%00b",
    "memory:a%00b",
    "postgres://127.0.0.1/a%00b",
    "redis://127.0.0.1/0?conclave_prefix=%00",
  ];
  for (const url of hidden) await expect(openStore(url)).rejects.toMatchObject(invalid);
  expect(() => sqlite("sqlite:/tmp/a%00b")).toThrow(expect.objectContaining(invalid));
  expect(() => etcd("etcd://user%00:word@127.0.0.1")).toThrow(expect.objectContaining(invalid));
});

it("what is no token is not written as one", () => {
  const malformed = expect.objectContaining({ code: "TOKEN_MALFORMED" });
  const token = parseToken("d:1:b");
  for (const other of [
    undefined,
    null,
    "d:1:b",
    1n,
    {},
    { ...token, value: 1 },
    { ...token, value: -1n },
    { ...token, value: 10n ** 39n },
  ])
    expect(() => formatToken(other as never)).toThrow(malformed);
  expect(formatToken(makeToken({ ...token, value: 10n ** 39n - 1n }))).toBe(`d:${"9".repeat(39)}:b`);
});

describe.each(BAD)("%s", (what, text) => {
  it("is no name of an election, of a lock, nor an id", async () => {
    const store = fakeStore();
    expect(() => elect(text, { store })).toThrow(expect.objectContaining(invalid));
    const candidate = createCandidate({ store });
    expect(() => candidate.election(text)).toThrow(expect.objectContaining(invalid));
    await expect(candidate.withLock(text, async () => {})).rejects.toMatchObject(invalid);
    expect(() => createCandidate({ store, id: text })).toThrow(expect.objectContaining(invalid));
  });

  it("cannot be announced", async () => {
    const store = fakeStore();
    const won = elect("x", { store }).campaign();
    await store.advance(1);
    const term = await won;
    await expect(term.announce(text)).rejects.toMatchObject(invalid);
    expect(term.isHeld()).toBe(true);
  });

  it("is no part of a token", () => {
    const malformed = expect.objectContaining({ code: "TOKEN_MALFORMED" });
    expect(() => formatToken(makeToken({ domain: text, value: 1n, bid: "b" }))).toThrow(malformed);
    expect(() => formatToken(makeToken({ domain: "d", value: 1n, bid: text }))).toThrow(malformed);
    expect(() => parseToken(`${text}:1:b`)).toThrow(malformed);
    expect(() => parseToken(`d:1:${encodeURIComponent("\0")}`)).toThrow(malformed);
  });

  it("opens no store", async () => {
    await expect(openStore(`memory:${text}`)).rejects.toMatchObject(invalid);
    expect(() => sqlite(path.join(folder, `${text}.db`))).toThrow(expect.objectContaining(invalid));
  });

  it("names no resource", async () => {
    const by = { token: parseToken("d:1:b") };
    expect(() => resourceOf(text)).toThrow(expect.objectContaining(invalid)); // what every guard asks first
    await expect(memoryFence().raise(text, by)).rejects.toMatchObject(invalid);
    await expect(durableFence(path.join(folder, "durable")).raise(text, by)).rejects.toMatchObject(invalid);
    expect(() => fileFence(folder, text)).toThrow(expect.objectContaining(invalid));
    const work = async () => new Response("done");
    expect(() => fencedHandler(memoryFence(), text, work)).toThrow(expect.objectContaining(invalid));
    const handler = fencedHandler(memoryFence(), () => text, work);
    const request = new Request("http://localhost/", { headers: fencingHeaders(by) });
    await expect(handler(request)).rejects.toMatchObject(invalid);
  });

  it("is no domain that a guard adopts, or takes a token back from", async () => {
    const by = { token: parseToken("d:1:b") };
    const memory = memoryFence();
    const durable = durableFence(path.join(folder, "domains"));
    const file = fileFence(folder, `domains-${BAD.findIndex(([each]) => each === what)}`);
    await Promise.all([memory.raise("r", by), durable.raise("r", by), file.raise(by)]);
    for (const move of [
      { from: "d", to: text },
      { from: text, to: "d" },
      { domain: text, from: 2n, to: 1n },
    ]) {
      expect(() => memory.adopt("r", move)).toThrow(expect.objectContaining(invalid));
      expect(() => durable.adopt("r", move)).toThrow(expect.objectContaining(invalid));
      await expect(file.adopt(move)).rejects.toMatchObject(invalid);
    }
  });

  it("is refused by sqlite, given to it directly", async () => {
    const store = sqlite(path.join(folder, "direct.db"));
    const call = { signal: new AbortController().signal, sentAtMs: 0 };
    const kept = await store.keep({ nonce: "n", candidate: "c", ttlMs: 5000 }, [], call);
    const session = (kept as { session: Session }).session;
    const refused = { kind: "refused", code: "STORE_UNSUPPORTED" };
    const claim = { session, name: "x", bid: "b.1" as ReturnType<typeof asBid>, over: VACANT, value: "" };
    const claims: readonly Claim[] = [
      { ...claim, name: text },
      { ...claim, value: text },
      { ...claim, bid: text as ReturnType<typeof asBid> },
    ];
    for (const each of claims) expect(await store.claim([each], call)).toMatchObject([refused]);
    expect(await store.look([{ name: text }], call)).toMatchObject(refused);
    expect(await store.keep({ nonce: text, candidate: "c", ttlMs: 5000 }, [], call)).toMatchObject(refused);
    expect(await store.keep({ nonce: "m", candidate: text, ttlMs: 5000 }, [], call)).toMatchObject(refused);
    await store.close();
  });
});
