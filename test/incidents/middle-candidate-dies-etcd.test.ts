// Elsewhere: A leads, B and C wait in line, B dies; C was waiting for B, and leads beside A (etcd3#176, Netflix curator#115).
// Here: a candidate that is woken looks for the one before it now, and leads only by the store's word that nobody is.
// Taken out: test/defences/middle-candidate-dies-etcd.patch
import { expect, it } from "vitest";
import { etcd } from "conclave/stores/etcd";
import { memory } from "conclave/stores/memory";
import type { Store } from "conclave/stores/contract";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { useServers } from "../support/servers.ts";
import { middleGoes } from "../support/store-incidents.ts";

const servers = useServers(etcdServer);
const stores: readonly (readonly [name: string, open: () => Store])[] = [
  ["memory", () => memory({ shape: "line" })],
  ["etcd", () => etcd(urlOf(servers()))],
];

it.each(stores)("middle-candidate-dies: only the first of the line leads (%s)", (_name, open) => {
  const store = open();
  return middleGoes({ hasTokens: true, open: () => store }, expect);
});
