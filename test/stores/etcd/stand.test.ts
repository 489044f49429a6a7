// Joining the queue, with a server that is driven step by step: what happens between the transaction that joins and the one that finds the place.
import { expect, it } from "vitest";
import { asBid } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { encode, type ProtobufMessage } from "../../../src/clients/etcd/protobuf.ts";
import { FakeEtcd } from "../../clients/etcd/fake-etcd.ts";

/** The answer to a join: it was put, and this key is the first of the queue. */
function joinedBehind(first: string): readonly (readonly [number, Buffer | boolean])[] {
  const entry = encode([
    [1, Buffer.from(first)],
    [2, 5n],
    [6, 9n],
  ]);
  return [
    [2, true],
    [3, encode([[2, encode([])]])],
    [3, encode([[1, encode([[2, entry]])]])],
  ];
}

it("an entry that is gone when its place is looked for is not the first, and the outcome is unknown", async () => {
  const fake = await FakeEtcd.start();
  const store = etcd(fake.url);
  const steps = [joinedBehind("x/9"), []]; // then the comparison of the own entry fails: it is gone
  fake.answers.set("Txn", () => steps.shift() ?? "silence");
  const session = { id: "1f", candidate: "web-1", ttlMs: 5000 };
  const claim = { session, name: "x", bid: asBid("b1"), value: "" };
  const [claimed] = await store.claim([claim], { signal: AbortSignal.timeout(3000), sentAtMs: 0 });
  expect(claimed?.kind).toBe("unknown");
  await store.close();
  await fake.stop();
});

/** A read that found this entry of ours. */
function found(key: string, createRevision: bigint): readonly [number, Buffer] {
  const entry = encode([
    [1, Buffer.from(key)],
    [2, createRevision],
    [5, Buffer.from(JSON.stringify({ id: "web-1", bid: "b1", ttlMs: 5000, value: "" }))],
    [6, 31n],
  ]);
  return [3, encode([[1, encode([[2, entry]])]])];
}

const FOUND_NOTHING = [3, encode([[1, encode([])]])] as const;
const PUT = [3, encode([[2, encode([])]])] as const;

const SUCCEEDED = [2, true] as const;

/** Claims in the name of a candidate that stands, of a server that gives these answers. Returns what was asked of it, and what it all came to. */
async function claimStanding(answers: readonly (readonly (readonly [number, Buffer | boolean])[])[]) {
  const fake = await FakeEtcd.start();
  const store = etcd(fake.url);
  const [steps, asked] = [answers.slice(), [] as ProtobufMessage[]];
  fake.answers.set("Txn", (request) => {
    asked.push(request);
    return steps.shift() ?? "silence";
  });
  const session = { id: "1f", candidate: "web-1", ttlMs: 5000 };
  const claim = { session, name: "x", bid: asBid("b1"), value: "", stands: true } as const;
  const [claimed] = await store.claim([claim], { signal: AbortSignal.timeout(3000), sentAtMs: 0 });
  await store.close();
  await fake.stop();
  return { asked, claimed };
}

/** Whether a transaction compares nothing and only reads: then etcd writes nothing to its disk for it. */
function onlyReads(txn: ProtobufMessage): boolean {
  return txn.all(1).length === 0 && txn.all(2).every((operation) => operation.has(1)) && txn.all(3).length === 0;
}

it("a candidate that stands and has become the first learns it by a read", async () => {
  const { asked, claimed } = await claimStanding([[SUCCEEDED, found("x/1f", 4n), found("x/1f", 4n)]]);
  expect(claimed).toMatchObject({ kind: "granted", hold: { bid: "b1", token: { value: 4n } } });
  expect(asked.map(onlyReads)).toEqual([true]);
});

it("a candidate whose entry is gone is not the first, although nobody else stands there: it joins anew, with a new token", async () => {
  const joinedFirst = [SUCCEEDED, PUT, found("x/1f", 10n)] as const;
  const { asked, claimed } = await claimStanding([[SUCCEEDED, FOUND_NOTHING, FOUND_NOTHING], joinedFirst]);
  expect(claimed).toMatchObject({ kind: "granted", hold: { token: { value: 10n } } });
  expect(asked.map(onlyReads)).toEqual([true, false]);
});
