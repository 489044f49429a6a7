// @ts-check
// `postgres:` on one real PostgreSQL, beside advisory locks of `pg` and the fewest statements that are correct, on bare `pg`: locks taken and given back,
// 1,000 leaderships held, and leaders that crash or leave. Everything in one run on one server; requests are those that the server counts (pg_stat_statements).
//
// An advisory lock writes nothing: it is held by a connection and gone with it. It has no ttl, so that a leader whose host is cut off keeps it until TCP gives
// up, and no token, so that nothing can tell a stale writer. It cannot pass a pooler in transaction mode. With a token from a row it writes once, where a seat
// that outlives its connection is written twice. So both do less than ours; their numbers stand here to be known, and not as goals.
import { createHash } from "node:crypto";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import pg from "pg";
import { leaving, nodeRecipe, takeOver, together } from "./networked/failover.mjs";
import { held } from "./networked/held.mjs";
import { exitRows, EXTENT, heldRows, lockRows, say, timeRows } from "./networked/rows.mjs";
import { canSupervise, supervised } from "./networked/supervised.mjs";
import { inTurns, wordsFor } from "./networked/turns.mjs";
import { keepResults } from "./results/keep.mjs";
import { start } from "../scripts/servers/postgres.mjs";

const HELD = 1_000;
const TTL_MS = 15_000;
const CRASH_TTL_MS = 2_000;
/** Silence as the taker counts it (ttl · (1 + 2ρ) and a grain), and a look every third of the ttl. */
const CRASH_BOUND_MS = Math.ceil(CRASH_TTL_MS * 1.01 + 5 + CRASH_TTL_MS / 3);
const SETTLE_MS = 2_000;
/** As many as ours opens by itself. */
const CONNECTIONS = 4;
const TAKE = `INSERT INTO bare AS seat (name, bid, token, ttl) VALUES ($1, $2, 1, 15000)
  ON CONFLICT (name) DO UPDATE SET bid = excluded.bid, token = seat.token + 1, ttl = excluded.ttl WHERE seat.bid IS NULL RETURNING token`;
const GIVE = "UPDATE bare SET bid = NULL WHERE name = $1 AND bid = $2";
const TABLES = `CREATE TABLE bare (name text PRIMARY KEY, bid text, token bigint NOT NULL, ttl integer NOT NULL, beat uuid) WITH (fillfactor = 50);
  CREATE TABLE tokens (name text PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 50);`;
const NEXT_TOKEN =
  "INSERT INTO tokens AS t VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET last = t.last + 1 RETURNING last";
const TITLES = {
  ours: "withLock",
  minimal: "the fewest correct statements on bare pg, 4 connections",
  tokened: "advisory lock and a token from a row (no ttl)",
  advisory: "advisory lock alone (no ttl, no token, writes nothing)",
};

/** @typedef {{ url: string, count: () => Promise<Record<string, number>> }} Place */

export async function run() {
  /** @type {Record<string, unknown>} */
  const raw = {};
  const alone = await onServers(1, async (place, version) => {
    raw["postgres"] = version;
    return [
      ...(await heldOnes(place, raw)),
      ...(await locks("postgres", place, raw)),
      ...(await exits(place, raw)),
      ...(await crashes(place, raw)),
      ...(await keeper(place, raw)),
    ];
  });
  // Where every commit waits for a second server, which is what keeps all promises through a failover, a commit costs what it costs in production, and not
  // what it costs on a quick disk.
  const replicated = await onServers(2, (place) => locks("postgres with a synchronous replica", place, raw));
  if (process.env["BENCH_KEEP"] === "1") keepResults("postgres", raw);
  return [...alone, ...replicated];
}

/** @template T @param {number} nodes @param {(place: Place, version: string) => Promise<T>} measure */
async function onServers(nodes, measure) {
  const servers = await start({ nodes, settings: { "pg_stat_statements.track": "top" } });
  const server = servers.urls[0] ?? "";
  const operator = new pg.Client(server);
  await operator.connect();
  try {
    if (nodes > 1) await waitForReplica(operator);
    await operator.query("CREATE EXTENSION pg_stat_statements");
    await operator.query("CREATE DATABASE bench");
    const url = server.replace(/[^/]*$/, "bench");
    await prepare(url);
    return await measure({ url, count: () => countedBy(operator) }, await servers.version());
  } finally {
    await operator.end();
    await servers.stop();
  }
}

/** @param {pg.Client} operator */
async function waitForReplica(operator) {
  await operator.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await operator.query("SELECT pg_reload_conf()");
  const isSync = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
  while ((await operator.query(isSync)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** @param {string} url */
async function prepare(url) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(postgresSchema() + TABLES);
  await client.end();
}

/** Statements of the database under test so far, by what they call. @param {pg.Client} operator */
async function countedBy(operator) {
  const { rows } = await operator.query(
    `SELECT coalesce(substring(query FROM 'conclave\\.([a-z]+)\\('), split_part(query, ' ', 1)) AS what, sum(calls)::int AS calls
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'bench') GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ what, calls }) => [what, calls]));
}

/** @param {string} name */
function keyOf(name) {
  return createHash("sha256").update(name).digest().readBigInt64BE().toString();
}

// ---- locks

/** @param {string} store @param {Place} place @param {Record<string, unknown>} raw */
async function locks(store, { url, count }, raw) {
  const candidate = createCandidate({ store: postgres(url), ttlMs: TTL_MS });
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client(url));
  await Promise.all(clients.map((client) => client.connect()));
  const withLock = (/** @type {string} */ name) => candidate.withLock(name, async () => {});
  const all = { ours: withLock, ...bareLocks(clients) };
  say(`the fewest correct statements for a lock on PostgreSQL: ${TAKE.replaceAll(/\s+/g, " ")}; ${GIVE}`);
  const { turns, turnMs } = EXTENT;
  const one = await inTurns(all, { names: 1, turns, turnMs, count });
  const many = await inTurns(all, { names: 64, turns, turnMs, count });
  await candidate.close();
  await Promise.all(clients.map((client) => client.end()));
  Object.assign(raw, { minimal: [TAKE, GIVE], [`${store}: locks per second`]: { 1: one, 64: many } });
  return [...lockRows(store, 1, one, TITLES, []), ...lockRows(store, 64, many, TITLES, [])];
}

/** Prepared statements, each a commit of its own. A name always uses the same connection: an advisory lock belongs to one. @param {readonly pg.Client[]} clients */
function bareLocks(clients) {
  let bids = 0;
  const clientOf = (/** @type {string} */ name) =>
    /** @type {pg.Client} */ (clients[Number(name.replace(/\D+/, "")) % clients.length]);
  /** pg wants one at a time. @type {Map<pg.Client, Promise<unknown>>} */
  const before = new Map();
  const ask = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string[]} */ ...values) => {
    const client = clientOf(name);
    const query = { name: text.slice(0, 60), text, values };
    const running = (before.get(client) ?? Promise.resolve()).then(() => client.query(query));
    before.set(client, running);
    return running;
  };
  const lock = async (/** @type {string} */ name) => {
    const { rows } = await ask(name, "SELECT pg_try_advisory_lock($1) AS taken", keyOf(name));
    if (rows[0]?.taken !== true) throw new Error("somebody else has the lock");
  };
  const unlock = (/** @type {string} */ name) => ask(name, "SELECT pg_advisory_unlock($1)", keyOf(name));
  return {
    minimal: async (/** @type {string} */ name) => {
      const bid = `bid.${++bids}`;
      const taken = await ask(name, TAKE, name, bid);
      const given = await ask(name, GIVE, name, bid);
      if (taken.rows.length !== 1 || given.rowCount !== 1) throw new Error("somebody else has the seat");
    },
    tokened: async (/** @type {string} */ name) => {
      await lock(name);
      await ask(name, NEXT_TOKEN, name);
      await unlock(name);
    },
    advisory: async (/** @type {string} */ name) => {
      await lock(name);
      await unlock(name);
    },
  };
}

// ---- held

/** @param {Place} place @param {Record<string, unknown>} raw */
async function heldOnes({ url, count }, raw) {
  const forMs = EXTENT.heldMs;
  const names = Array.from({ length: HELD }, (_, index) => `held-${index}`);
  const seen = await held({
    count,
    forMs,
    take: async () => {
      const candidate = createCandidate({ store: postgres(url), ttlMs: TTL_MS, drainMs: 100 });
      const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
      return async () => {
        if (!terms.every((term) => term.isHeld())) throw new Error("a term was lost while nothing was wrong");
        await candidate.close();
      };
    },
  });
  const peer = await held({
    count,
    forMs,
    take: async () => {
      const client = new pg.Client(url);
      await client.connect();
      for (const name of names) await client.query("SELECT pg_try_advisory_lock($1)", [keyOf(name)]);
      return () => client.end();
    },
  });
  say(
    `asked while 1,000 were held for ${forMs / 1000} s: by ours ${wordsFor(seen.by)}; for advisory locks ${wordsFor(peer.by)}`,
  );
  Object.assign(raw, { held: { ours: seen, advisory: peer } });
  return [
    ...heldRows(`postgres, 1,000 leaderships held, ttl ${TTL_MS / 1000} s`, seen),
    ...heldRows("postgres, 1,000 advisory locks held by a connection (no ttl)", peer),
  ];
}

// ---- leaders that leave, and leaders that crash

/** The second release is that of the session, and nobody waits for it. @param {Place} place @param {Record<string, unknown>} raw */
async function exits({ url, count }, raw) {
  const recipe = (/** @type {string} */ kind) => nodeRecipe(kind, url, "leaving", 60_000);
  const ours = await leaving(recipe("postgres"), { count, settleMs: SETTLE_MS });
  const peer = await leaving(recipe("advisory"), { count, settleMs: SETTLE_MS });
  Object.assign(raw, { leaves: { ours, advisory: peer } });
  return [
    ...exitRows(
      "postgres, after a clean exit: conclave",
      ours,
      ({ look = 0, claim = 0, take = 0 }) => 1 + look + claim + take,
      "≤ 2",
    ),
    ...exitRows("postgres, after a clean exit: advisory lock (no ttl, no token)", peer, () => 1, ""),
  ];
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function crashes({ url }, raw) {
  const { pairs, rounds } = EXTENT;
  const options = { how: /** @type {const} */ ("crash"), rounds, settleMs: SETTLE_MS, phaseMs: CRASH_TTL_MS / 3 };
  const rounded = (/** @type {string} */ kind) =>
    together(pairs, (pair) => takeOver(nodeRecipe(kind, url, `crash-${pair}`, CRASH_TTL_MS), options));
  const seen = { ours: await rounded("postgres"), advisory: await rounded("advisory") };
  Object.assign(raw, { crashes: seen });
  return [
    ...timeRows(`postgres, after a crash, ttl ${CRASH_TTL_MS / 1000} s: conclave`, seen.ours, `≤ ${CRASH_BOUND_MS}`),
    ...timeRows("postgres, after a crash: advisory lock (its host lives and says so)", seen.advisory, ""),
  ];
}

/** @param {Place} place @param {Record<string, unknown>} raw */
async function keeper({ url }, raw) {
  if (!canSupervise()) {
    say("conclave run is not in this build: a crash under it is left out");
    return [];
  }
  const samples = await supervised(url, EXTENT.supervised);
  Object.assign(raw, { supervised: samples });
  return timeRows("postgres, conclave run killed, ttl 60 s, to the next command's first act", samples, "≤ 250");
}
