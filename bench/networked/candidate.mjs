// @ts-check
// A candidate in a process of its own, ours or a peer's, for benchmarks that kill it or tell it to leave. Says "elected" on stdout; leaves cleanly on SIGTERM.
//   arguments: KIND URL NAME TTL_MS       KIND: dynamodb | etcd | kubernetes | postgres (ours), etcd3, advisory
import { createHash } from "node:crypto";
import { createCandidate } from "conclave";
import { dynamodb } from "conclave/stores/dynamodb";
import { etcd } from "conclave/stores/etcd";
import { kubernetes } from "conclave/stores/kubernetes";
import { postgres } from "conclave/stores/postgres";
import { Etcd3 } from "etcd3";
import pg from "pg";

const [kind = "", url = "", name = "", ttl = ""] = process.argv.slice(2);
const ttlMs = Number(ttl);
/** @type {Record<string, () => Promise<() => Promise<unknown>>>} */
const kinds = { dynamodb: ours, etcd: ours, kubernetes: ours, postgres: ours, etcd3, advisory };
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
  const candidate = createCandidate({ store, ttlMs });
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
