// Users of etcd: what a candidate is allowed to ask, and which token it shows. errors.test.ts has what people are told where a right is missing.
import { cpSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { etcd } from "conclave/stores/etcd";
import type { FencedStore } from "conclave/stores/contract";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import { ask, urlOf } from "./etcd.ts";
import { FakeEtcd } from "../../clients/etcd/fake-etcd.ts";

const call = (ms = 3000) => ({ signal: AbortSignal.timeout(ms), sentAtMs: 0 });
const denied = () => ({ status: 7, message: "etcdserver: permission denied" }) as const;

describe("a member that shows its status to root alone, as from 3.5.28 on", () => {
  let fake: FakeEtcd;
  let store: FencedStore;
  beforeEach(async () => {
    fake = await FakeEtcd.start();
    fake.answers.set("Status", denied);
    store = etcd(fake.url);
  });
  afterEach(async () => {
    await store.close();
    await fake.stop();
  });

  it("is used, and counts as one that ends no lease early", async () => {
    expect(store.guarantee.earlyEnds).toHaveLength(1);
    const opened = await store.keep({ nonce: "n", candidate: "a", ttlMs: 5000 }, [], call());
    expect(opened).toMatchObject({ kind: "kept", met: { server: expect.stringMatching(/^etcd 3\./), earlyEnds: [] } });
  });

  it("is left if it belongs to another cluster than the one before", async () => {
    expect((await store.look([{ name: "x" }], call())).kind).toBe("seen");
    fake.header.clusterId = 8n;
    fake.goAway();
    await expect
      .poll(async () => JSON.stringify(await store.look([{ name: "x" }], call())))
      .toMatch(/STORE_FOREIGN_DATA.*belongs to cluster 8/);
  });

  it("is left if it knows of no leader", async () => {
    fake.answers.set("LeaseTimeToLive", () => ({ status: 14, message: "etcdserver: no leader" }));
    expect(await store.look([{ name: "x" }], call())).toMatchObject({ code: "STORE_UNREACHABLE", retryable: true });
  });

  it("confirms the renewal of a session without holds, whose reading is refused", async () => {
    fake.answers.set("Range", denied);
    const session = { id: "77", candidate: "c", ttlMs: 5000 };
    expect(await store.keep(session, [], call())).toMatchObject({ kind: "kept", lost: [] });
    fake.answers.set("Range", () => {
      fake.header.raftTerm++;
      return denied();
    });
    expect((await store.keep(session, [], call())).kind).toBe("unknown");
  });
});

describe("a token", () => {
  const own = privateFolder("etcd-rights");
  afterAll(() => own.remove());

  it("is asked for anew on every connection: an etcd that was put back to a backup waits for ever for the index in an older one", async () => {
    const servers = await etcdServer.start({ folder: own.folder, auth: true });
    const [node] = servers.nodes;
    const [url = ""] = servers.urls;
    const [data, backup] = ["n0/data", "backup"].map((name) => path.join(own.folder, name)) as [string, string];
    const store = etcd(urlOf(servers));
    try {
      await node?.stop();
      cpSync(data, backup, { recursive: true });
      await node?.restart();
      for (let count = 0; count < 20; count++) await ask(url, "/v3/kv/put", { key: "YQ==", value: "" });
      expect((await store.look([{ name: "x" }], call())).kind).toBe("seen");
      await node?.stop();
      rmSync(data, { recursive: true });
      cpSync(backup, data, { recursive: true });
      await node?.restart();
      let kind = "";
      for (const end = performance.now() + 10_000; kind !== "seen" && performance.now() < end; await sleep(50))
        ({ kind } = await store.look([{ name: "x" }], call()));
      expect(kind).toBe("seen");
    } finally {
      await store.close();
      await servers.stop();
    }
  }, 60_000);
});
