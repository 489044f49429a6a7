// Elsewhere: two processes with one hostname both renewed one record; a restarted process found its own key and led silently on (Kubernetes, n8n).
// Here: a nonce of the process is in every bid; a name alone is nobody. The two candidates below have the same id, as two containers of one hostname would.
// Taken out: test/defences/shared-identity.patch
import { expect, it } from "vitest";
import { elect } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { memory } from "conclave/stores/memory";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../etcd/etcd.ts";
import { useServers } from "../servers.ts";

const servers = useServers(etcdServer);
const stores: readonly (readonly [name: string, ttlMs: number, open: () => FencedStore])[] = [
  ["memory, race", 500, () => memory({ shape: "race" })],
  ["memory, line", 500, () => memory({ shape: "line" })],
  ["etcd", 2000, () => etcd(urlOf(servers()))],
];

it.each(stores)("shared-identity: of two candidates with one id only one leads (%s)", async (_name, ttlMs, open) => {
  const store = open();
  await using one = elect("x", { store, id: "web-1", ttlMs, drainMs: 100 });
  await using two = elect("x", { store, id: "web-1", ttlMs, drainMs: 100 });
  one.start();
  two.start();
  await expect.poll(() => one.term() ?? two.term()).toBeDefined();
  const until = performance.now() + 700 + ttlMs;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([one.term(), two.term()].filter(Boolean)).toHaveLength(1);
  }
  expect((one.term() ?? two.term())?.candidate).toMatch(/^web-1_[0-9a-f]{16}-\d+$/);
});
