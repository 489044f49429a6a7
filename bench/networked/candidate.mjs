// @ts-check
// A candidate in a process of its own, ours or a peer's, for benchmarks that kill it or tell it to leave. Says "elected" on stdout; leaves cleanly on SIGTERM.
//   arguments: KIND URL NAME TTL_MS       KIND: dynamodb | etcd | kubernetes | postgres | redis | zookeeper (ours), etcd3, advisory, redlock, redlock4, semaphore
// Each kind loads its own client and nothing else, as a program of its user would.
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";

const [kind = "", url = "", name = "", ttl = ""] = process.argv.slice(2);
const ttlMs = Number(ttl);
/** @type {Record<string, () => Promise<() => Promise<unknown>>>} */
const kinds = {
  dynamodb: ours,
  etcd: ours,
  kubernetes: ours,
  postgres: ours,
  redis: ours,
  zookeeper: ours,
  etcd3,
  advisory,
  redlock,
  redlock4,
  semaphore,
};
const leave = await kinds[kind]?.();
process.once("SIGTERM", () => void leave?.().then(() => process.exit(0)));

/** Past `process.stdout`, which takes two milliseconds to be made at its first use. A program that has logged a line before has paid for that already. */
function sayElected() {
  writeSync(1, "elected\n");
}

async function ours() {
  const { createCandidate } = await import("conclave");
  const candidate =
    kind === "redis"
      ? createCandidate({ store: (await import("conclave/stores/redis")).redis(url), ttlMs, unfenced: true })
      : createCandidate({ store: await fencedStore(), ttlMs });
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

async function fencedStore() {
  if (kind === "dynamodb") return (await import("conclave/stores/dynamodb")).dynamodb(url);
  if (kind === "etcd") return (await import("conclave/stores/etcd")).etcd(url);
  if (kind === "kubernetes") return (await import("conclave/stores/kubernetes")).kubernetes(url);
  if (kind === "zookeeper") return (await import("conclave/stores/zookeeper")).zookeeper(url);
  return (await import("conclave/stores/postgres")).postgres(url);
}

async function etcd3() {
  const { Etcd3 } = await import("etcd3");
  const client = new Etcd3({ hosts: url });
  const campaign = client.election(name, ttlMs / 1000).campaign("x");
  campaign.on("elected", () => sayElected());
  return () => campaign.resign();
}

/** One connection, which holds the lock by being there. */
async function advisory() {
  const { default: pg } = await import("pg");
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
  const [{ Redlock }, { Redis }] = [await import("@sesamecare-oss/redlock"), await import("ioredis")];
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

/** The same; extended at half its ttl. */
async function redlock4() {
  const { Redis } = await import("ioredis");
  // @ts-expect-error It has no types.
  const { default: Redlock4 } = await import("redlock");
  let lock = await new Redlock4([new Redis(url)], { retryCount: -1 }).lock(name, ttlMs);
  sayElected();
  const extending = setInterval(
    () => void lock.extend(ttlMs).then((/** @type {any} */ next) => (lock = next)),
    ttlMs / 2,
  );
  return async () => {
    clearInterval(extending);
    await lock.unlock();
  };
}

/** Tries again every 10 ms, and extends at four fifths of its ttl, which are its defaults. */
async function semaphore() {
  const [{ Redis }, { Mutex }] = [await import("ioredis"), await import("redis-semaphore")];
  const mutex = new Mutex(new Redis(url), name, { lockTimeout: ttlMs, acquireTimeout: Number.POSITIVE_INFINITY });
  await mutex.acquire();
  sayElected();
  return () => mutex.release();
}
