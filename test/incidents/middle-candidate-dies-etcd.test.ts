// Elsewhere: A leads, B and C wait in line, B dies; C was waiting for B, and leads beside A (etcd3#176, Netflix curator#115).
// Here: a candidate that is woken looks for the one before it now, and leads only by the store's word that nobody is.
// Taken out: test/defences/middle-candidate-dies-etcd.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { memory } from "conclave/stores/memory";
import type { Store } from "conclave/stores/contract";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { useServers } from "../support/servers.ts";

const servers = useServers(etcdServer);
const stores: readonly (readonly [name: string, open: () => Store])[] = [
  ["memory", () => memory({ shape: "line" })],
  ["etcd", () => etcd(urlOf(servers()))],
];

it.each(stores)("middle-candidate-dies: only the first of the line leads (%s)", async (_name, open) => {
  const store = open();
  const [a, b, c] = ["a", "b", "c"].map((id) =>
    createCandidate({ store, id, ttlMs: 2000, drainMs: 100, unfenced: true }),
  );
  if (a === undefined || b === undefined || c === undefined) throw new Error("three");
  const term = await a.election("x").campaign();
  const [second, third] = [b.election("x"), c.election("x")];
  second.start();
  await new Promise((resolve) => setTimeout(resolve, 300));
  third.start();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await b.close();
  const until = performance.now() + 2500;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([term.isHeld(), third.term() === undefined]).toEqual([true, true]);
  }
  await term.resign();
  await expect.poll(() => third.term()?.isHeld(), { timeout: 5000 }).toBe(true);
  await Promise.all([a.close(), c.close()]);
});
