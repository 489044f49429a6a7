// Renewal by a thread on stores that are reached over a network: the thread has a connection of its own, and renews what the main loop has opened.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresSchema } from "conclave/stores/postgres";
import * as dynamodb from "../../scripts/servers/dynamodb.mjs";
import * as etcd from "../../scripts/servers/etcd.mjs";
import * as kubernetes from "../../scripts/servers/kubernetes.mjs";
import * as postgres from "../../scripts/servers/postgres.mjs";
import * as redis from "../../scripts/servers/redis.mjs";
import * as zookeeper from "../../scripts/servers/zookeeper.mjs";
import { Contest } from "../support/contest.ts";
import { urlOf } from "../stores/etcd/etcd.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { severalUrl } from "../stores/redis/stage.ts";
import { urlOf as zookeeperUrl } from "../stores/zookeeper/zookeeper.ts";
import { type Servers, useServers } from "../support/servers.ts";
import { nowMs } from "../support/processes.ts";

/** Long enough for a renewal on a busy machine: this is about who renews, not about how quick it is. */
const TTL_MS = 3000;

const STORES: readonly [name: string, servers: () => Servers, url: (servers: Servers) => string][] = [
  ["dynamodb", useServers(dynamodb), ({ urls }) => urls[0] ?? ""],
  ["etcd", useServers(etcd), (servers) => urlOf(servers)],
  ["kubernetes", useServers(kubernetes), ({ urls }) => urls[0] ?? ""],
  ["postgres", useServers(postgres), ({ urls }) => urls[0] ?? ""],
  ["redis", useServers(redis), ({ urls }) => urls[0] ?? ""],
  ["Redlock", useServers(redis, { nodes: 3 }), (servers) => `${severalUrl(servers)}?conclave_max_ttl_ms=${TTL_MS}`],
  ["zookeeper", useServers(zookeeper, { nodes: 3 }), (servers) => zookeeperUrl(servers)],
  ["zookeeper, a race", useServers(zookeeper), (servers) => zookeeperUrl(servers, { more: "&shape=race" })],
];

describe.each(STORES)("on %s", { timeout: 90_000 }, (name, servers, url) => {
  let contest: Contest;
  beforeAll(async () => {
    if (name === "postgres") await byHand(url(servers()), postgresSchema());
    contest = new Contest();
  });
  afterAll(async () => await contest.end());

  it("a busy leader goes on, and one that hangs is replaced", async () => {
    const shared = { store: url(servers()), ttlMs: TTL_MS, unfenced: /^redis|^Redlock/.test(name) };
    const leader = await contest.join({ ...shared, id: "leader", renewal: "thread", stallAfterMs: 3 * TTL_MS });
    await leader.hears("elected");
    const rival = await contest.join({ ...shared, id: "rival" });
    await rival.hears("leader");
    leader.tell(`spin ${2 * TTL_MS}`);
    expect(await leader.hears("spun")).toMatchObject({ held: true });
    expect(rival.leads).toBe(false);
    const from = nowMs();
    leader.tell(`block ${7 * TTL_MS}`);
    const { at } = await rival.hears("elected", from, 40_000);
    expect(at - from).toBeGreaterThan(3 * TTL_MS);
    expect(await leader.hears("unblocked", from, 40_000)).toMatchObject({ held: false, reason: "stalled" });
    expect(contest.verdict()).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  });
});
