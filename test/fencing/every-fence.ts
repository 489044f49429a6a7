// Every adapter behind one face, for what must hold for all of them: raise a token, and move to another domain.
import path from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type EtcdFence, etcdFence } from "conclave/fencing/etcd";
import {
  type Adopted,
  durableFence,
  type Fence,
  fileFence,
  type Lowering,
  memoryFence,
  type Move,
  type Signed,
  sqliteFence,
  type SqliteFence,
  type Verification,
} from "conclave/fencing";
import { type PostgresFence, postgresFence } from "conclave/fencing/postgres";
import { type RedisFence, redisFence } from "conclave/fencing/redis";
import type { Fenced } from "conclave";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import * as redisServer from "../../scripts/servers/redis.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { newDatabase } from "../stores/postgres/stage.ts";
import { type Client, CLIENTS } from "./transactions.ts";
import { useServers } from "../support/servers.ts";
import { bindings, type Database } from "./bindings.ts";

export interface Raisable {
  raise(by: Fenced | Signed): Promise<void>;
  adopt(move: Move | Lowering): Promise<Adopted>;
}

const members = useServers(etcdServer);
const databases = useServers(postgresServer);
const caches = useServers(redisServer);
let url = "";
const keyed: (EtcdFence<Signed> | RedisFence<Signed>)[] = [];
const clients = new Map<string, Client>();
beforeAll(async () => {
  url = await newDatabase(databases().urls[0] ?? "");
});
afterAll(async () => {
  await Promise.all(keyed.map((fence) => fence.close()));
  await Promise.all([...clients.values()].map((client) => client.end()));
});

/** Each guard that is made is of a resource that no other guards. */
let resources = 0;
const fresh = (): string => `ledger-${++resources}`;

type Any = Fenced | Signed;
/** With `verify`, a guard of signed tokens. Which of the two it is, no type says here. */
const verifying = (verify: Verification | undefined): never => (verify === undefined ? {} : { verify }) as never;

/** Name → a guard of one fresh resource, in `folder` if it needs one. */
export const everyFence: readonly (readonly [
  name: string,
  make: (folder: string, verify?: Verification) => Raisable,
])[] = [
  ["memory", (_, verify) => inProcess(memoryFence(verifying(verify)))],
  ["durable", (folder, verify) => inProcess(durableFence(path.join(folder, "durable"), verifying(verify)))],
  ["etcd", (_, verify) => inKeys(etcdFence(urlOf(members()), verifying(verify)))],
  ["redis", (_, verify) => inKeys(redisFence(caches().urls[0] ?? "", verifying(verify)))],
  ["file", (folder, verify) => fileFence(path.join(folder, "files"), fresh(), verifying(verify))],
  ...bindings.map(
    ({ name, open }) =>
      [
        `sqlite, ${name}`,
        (folder: string, verify?: Verification) => inTable(open(path.join(folder, `${name}.db`)), verify),
      ] as const,
  ),
  ...CLIENTS.map(
    ([name, open]) =>
      [
        `postgres, ${name}`,
        (_: string, verify?: Verification) => inTransactions(clientOf(name, open), verify),
      ] as const,
  ),
];

function inProcess(made: Fence<Signed>): Raisable {
  const [fence, resource] = [made as Fence<Any>, fresh()];
  return {
    raise: (by) => fence.raise(resource, by),
    adopt: async (move) => fence.adopt(resource, move),
  };
}

function inKeys(made: EtcdFence<Signed> | RedisFence<Signed>): Raisable {
  const fence: EtcdFence<Any> | RedisFence<Any> = made;
  const resource = fresh();
  keyed.push(made);
  return {
    raise: async (by) => void (await fence.raise(resource, by)),
    adopt: (move) => fence.adopt(resource, move),
  };
}

function inTable(db: Database, verify: Verification | undefined): Raisable {
  const [fence, resource] = [sqliteFence(verifying(verify)) as SqliteFence<Any>, fresh()];
  db.exec(fence.schema());
  return {
    raise: async (by) => fence.raise(db, resource, by),
    adopt: async (move) => fence.adopt(db, resource, move),
  };
}

function inTransactions(client: Client, verify: Verification | undefined): Raisable {
  const [fence, resource] = [postgresFence(verifying(verify)) as PostgresFence<Any>, fresh()];
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
