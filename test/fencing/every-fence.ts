// Every adapter behind one face, for what must hold for all of them: raise a token, and move to another domain.
import path from "node:path";
import { etcdFence } from "conclave/fencing/etcd";
import { durableFence, fileFence, memoryFence, type Move, sqliteFence } from "conclave/fencing";
import type { Fenced } from "conclave";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../etcd/etcd.ts";
import { useServers } from "../servers.ts";
import { bindings, type Database } from "./bindings.ts";

export interface Raisable {
  raise(by: Fenced): Promise<void>;
  adopt(move: Move): Promise<unknown>;
}

const servers = useServers(etcdServer);
let resources = 0;

/** Name → a guard of one fresh resource in `folder`. */
export const everyFence: readonly (readonly [name: string, make: (folder: string) => Raisable])[] = [
  ["memory", () => inProcess(memoryFence())],
  ["durable", (folder) => inProcess(durableFence(path.join(folder, "durable")))],
  ["etcd", () => inEtcd(etcdFence(urlOf(servers())), `ledger-${++resources}`)],
  ["file", (folder) => fileFence(path.join(folder, "files"), "ledger")],
  ...bindings.map(
    ({ name, open }) =>
      [`sqlite, ${name}`, (folder: string) => inTable(open(path.join(folder, `${name}.db`)))] as const,
  ),
];

function inProcess(fence: ReturnType<typeof memoryFence>): Raisable {
  return {
    raise: (by) => fence.raise("ledger", by),
    adopt: async (move) => fence.adopt("ledger", move),
  };
}

function inEtcd(fence: ReturnType<typeof etcdFence>, resource: string): Raisable {
  return {
    raise: async (by) => void (await fence.raise(resource, by)),
    adopt: (move) => fence.adopt(resource, move),
  };
}

function inTable(db: Database): Raisable {
  const fence = sqliteFence();
  db.exec(fence.schema());
  return {
    raise: async (by) => fence.raise(db, "ledger", by),
    adopt: async (move) => fence.adopt(db, "ledger", move),
  };
}
