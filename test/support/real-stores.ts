// Every store that is reached over a network, on a real server that runs for the tests of one file: what must hold on all of them is tried on each, with one list.
import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll } from "vitest";
import { DeleteItemCommand, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { type Candidate, createCandidate, type UnfencedTerm } from "conclave";
import type { FencedStore, Session, Store } from "conclave/stores/contract";
import { dynamodb } from "conclave/stores/dynamodb";
import { etcd } from "conclave/stores/etcd";
import { kubernetes } from "conclave/stores/kubernetes";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { redis } from "conclave/stores/redis";
import { zookeeper } from "conclave/stores/zookeeper";
import * as dynamodbServer from "../../scripts/servers/dynamodb.mjs";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as kubernetesServer from "../../scripts/servers/kubernetes.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import * as redisServer from "../../scripts/servers/redis.mjs";
import * as zookeeperServer from "../../scripts/servers/zookeeper.mjs";
import { parseAddress } from "../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../src/clients/zookeeper/client.ts";
import { isProblem } from "../../src/clients/zookeeper/errors.ts";
import { deleteRequest, getChildrenRequest, readChildren } from "../../src/clients/zookeeper/messages.ts";
import { leaseNameOf } from "../../src/stores/kubernetes/names.ts";
import { ask, urlOf } from "../stores/etcd/etcd.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { byHand as commandByHand } from "../stores/redis/stage.ts";
import { urlOf as zookeeperUrl } from "../stores/zookeeper/zookeeper.ts";
import { type ServerNode, type Servers, useServers } from "./servers.ts";
import type { Stage } from "./processes.ts";

export interface RealStore<S extends Store = Store> {
  /** Without tokens nothing can be compared. */
  readonly hasTokens: boolean;
  /** What a deletion of the record of a live holder means for those who wait: they lead at once, or wait for its ttl. */
  readonly whenDeleted: "at once" | "ttl";
  /** A candidate has one connection, and its server closes it when the session goes on over another: what is still on its way there is never applied. */
  readonly oneConnection: boolean;
  url(): string;
  /** What a wire can lead to: a URL with its host and port. `open` takes the wire's. */
  server(): string;
  open(url?: string): S;
  /** The one server. */
  node(): ServerNode;
  /** As an operator would: deletes whatever says who leads `name`. */
  deleteRecord(name: string): Promise<void>;
  /** As an operator would: ends a session, of the name that the event "session" tells. */
  endSession(session: string): Promise<void>;
  /** Another text after every claim for `name` that was applied. */
  applied(name: string): Promise<string>;
  /** A text that is in a claim for `name` as it is sent, and in nothing that is sent before. */
  claimText(name: string): string;
}

/** For `it.each`: name and store. */
export type RealStores = readonly (readonly [name: string, store: RealStore<FencedStore>])[];

/** A candidate as tests of every store make one: it takes a store without tokens, too. */
export function candidateOn(
  store: Pick<RealStore, "open">,
  {
    url,
    ...settings
  }: { readonly ttlMs: number; readonly drainMs?: number; readonly id?: string; readonly url?: string },
): Candidate<UnfencedTerm> {
  return createCandidate<Store>({ store: store.open(url), unfenced: true, ...settings });
}

/** Undefined where the store has none. */
export function tokenOf(term: UnfencedTerm | undefined): bigint | undefined {
  return (term as { readonly token?: { readonly value: bigint } } | undefined)?.token?.value;
}

/** As the store promises it: a greater token, or none where it has none. */
export function isNewer(
  { hasTokens }: RealStore,
  next: UnfencedTerm | undefined,
  term: UnfencedTerm | undefined,
): boolean {
  const [later, earlier] = [tokenOf(next), tokenOf(term)];
  if (!hasTokens) return later === undefined && earlier === undefined;
  return later !== undefined && earlier !== undefined && later > earlier;
}

export function useZooKeeper(): RealStore {
  return onZooKeeper(useServers(zookeeperServer));
}

export function useRedis(): RealStore {
  return onRedis(useServers(redisServer));
}

export function useDynamoDB(): RealStore {
  return onDynamoDB(useServers(dynamodbServer));
}

export function useKubernetes(): RealStore {
  return onKubernetes(useServers(kubernetesServer) as () => Awaited<ReturnType<typeof kubernetesServer.start>>);
}

export function useRealStores(): RealStores {
  const [inEtcd, inPostgres] = [useServers(etcdServer), useServers(postgresServer)];
  const inKubernetes = useServers(kubernetesServer) as () => Awaited<ReturnType<typeof kubernetesServer.start>>;
  beforeAll(async () => void (await byHand(inPostgres().urls[0] ?? "", postgresSchema())));
  return [
    ["etcd", onEtcd(inEtcd)],
    ["kubernetes", onKubernetes(inKubernetes)],
    ["postgres", onPostgres(inPostgres)],
  ];
}

/** For `it.each`: name and URL; none for sqlite, of which a stage of supervisors has its own file. */
export function useStoreUrls(): readonly (readonly [name: string, url: () => string | undefined])[] {
  return [["sqlite", () => undefined], ...useRealStores().map(([name, store]) => [name, () => store.url()] as const)];
}

/** Where candidates as processes meet: a fresh file, or a real server. */
export type Place = () => { readonly path: string } | { readonly store: string };

/** For `it.each`: name and place. */
export function usePlaces(
  stage: Stage,
  stores: readonly (readonly [name: string, store: Pick<RealStore, "url">])[] = useRealStores(),
): readonly (readonly [name: string, place: Place])[] {
  let files = 0;
  return [
    ["sqlite", () => ({ path: stage.file(`${++files}.db`) })],
    ...stores.map(([name, store]) => [name, () => ({ store: store.url() })] as const),
  ];
}

function onEtcd(servers: () => Servers): RealStore<FencedStore> {
  const server = (): string => servers().urls[0] ?? "";
  const url = (): string => urlOf(servers());
  return {
    hasTokens: true,
    whenDeleted: "at once",
    oneConnection: false,
    url,
    server: url,
    open: (at = url()) => etcd(at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) => {
      const [key, end] = [Buffer.from(`${name}/`), Buffer.from(`${name}0`)]; // after / comes 0
      await ask(server(), "/v3/kv/deleterange", { key: key.toString("base64"), range_end: end.toString("base64") });
    },
    endSession: async (session) => void (await ask(server(), "/v3/lease/revoke", { ID: `${BigInt(`0x${session}`)}` })),
    applied: async () => {
      const { header } = (await ask(server(), "/v3/kv/range", { key: "AA==" })) as { header: { revision: string } };
      return header.revision;
    },
    claimText: (name) => `${name}/`,
  };
}

/** A session is written nowhere by itself there, so that nobody can end one. */
function onKubernetes(servers: () => Awaited<ReturnType<typeof kubernetesServer.start>>): RealStore<FencedStore> {
  const server = (): string => servers().server;
  const url = (): string => servers().urls[0] ?? "";
  const leases = `apis/coordination.k8s.io/v1/namespaces/${kubernetesServer.NAMESPACE}/leases`;
  let files = 0;
  /** The kubeconfig, with another server in it. */
  const through = (at: string): string => {
    const file = `${servers().kubeconfig}-${++files}`;
    writeFileSync(file, readFileSync(servers().kubeconfig, "utf8").replace(server(), at.replace(/\/$/, "")));
    return `kubernetes:?kubeconfig=${encodeURIComponent(file)}`;
  };
  return {
    hasTokens: true,
    whenDeleted: "ttl",
    oneConnection: false,
    url,
    server,
    open: (at = url()) => kubernetes(at.startsWith("http") ? through(at) : at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) =>
      void (await fetch(`${server()}/${leases}/${leaseNameOf(name)}`, { method: "DELETE" })),
    endSession: () => Promise.reject(new Error("there is nothing of a session that could be deleted")),
    applied: async () => `${(await kubernetesServer.control(server())).version}`,
    claimText: (name) => `"conclave/name":"${name}"`,
  };
}

function onPostgres(servers: () => Servers): RealStore<FencedStore> {
  const url = (): string => servers().urls[0] ?? "";
  return {
    hasTokens: true,
    whenDeleted: "ttl",
    oneConnection: false,
    url,
    server: url,
    open: (at = url()) => postgres(at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) => void (await byHand(url(), `DELETE FROM conclave.seat WHERE name = '${name}'`)),
    endSession: async (session) => void (await byHand(url(), `DELETE FROM conclave.session WHERE id = '${session}'`)),
    applied: async () => JSON.stringify(await byHand(url(), "SELECT sum(last) AS sum FROM conclave.counter")),
    claimText: (name) => `, '${name}', `,
  };
}

function onZooKeeper(servers: () => Servers): RealStore<FencedStore> {
  const url = (): string => zookeeperUrl(servers());
  const sessions = new Map<string, Session>();
  const byHand = async <A>(work: (hand: Awaited<ReturnType<ZooKeeperClient["begin"]>>) => Promise<A>): Promise<A> => {
    const hand = await new ZooKeeperClient(parseAddress(url(), ["tickMs"])).begin(4000, soon());
    try {
      return await work(hand);
    } finally {
      await hand.end(soon());
    }
  };
  const soon = (): AbortSignal => AbortSignal.timeout(10_000);
  const childrenOf = (name: string): Promise<readonly string[]> =>
    byHand(async (hand) => {
      try {
        return (await hand.ask(getChildrenRequest(`/${name}`, false), readChildren, soon())).names;
      } catch (error) {
        if (isProblem(error, "no-node")) return [];
        throw error;
      }
    });
  return {
    hasTokens: true,
    whenDeleted: "at once",
    oneConnection: true,
    url,
    server: url,
    open: (at = url()) => {
      const store = zookeeper(at);
      const keep = store.keep.bind(store);
      // Only who knows the password of a session can end it.
      return Object.assign(store, {
        keep: async (...asked: Parameters<typeof keep>) => {
          const kept = await keep(...asked);
          if (kept.kind === "kept") sessions.set(kept.session.id, kept.session);
          return kept;
        },
      });
    },
    node: () => nodeOf(servers()),
    deleteRecord: async (name) => {
      const [first] = (await childrenOf(name)).toSorted((a, b) => (a.slice(-10) < b.slice(-10) ? -1 : 1));
      await byHand((hand) => hand.ask(deleteRequest(`/${name}/${first}`), () => undefined, soon()));
    },
    endSession: async (id) => {
      const session = sessions.get(id);
      if (session === undefined) throw new Error(`no session ${id}`);
      const elsewhere = zookeeper(url());
      await elsewhere.release({ session, holds: [], endSession: true }, { signal: soon(), sentAtMs: 0 });
      await elsewhere.close();
    },
    applied: async (name) => (await childrenOf(name)).toSorted().join(),
    claimText: (name) => `/${name}/`,
  };
}

function onRedis(servers: () => Servers): RealStore {
  const url = (): string => servers().urls[0] ?? "";
  const seat = (name: string): string => `{conclave}:seat:${name}`;
  return {
    hasTokens: false,
    whenDeleted: "at once",
    oneConnection: false,
    url,
    server: url,
    open: (at = url()) => redis(at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) => void (await commandByHand(url(), "DEL", seat(name))),
    endSession: async (session) => void (await commandByHand(url(), "DEL", `{conclave}:session:${session}`)),
    applied: async (name) => String(await commandByHand(url(), "GET", seat(name))),
    claimText: (name) => `${seat(name)}\r\n$0\r\n`, // the first argument of a claim is empty
  };
}

function onDynamoDB(servers: () => Servers): RealStore<FencedStore> {
  const url = (): string => servers().urls[0] ?? "";
  const server = (): string => nodeOf(servers()).url;
  const keyOf = (key: string) => ({ TableName: dynamodbServer.TABLE, Key: { key: { S: key } } });
  const byHand = async <A>(work: (hand: ReturnType<typeof dynamodbServer.clientOf>) => Promise<A>): Promise<A> => {
    const hand = dynamodbServer.clientOf(server());
    return await work(hand).finally(() => hand.destroy());
  };
  const remove = async (key: string): Promise<void> =>
    void (await byHand((hand) => hand.send(new DeleteItemCommand(keyOf(key)))));
  return {
    hasTokens: true,
    whenDeleted: "ttl",
    oneConnection: false,
    url,
    server,
    open: (at = url()) => dynamodb(at.startsWith("http") ? dynamodbServer.urlOf(at, dynamodbServer.TABLE) : at),
    node: () => nodeOf(servers()),
    deleteRecord: (name) => remove(`seat/${name}`),
    endSession: (session) => remove(`session/${session}`),
    applied: async (name) => {
      const { Item: item } = await byHand((hand) =>
        hand.send(new GetItemCommand({ ...keyOf(`seat/${name}`), ConsistentRead: true })),
      );
      return JSON.stringify(item?.["token"]);
    },
    claimText: (name) => `{"S":"seat/${name}"}},"UpdateExpression"`,
  };
}

function nodeOf({ nodes }: Servers): ServerNode {
  const [node] = nodes;
  if (node === undefined) throw new Error("no server");
  return node;
}
