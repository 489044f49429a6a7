// `redis://` against the contract, on a real server: from a URL by either client, behind clients that the user made (both, of two versions each, RESP2 and RESP3), in both layouts;
// and over three servers by Redlock.
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redis } from "conclave/stores/redis";
import { storeConformance } from "conclave/testing";
import * as server from "../../../scripts/servers/redis.mjs";
import type { Store } from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { call } from "../moves.ts";
import { severalUrl, untilItVotes } from "./stage.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

/** Made once, closed after all: `close()` of a store leaves it open. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const io6 = once(async () => {
  const client = new Redis(url());
  closing.push(() => client.disconnect());
  return client;
});
const io6resp2 = once(async () => {
  const client = new Redis(url(), { protocol: 2 });
  closing.push(() => client.disconnect());
  return client;
});
const io5 = once(async () => {
  const client = new Redis5(url());
  closing.push(() => client.disconnect());
  return client;
});
const node6 = once(async () => {
  const client = createClient({ url: url(), RESP: 3 });
  closing.push(() => client.destroy());
  await client.connect();
  return client;
});
const node6resp2 = once(async () => {
  const client = createClient({ url: url(), RESP: 2 });
  closing.push(() => client.destroy());
  await client.connect();
  return client;
});
const node5 = once(async () => {
  const client = createClient5({ url: url() });
  closing.push(() => client.destroy());
  await client.connect();
  return client;
});

const WAYS: readonly (readonly [name: string, open: () => Promise<Store>])[] = [
  ["a URL", async () => redis(url())],
  ["a URL, by ioredis", async () => redis(url(), { client: "ioredis" })],
  ["a URL, by redis", async () => redis(url(), { client: "redis" })],
  ["ioredis 6, RESP3", async () => redis(await io6())],
  ["ioredis 6, RESP2", async () => redis(await io6resp2())],
  ["ioredis 5", async () => redis(await io5())],
  ["redis 6, RESP3", async () => redis(await node6())],
  ["redis 6, RESP2", async () => redis(await node6resp2())],
  ["redis 5", async () => redis(await node5())],
  ["another prefix, another database", async () => redis(`${url()}/3?conclave_prefix=elsewhere`)],
  ["the layout redlock", async () => redis(url(), { layout: "redlock" })],
  ["the layout redlock, ioredis 6", async () => redis(await io6(), { layout: "redlock", prefix: "locks" })],
];

describe.each(WAYS)("%s", (_, open) => {
  for (const { name, run } of storeConformance(open)) it(name, run);
});

const several = useServers(server, { nodes: 3 });
/** Long enough for a slow day, and what the servers have to run for before they vote. */
const MAX_TTL_MS = 6000;
const SKIP = [
  {
    name: "an older version wins nothing in a race, and a line does not ask for one",
    reason:
      "a look shows the versions of those servers that have answered first: a majority, but not always the same one",
  },
  {
    name: "a silent session loses its seats, and its keeps and claims are refused for ever",
    reason: "each record is renewed by itself, and the servers end the session with the records that ran out",
  },
  {
    name: "a session stands once at a name: another bid is a leftover in a line, a new term in a race",
    reason: "a server that had not answered the look keeps the older record, which the next renewal shows as a stray",
  },
];

describe.each(["ours", "redlock"] as const)("three servers, layout %s", (layout) => {
  const open = async (): Promise<Store> => redis(severalUrl(several()), { maxTtlMs: MAX_TTL_MS, layout });
  beforeAll(async () => {
    const store = await open();
    await untilItVotes(store);
    await store.close();
  }, 30_000);
  for (const { name, run } of storeConformance(open, { skip: SKIP })) it(name, run);
});

it("tells of the server that it has met, by the server's own word", async () => {
  const [store, version] = [redis(url()), await servers().version()];
  const kept = await store.keep({ nonce: "met", candidate: "c", ttlMs: 1000 }, [], call());
  const server = kept.kind === "kept" ? kept.met?.server : undefined;
  process.stdout.write(`the tests of redis: run on ${server}\n`);
  expect(server?.split(" ")[1]).toBe(version.split(" ").at(-1));
  await store.close();
});

it("closes no client that the user made", async () => {
  expect(await (await io6()).ping()).toBe("PONG");
  expect(await (await node6()).ping()).toBe("PONG");
});
