// Every adapter behind one face, for what must hold for all of them: raise a token, and move to another domain.
import path from "node:path";
import { afterAll, beforeAll } from "vitest";
import { etcdFence } from "conclave/fencing/etcd";
import { type Adopted, durableFence, fileFence, memoryFence, type Move, sqliteFence } from "conclave/fencing";
import { postgresFence } from "conclave/fencing/postgres";
import type { Fenced } from "conclave";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { newDatabase } from "../stores/postgres/stage.ts";
import { type Client, CLIENTS } from "./transactions.ts";
import { useServers } from "../support/servers.ts";
import { bindings, type Database } from "./bindings.ts";

export interface Raisable {
  raise(by: Fenced): Promise<void>;
  adopt(move: Move): Promise<Adopted>;
}

const members = useServers(etcdServer);
const databases = useServers(postgresServer);
let url = "";
let etcd: ReturnType<typeof etcdFence>;
const clients = new Map<string, Client>();
beforeAll(async () => {
  etcd = etcdFence(urlOf(members()));
  url = await newDatabase(databases().urls[0] ?? "");
});
afterAll(async () => {
  await etcd?.close();
  await Promise.all([...clients.values()].map((client) => client.end()));
});

/** Each guard that is made is of a resource that no other guards. */
let resources = 0;
const fresh = (): string => `ledger-${++resources}`;

/** Name → a guard of one fresh resource, in `folder` if it needs one. */
export const everyFence: readonly (readonly [name: string, make: (folder: string) => Raisable])[] = [
  ["memory", () => inProcess(memoryFence())],
  ["durable", (folder) => inProcess(durableFence(path.join(folder, "durable")))],
  ["etcd", () => inEtcd(etcd)],
  ["file", (folder) => fileFence(path.join(folder, "files"), fresh())],
  ...bindings.map(
    ({ name, open }) =>
      [`sqlite, ${name}`, (folder: string) => inTable(open(path.join(folder, `${name}.db`)))] as const,
  ),
  ...CLIENTS.map(([name, open]) => [`postgres, ${name}`, () => inTransactions(clientOf(name, open))] as const),
];

function inProcess(fence: ReturnType<typeof memoryFence>): Raisable {
  const resource = fresh();
  return {
    raise: (by) => fence.raise(resource, by),
    adopt: async (move) => fence.adopt(resource, move),
  };
}

function inEtcd(fence: ReturnType<typeof etcdFence>): Raisable {
  const resource = fresh();
  return {
    raise: async (by) => void (await fence.raise(resource, by)),
    adopt: (move) => fence.adopt(resource, move),
  };
}

function inTable(db: Database): Raisable {
  const [fence, resource] = [sqliteFence(), fresh()];
  db.exec(fence.schema());
  return {
    raise: async (by) => fence.raise(db, resource, by),
    adopt: async (move) => fence.adopt(db, resource, move),
  };
}

function inTransactions(client: Client): Raisable {
  const [fence, resource] = [postgresFence(), fresh()];
  return {
    raise: (by) => client.transact((transaction) => fence.raise(transaction, resource, by)),
    adopt: (move) => client.transact((transaction) => fence.adopt(transaction, resource, move)),
  };
}

function clientOf(name: string, open: (url: string) => Client): Client {
  const client = clients.get(name) ?? open(url);
  clients.set(name, client);
  return client;
}
