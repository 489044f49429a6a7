// @ts-check
// A candidate in a process of its own, ours or a peer's, for benchmarks that kill it or tell it to leave. Says "standing" and "elected" on stdout; leaves
// cleanly on SIGTERM.
//   arguments: KIND URL NAME TTL_MS       KIND: etcd | postgres (ours), etcd3, advisory
import { createHash } from "node:crypto";
import { createCandidate, openStore } from "conclave";
import { Etcd3 } from "etcd3";
import pg from "pg";

const [kind = "", url = "", name = "", ttl = ""] = process.argv.slice(2);
const ttlMs = Number(ttl);
const leave = await { etcd: ours, postgres: ours, etcd3, advisory }[kind]?.();
process.once("SIGTERM", () => void leave?.().then(() => process.exit(0)));

/** @param {"standing" | "elected"} what */
function say(what) {
  process.stdout.write(`${what}\n`);
}

async function ours() {
  const candidate = createCandidate({ store: await openStore(url), ttlMs });
  candidate.subscribe((event) => {
    if (event.type === "session" && event.state === "opened") say("standing");
  });
  /** @type {import("conclave").Term | undefined} */
  let term;
  void candidate
    .election(name)
    .campaign()
    .then((won) => {
      term = won;
      say("elected");
    });
  return async () => {
    await term?.resign();
    await candidate.close();
  };
}

async function etcd3() {
  const client = new Etcd3({ hosts: url });
  const campaign = client.election(name, ttlMs / 1000).campaign("x");
  campaign.on("elected", () => say("elected"));
  campaign.on("_isWaiting", () => say("standing"));
  return () => campaign.resign();
}

/** One connection, which holds the lock by being there. */
async function advisory() {
  const client = new pg.Client(url);
  const key = createHash("sha256").update(name).digest().readBigInt64BE().toString();
  await client.connect();
  say("standing");
  void client.query("SELECT pg_advisory_lock($1)", [key]).then(() => say("elected"));
  return async () => {
    await client.query("SELECT pg_advisory_unlock($1)", [key]);
    await client.end();
  };
}
