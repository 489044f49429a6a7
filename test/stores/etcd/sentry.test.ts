// A watch of many names: etcd takes at most 128 operations in a transaction (--max-txn-ops), and refuses the whole if there are more.
import { expect, it } from "vitest";
import { asBid, type Hint, type Question, type Session } from "conclave/stores/contract";
import { sessionOfLease } from "../../../src/stores/etcd/entry.ts";
import { type EtcdPost, standSentries } from "../../../src/stores/etcd/sentry.ts";
import { joinAll } from "../../../src/stores/etcd/stand.ts";
import { ModelEtcd } from "../../clients/etcd/model-etcd.ts";

const MAX_TXN_OPS = 128;
const COUNT = 500;

it("asks about hundreds of names in transactions that etcd takes, and hears of each", async () => {
  const { signal } = new AbortController();
  const model = new ModelEtcd();
  model.leases.set(1n, 10);
  const session: Session = { id: sessionOfLease(1n), candidate: "c", ttlMs: 10_000 };
  const questions = Array.from({ length: COUNT }, (_, place): Question => {
    return { name: `x${place}`, bid: asBid(`b${place}`), session };
  });
  const claims = questions.map(({ name, bid = asBid("") }) => ({ session, name, bid, over: undefined, value: "" }));
  await joinAll(model.link, "", claims, signal);
  model.txns.splice(0);
  const hints: Hint[] = [];
  const hint = (each: Hint): void => void hints.push(each);
  const post: EtcdPost = { link: model.link, prefix: "", signal, stops: new Set(), hint, end: () => {} };
  await standSentries(post, questions);
  expect(Math.max(...model.txns.map(({ success }) => success.length))).toBeLessThanOrEqual(MAX_TXN_OPS);
  expect(model.txns.length).toBeLessThan(COUNT / 10);
  expect(new Set(hints.map(({ name }) => name)).size).toBe(COUNT);
});
