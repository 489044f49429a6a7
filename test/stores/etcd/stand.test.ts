// Joining the queue, with a server that is driven step by step: what happens between the transaction that joins and the one that finds the place.
import { expect, it } from "vitest";
import { asBid } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { encode } from "../../../src/clients/etcd/protobuf.ts";
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
