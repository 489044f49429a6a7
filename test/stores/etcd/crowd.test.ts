// Very many names at once: what the driver sends of them together, and what it says of those that it has not sent.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { asBid, type Claim, type FencedStore, type Question } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./etcd.ts";
import { FakeEtcd } from "../../clients/etcd/fake-etcd.ts";

const MANY = 5000;
const session = { id: "1f", candidate: "web-1", ttlMs: 5000 };
const names = Array.from({ length: MANY }, (_, index) => `n${index}`);

describe("a member that answers no transaction", () => {
  let fake: FakeEtcd;
  let store: FencedStore;
  let over: AbortController;
  const call = () => ({ signal: over.signal, sentAtMs: 0 });
  const sent = (): number => fake.asked.filter((method) => method === "Txn").length;
  beforeEach(async () => {
    fake = await FakeEtcd.start();
    fake.answers.set("Txn", () => "silence");
    store = etcd(fake.url);
    over = new AbortController();
  });
  afterEach(async () => {
    over.abort();
    await store.close();
    await fake.stop();
  });

  it("is sent a few claims at a time; what was not sent when they are given up is said not to have been done", async () => {
    const claims = names.map((name): Claim => ({ session, name, bid: asBid(`b-${name}`), value: "" }));
    const claimed = store.claim(claims, call());
    await expect.poll(sent).toBe(16);
    over.abort(new Error("given up"));
    const kinds = (await claimed).map(({ kind }) => kind);
    expect(sent()).toBe(16);
    expect(kinds.slice(0, 16 * 64)).toEqual(Array(16 * 64).fill("unknown"));
    expect(kinds.slice(16 * 64)).toEqual(Array(MANY - 16 * 64).fill("refused"));
  });

  it("renews while thousands of names wait to be watched: their reading is a few requests, and takes its turn", async () => {
    const questions = names.map((name): Question => ({ name, bid: asBid(`b-${name}`), session }));
    const hints = store.watch(questions, call())[Symbol.asyncIterator]();
    void hints.next();
    await expect.poll(sent).toBe(16);
    const signal = AbortSignal.timeout(5000);
    expect((await store.keep(session, [], { signal, sentAtMs: 0 })).kind).toBe("kept");
    expect(fake.asked.filter((method) => method === "Range" || method === "Txn")).toHaveLength(17);
  });
});

const servers = useServers(etcdServer);

it("ten thousand names campaigned for at once are won, and renewed", async () => {
  // With users etcd looks at every key of a lease for each that is added to it: ten thousand take minutes there.
  const many = servers().user === undefined ? 10_000 : 500;
  await using candidate = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 60_000 });
  const ended: string[] = [];
  candidate.subscribe(({ type }) => void ((type === "lost" || type === "session") && ended.push(type)));
  const terms = await Promise.all(
    Array.from({ length: many }, (_, index) => candidate.election(`crowd-${index}`).campaign()),
  );
  await terms[0]?.renew();
  expect(terms.filter((term) => !term.isHeld())).toHaveLength(0);
  expect(ended).toEqual(["session"]);
}, 120_000);
