// Failover through each store that gives tokens and keeps memos, but etcd and SQLite, which the other files of this folder use: a real trio of Redis is killed and handed over once, with the
// monitors and guards on that store.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { statOf } from "../../scripts/servers/process.mjs";
import { newDatabase } from "../stores/postgres/stage.ts";
import { type RealStore, useDynamoDB, useKubernetes, useZooKeeper } from "../support/real-stores.ts";
import { useServers } from "../support/servers.ts";
import { RedisTrio } from "./redis-trio.ts";
import { RedisWriter } from "./redis-writer.ts";
import { Onlooker, SERVERS } from "./trio.ts";

/** Starts its server for the tests of a `describe`; the result gives its URL then. */
type Use = () => () => string | Promise<string>;

const STORES: readonly (readonly [name: string, use: Use, settings: Readonly<Record<string, unknown>>])[] = [
  ["PostgreSQL", usePostgres, {}],
  ["ZooKeeper", () => urlOf(useZooKeeper()), {}],
  ["a Lease of Kubernetes", () => urlOf(useKubernetes()), {}],
  // Everybody polls, and dynalite answers a few hundred requests a second at most: on a busy machine it needs more time.
  ["DynamoDB", () => urlOf(useDynamoDB()), { ttlMs: 4000 }],
];

function urlOf(store: RealStore): () => string {
  return () => store.url();
}

function usePostgres(): () => Promise<string> {
  const servers = useServers(postgresServer);
  return () => newDatabase(servers().urls[0] ?? "");
}

describe.each(STORES)("failover through %s", (_name, use, settings) => {
  const url = use();
  const trio = new RedisTrio();
  let onlooker: Onlooker | undefined;
  beforeAll(async () => {
    await trio.start(await url(), settings);
    await trio.settled(undefined, 60_000, SERVERS.length - 1);
    await trio.known();
    onlooker = new Onlooker(trio);
  }, 90_000);
  afterAll(async () => {
    await onlooker?.stop();
    await trio.end();
    expect(onlooker?.doubles).toEqual([]);
  }, 60_000);

  it("replaces a primary that was killed, which comes back as a replica; then one hands over, and no acknowledged write is lost", async () => {
    const old = await trio.settled();
    const writer = new RedisWriter(trio, "written");
    await writer.again();
    process.kill(await trio.pidOf(old), "SIGKILL");
    const next = await trio.settled(old, 45_000);
    await writer.again();
    expect(await trio.whole()).toBe(next);
    expect(await trio.role(old)).toBe("replica");
    // Redis has no synchronous replication: what was acknowledged in the last moment may be lost, and not more.
    expect(await writer.lost(next)).toBeLessThanOrEqual(5);
    await trio.steady();
    const to = SERVERS.find((name) => name !== next) ?? "";
    writer.acknowledged.length = 0;
    await writer.again();
    expect(await trio.order("switchover", "--to", to)).toMatchObject({ isDone: true, said: `${to} is the primary` });
    expect(await trio.settled()).toBe(to);
    await writer.again();
    await writer.stop();
    expect(await writer.lost(to)).toBe(0);
  }, 90_000);

  it("replaces a primary whose guard stands still, when its seat has run out in the store", async () => {
    await trio.steady();
    const old = await trio.whole();
    const pid = await trio.pidOf(old);
    trio.guards.get(old)?.signal("SIGSTOP");
    const next = await trio.settled(old, 45_000);
    expect(statOf(`${pid}`)[0] ?? "").toMatch(/^[ZX]?$/);
    trio.guards.get(old)?.signal("SIGCONT");
    expect(await trio.whole()).toBe(next);
  }, 90_000);
});
