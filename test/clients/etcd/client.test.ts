// The client against a server that misbehaves in ways in which no real etcd does on demand.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { etcd } from "conclave/stores/etcd";
import type { FencedStore, Looked } from "conclave/stores/contract";
import { passwordHidden } from "../../../src/base/url.ts";
import { parseAddress } from "../../../src/clients/etcd/address.ts";
import { encode, ProtobufMessage } from "../../../src/clients/etcd/protobuf.ts";
import { rangeEndOf } from "../../../src/clients/etcd/messages.ts";
import { atLeast } from "../../../src/clients/etcd/version.ts";
import { anyVersion, metAt } from "../../../src/stores/etcd/guarantee.ts";
import { FakeEtcd } from "./fake-etcd.ts";

let fake: FakeEtcd;
let store: FencedStore;
beforeEach(async () => {
  fake = await FakeEtcd.start();
  store = etcd(fake.url);
});
afterEach(async () => {
  await store.close();
  await fake.stop();
});

const look = (ms = 2000): Promise<Looked> =>
  store.look([{ name: "x" }], { signal: AbortSignal.timeout(ms), sentAtMs: 0 });

describe("a server that", () => {
  it.each([
    [
      "is too old",
      () =>
        fake.answers.set("Status", () => [
          [2, "3.3.25"],
          [4, 1n],
        ]),
      "STORE_UNSUPPORTED",
      /older than 3\.4/,
    ],
    ["knows of no leader", () => fake.answers.set("Status", () => [[2, "3.5.30"]]), "STORE_UNREACHABLE", /no leader/],
    [
      "has no such method",
      () => fake.answers.set("Txn", () => ({ status: 12, message: "" })),
      "STORE_UNSUPPORTED",
      /3\.4 or newer/,
    ],
    [
      "has no space",
      () => fake.answers.set("Txn", () => ({ status: 8, message: "etcdserver: mvcc: database space exceeded" })),
      "STORE_UNREACHABLE",
      /alarm disarm/,
    ],
    [
      "has too much to do",
      () => fake.answers.set("Txn", () => ({ status: 8, message: "etcdserver: too many requests" })),
      "STORE_UNREACHABLE",
      /tried again/,
    ],
  ] as const)("%s is refused", async (_what, arrange, code, message) => {
    arrange();
    expect(await look()).toMatchObject({ kind: "refused", code, message: expect.stringMatching(message) as unknown });
  });

  it.each([
    ["times out by itself", { status: 14, message: "etcdserver: request timed out" }],
    ["changes its leader", { status: 14, message: "etcdserver: leader changed" }],
    ["fails in a way not known here", { status: 2, message: "what?" }],
    ["never answers", "silence"],
  ] as const)("%s leaves it unknown", async (_what, answer) => {
    expect((await look()).kind).toBe("seen"); // there is a connection: without one, a busy machine may send nothing within the time
    fake.answers.set("Txn", () => answer);
    expect((await look(400)).kind).toBe("unknown");
    fake.answers.delete("Txn");
    expect((await look()).kind).toBe("seen");
  });

  it("says goodbye is left, and found again", async () => {
    expect((await look()).kind).toBe("seen");
    fake.goAway();
    await expect.poll(async () => (await look()).kind).toBe("seen");
  });
});

describe("a keep of a session on which nothing hangs", () => {
  const session = { id: "1f", candidate: "web-1", ttlMs: 5000 };
  const call = () => ({ signal: AbortSignal.timeout(2000), sentAtMs: 0 });
  const asked = (): readonly string[] => fake.asked.filter((method) => method !== "Status");

  it("is LeaseKeepAlive and nothing else, and says that it proves nothing", async () => {
    const kept = await store.keep(session, [], call(), { proof: false, strays: false });
    expect(kept).toMatchObject({ kind: "kept", proves: false });
    expect(asked()).toEqual(["LeaseKeepAlive"]);
  });

  it("looks for strays where that is wished, and proves nothing by it", async () => {
    expect(await store.keep(session, [], call(), { proof: false })).toMatchObject({ kind: "kept", proves: false });
    expect(asked()).toEqual(["LeaseKeepAlive", "LeaseTimeToLive"]);
  });

  it("is confirmed by a read where a proof is wished", async () => {
    const kept = await store.keep(session, [], call(), { strays: false });
    expect(kept).toMatchObject({ kind: "kept" });
    expect(kept).not.toHaveProperty("proves");
    expect(asked()).toEqual(["LeaseKeepAlive", "Range"]);
  });

  it("that is over says so", async () => {
    fake.answers.set("LeaseKeepAlive", () => [[3, 0n]]);
    expect((await store.keep(session, [], call(), { proof: false, strays: false })).kind).toBe("session-lost");
  });
});

describe("what is read and written", () => {
  it("numbers come back as they were, up to 64 bits and below zero", () => {
    for (const value of [1n, 127n, 128n, 2n ** 49n - 1n, 2n ** 49n, 2n ** 53n + 1n, 2n ** 63n - 1n, -1n, -(2n ** 63n)])
      expect(new ProtobufMessage(encode([[5, value]])).int64(5)).toBe(value);
    expect(new ProtobufMessage(encode([[5, 2n ** 64n - 1n]])).uint64(5)).toBe(2n ** 64n - 1n);
  });

  it("what ends in the middle is no message", () => {
    const whole = encode([
      [1, "a text"],
      [2, 300n],
    ]);
    for (let length = 1; length < whole.length; length++)
      if (length !== 8) expect(() => new ProtobufMessage(whole.subarray(0, length)), `${length}`).toThrow(RangeError);
  });

  it("a range ends after everything that begins with its prefix", () => {
    expect(rangeEndOf(Buffer.from("a/"))).toEqual(Buffer.from("a0"));
    expect(rangeEndOf(Buffer.of(1, 0xff))).toEqual(Buffer.of(2));
    expect(rangeEndOf(Buffer.of(0xff))).toEqual(Buffer.of(0));
  });

  it("what is promised depends on the version", () => {
    const early = (version: string): boolean => (metAt(version)?.earlyEnds ?? []).length > 0;
    expect([metAt(undefined), anyVersion().earlyEnds.length]).toEqual([undefined, 1]);
    expect(["3.4.23", "3.4.30", "3.5.0", "3.5.12", "unreadable"].map(early)).toEqual(Array(5).fill(true));
    expect(["3.4.31", "3.4.40", "3.5.13", "3.5.30", "3.6.0", "4.0.0"].map(early)).toEqual(Array(6).fill(false));
    expect([atLeast("3.6.0-rc.1", "3.6.0"), atLeast("3.10.0", "3.9.9")]).toEqual([false, true]);
  });
});

it.each([
  ["etcd://app:s%40cret@h:2379,i/p", "etcd://app:PASSWORD@h:2379,i/p"],
  ["etcd://h:2379/a:b", "etcd://h:2379/a:b"],
])("a URL that is shown has no password: %s", (url, shown) => {
  expect(passwordHidden(parseAddress(url).url)).toBe(shown);
});
