// Every store that is reached over a network, on a real server that runs for the tests of one file: what must hold on all of them is tried on each, with one list.
import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll } from "vitest";
import type { FencedStore } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { kubernetes } from "conclave/stores/kubernetes";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as kubernetesServer from "../../scripts/servers/kubernetes.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { ask, urlOf } from "../stores/etcd/etcd.ts";
import { leaseNameOf } from "../../src/stores/kubernetes/names.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { type ServerNode, type Servers, useServers } from "./servers.ts";
import type { Stage } from "./processes.ts";

export interface RealStore {
  url(): string;
  /** What a wire can lead to: a URL with its host and port. `open` takes the wire's. */
  server(): string;
  open(url?: string): FencedStore;
  /** The one server. */
  node(): ServerNode;
  /** As an operator would: deletes whatever says who leads `name`. */
  deleteRecord(name: string): Promise<void>;
  /** As an operator would: ends a session, of the name that the event "session" tells. */
  endSession(session: string): Promise<void>;
  /** Grows with every claim that was applied. */
  applied(): Promise<number>;
  /** A text that is in a claim for `name` as it is sent, and in nothing that is sent before. */
  claimText(name: string): string;
}

/** For `it.each`: name and store. */
export type RealStores = readonly (readonly [name: string, store: RealStore])[];

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
  stores: RealStores = useRealStores(),
): readonly (readonly [name: string, place: Place])[] {
  let files = 0;
  return [
    ["sqlite", () => ({ path: stage.file(`${++files}.db`) })],
    ...stores.map(([name, store]) => [name, () => ({ store: store.url() })] as const),
  ];
}

function onEtcd(servers: () => Servers): RealStore {
  const server = (): string => servers().urls[0] ?? "";
  const url = (): string => urlOf(servers());
  return {
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
      return Number(header.revision);
    },
    claimText: (name) => `${name}/`,
  };
}

/** A session is written nowhere by itself there, so that nobody can end one. */
function onKubernetes(servers: () => Awaited<ReturnType<typeof kubernetesServer.start>>): RealStore {
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
    url,
    server,
    open: (at = url()) => kubernetes(at.startsWith("http") ? through(at) : at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) =>
      void (await fetch(`${server()}/${leases}/${leaseNameOf(name)}`, { method: "DELETE" })),
    endSession: () => Promise.reject(new Error("there is nothing of a session that could be deleted")),
    applied: async () => (await kubernetesServer.control(server())).version,
    claimText: (name) => `"conclave/name":"${name}"`,
  };
}

function onPostgres(servers: () => Servers): RealStore {
  const url = (): string => servers().urls[0] ?? "";
  return {
    url,
    server: url,
    open: (at = url()) => postgres(at),
    node: () => nodeOf(servers()),
    deleteRecord: async (name) => void (await byHand(url(), `DELETE FROM conclave.seat WHERE name = '${name}'`)),
    endSession: async (session) => void (await byHand(url(), `DELETE FROM conclave.session WHERE id = '${session}'`)),
    applied: async () => Number((await byHand(url(), "SELECT sum(last) AS sum FROM conclave.counter"))[0]?.["sum"]),
    claimText: (name) => `, '${name}', `,
  };
}

function nodeOf({ nodes }: Servers): ServerNode {
  const [node] = nodes;
  if (node === undefined) throw new Error("no server");
  return node;
}
