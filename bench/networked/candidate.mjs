// @ts-check
// A candidate in a process of its own, ours or a peer's, for benchmarks that kill it or tell it to leave. Says "elected" on stdout; leaves cleanly on SIGTERM.
//   arguments: KIND URL NAME TTL_MS       KIND: dynamodb | etcd | kubernetes | postgres | redis (ours), etcd3, advisory, redlock
import { createHash } from "node:crypto";
import { createCandidate } from "conclave";
import { dynamodb } from "conclave/stores/dynamodb";
import { etcd } from "conclave/stores/etcd";
import { kubernetes } from "conclave/stores/kubernetes";
import { postgres } from "conclave/stores/postgres";
import { redis } from "conclave/stores/redis";
import { Etcd3 } from "etcd3";
import pg from "pg";
import { Redis } from "ioredis";
import { Redlock } from "@sesamecare-oss/redlock";

const [kind = "", url = "", name = "", ttl = ""] = process.argv.slice(2);
const ttlMs = Number(ttl);
/** @type {Record<string, () => Promise<() => Promise<unknown>>>} */
const kinds = { dynamodb: ours, etcd: ours, kubernetes: ours, postgres: ours, redis: ours, etcd3, advisory, redlock };
const leave = await kinds[kind]?.();
process.once("SIGTERM", () => void leave?.().then(() => process.exit(0)));

function sayElected() {
  process.stdout.write("elected\n");
}

async function ours() {
  const store =
    kind === "dynamodb"
      ? dynamodb(url)
      : kind === "etcd"
        ? etcd(url)
        : kind === "kubernetes"
          ? kubernetes(url)
          : postgres(url);
  const candidate =
    kind === "redis"
      ? createCandidate({ store: redis(url), ttlMs, unfenced: true })
      : createCandidate({ store, ttlMs });
  /** @type {import("conclave").UnfencedTerm | undefined} */
  let term;
  void candidate
    .election(name)
    .campaign()
    .then((won) => {
      term = won;
      sayElected();
    });
  return async () => {
    await term?.resign();
    await candidate.close();
  };
}

async function etcd3() {
  const client = new Etcd3({ hosts: url });
  const campaign = client.election(name, ttlMs / 1000).campaign("x");
  campaign.on("elected", () => sayElected());
  return () => campaign.resign();
}

/** One connection, which holds the lock by being there. */
async function advisory() {
  const client = new pg.Client(url);
  const key = createHash("sha256").update(name).digest().readBigInt64BE().toString();
  await client.connect();
  void client.query("SELECT pg_advisory_lock($1)", [key]).then(() => sayElected());
  return async () => {
    await client.query("SELECT pg_advisory_unlock($1)", [key]);
    await client.end();
  };
}

/** Tries again every 200 ms, which is its default, for as long as it takes; extended as `using` does it. */
async function redlock() {
  const locks = new Redlock([new Redis(url)], { retryCount: -1, automaticExtensionThreshold: ttlMs / 2 });
  /** @type {(value?: unknown) => void} */
  let leave = () => {};
  const left = new Promise((resolve) => (leave = resolve));
  const using = locks.using([name], ttlMs, async () => {
    sayElected();
    await left;
  });
  return async () => {
    leave();
    await using;
  };
}
