// How a standby is compared with its primary before it may follow it, on real servers of PostgreSQL that no guard starts: what a monitor without guards does, one command at a time.
import { afterEach, expect, it } from "vitest";
import pg from "pg";
import { postgresReplication, type ServerLink, type ServerSpec } from "conclave/failover";
import { start } from "../../scripts/servers/postgres.mjs";

type Started = Awaited<ReturnType<typeof start>>;

const TIMEOUT_MS = 1000;
let servers: Started | undefined;
const links: ServerLink[] = [];

afterEach(async () => {
  for (const link of links.splice(0)) link.close();
  await servers?.stop();
}, 60_000);

function specs(): Record<"a" | "b" | "c", ServerSpec> {
  const of = (name: string, index: number): ServerSpec => {
    const url = servers?.urls[index] ?? "";
    const { hostname: host, port } = new URL(url);
    return { name, url, host, port: Number(port), priority: 100 };
  };
  return { a: of("a", 0), b: of("b", 1), c: of("c", 2) };
}

async function ask(server: ServerSpec, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query({ text, query_timeout: 20_000 } as pg.QueryConfig)).rows as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => {});
  }
}

async function linkTo(server: ServerSpec): Promise<ServerLink> {
  const options = { timeoutMs: TIMEOUT_MS, promoteWithinMs: 10_000, confirmations: 0 };
  const link = await postgresReplication({ ...specs() }, options).connect(server);
  links.push(link);
  return link;
}

const set = async (server: ServerSpec, name: string, value: string): Promise<void> => {
  await ask(server, `ALTER SYSTEM SET ${name} = '${value}'`);
  await ask(server, "SELECT pg_reload_conf()");
};

/** Names under which standbys stream from this server. */
const streaming = async (server: ServerSpec): Promise<readonly unknown[]> =>
  (await ask(server, "SELECT application_name AS name FROM pg_stat_replication WHERE state = 'streaming'")).map(
    ({ name }) => name,
  );

/** a is the primary, with a table; b and c have it. */
async function trio(): Promise<ReturnType<typeof specs>> {
  servers = await start({ nodes: 3, settings: { wal_retrieve_retry_interval: "200ms" } });
  const all = specs();
  await ask(all.a, "CREATE TABLE writes (id int)");
  for (const standby of [all.b, all.c])
    await expect.poll(() => ask(standby, "SELECT to_regclass('writes')::text AS it")).toEqual([{ it: "writes" }]);
  return all;
}

/** a dies, and b becomes the primary, on timeline 2. */
async function promoteB(all: ReturnType<typeof specs>): Promise<void> {
  await servers?.nodes[0]?.kill();
  await servers?.nodes[1]?.promote();
  await expect.poll(() => ask(all.b, "SELECT pg_is_in_recovery() AS it")).toEqual([{ it: false }]);
}

it("without guards: a standby that has nothing of its own follows under a name with the timeline of its primary", async () => {
  const all = await trio();
  await promoteB(all);
  const link = await linkTo(all.c);
  await expect.poll(() => link.follow(all.b), { timeout: 30_000 }).toBe("done");
  await expect.poll(() => streaming(all.b), { timeout: 30_000 }).toEqual(["c/2"]);
  expect(await link.isFollowing(all.b)).toBe(true);
}, 120_000);

it("without guards: a standby that has more than its primary is not connected to it", async () => {
  const all = await trio();
  // b gets nothing more; c has what a writes after that.
  await set(all.b, "primary_conninfo", "");
  await expect.poll(() => streaming(all.a)).toHaveLength(1);
  await ask(all.a, "INSERT INTO writes SELECT generate_series(1, 20000)");
  const [{ it: written } = {}] = await ask(all.a, "SELECT pg_current_wal_flush_lsn()::text AS it");
  await expect
    .poll(() => ask(all.c, `SELECT pg_last_wal_replay_lsn() >= '${String(written)}' AS it`))
    .toEqual([{ it: true }]);
  await promoteB(all);
  const link = await linkTo(all.c);
  await expect.poll(() => link.follow(all.b), { timeout: 30_000 }).toBe("parted");
  expect(await streaming(all.b)).toEqual([]);
  // While its primary does not show the history of its timeline, nobody knows whether c has parted: that must not be taken for "parted", after which data is thrown away.
  const file = "pg_wal/00000002.history";
  await ask(all.b, `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mv ${file} ${file}.aside'`);
  expect(await link.follow(all.b)).toBe("unknown");
  await ask(all.b, `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mv ${file}.aside ${file}'`);
  // On a busy machine an answer may be late, which is "unknown" again.
  await expect.poll(() => link.follow(all.b), { timeout: 30_000 }).toBe("parted");
}, 120_000);

it("a primary that does not show the history of its timeline has not answered: a standby that has everything is not taken to have parted", async () => {
  const all = await trio();
  await promoteB(all);
  const file = "pg_wal/00000002.history";
  await ask(all.b, `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mv ${file} ${file}.aside'`);
  const link = await linkTo(all.c);
  expect(await link.follow(all.b)).toBe("unknown");
  await ask(all.b, `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mv ${file}.aside ${file}'`);
  await expect.poll(() => link.follow(all.b), { timeout: 30_000 }).toBe("done");
}, 120_000);

it("a standby with a delay follows under its plain name, which confirms nothing, and under the other one when it has caught up", async () => {
  const all = await trio();
  await set(all.c, "recovery_min_apply_delay", `${4 * TIMEOUT_MS}ms`);
  await ask(all.a, "INSERT INTO writes VALUES (1)");
  await expect.poll(() => ask(all.b, "SELECT count(*)::int AS it FROM writes")).toEqual([{ it: 1 }]);
  await promoteB(all);
  const link = await linkTo(all.c);
  expect(await link.follow(all.b)).toBe("done");
  expect(await ask(all.c, "SHOW primary_conninfo")).toMatchObject([
    { primary_conninfo: expect.stringContaining("application_name='c'") as string },
  ]);
  // PostgreSQL connects it when it has replayed what it had before.
  await expect.poll(() => streaming(all.b), { timeout: 60_000 }).toEqual(["c"]);
  await set(all.b, "synchronous_standby_names", 'ANY 1 ("c/2")');
  const commit = ask(all.b, "INSERT INTO writes VALUES (2)");
  const waiting = "SELECT wait_event AS it FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  await expect.poll(() => ask(all.b, waiting)).toEqual([{ it: "SyncRep" }]);
  // It is sent the commit, and has it on its disk, and its word counts for nothing.
  const flushed = "SELECT sync_state AS it FROM pg_stat_replication WHERE flush_lsn = pg_current_wal_flush_lsn()";
  await expect.poll(() => ask(all.b, flushed)).toEqual([{ it: "async" }]);
  expect(await ask(all.b, waiting)).toEqual([{ it: "SyncRep" }]);
  // It has not replayed everything, so that it is not told again; when it has, it is compared.
  expect(await link.isFollowing(all.b)).toBe(true);
  await expect.poll(() => link.isFollowing(all.b), { timeout: 60_000 }).toBe(false);
  expect(await link.follow(all.b)).toBe("done");
  await expect.poll(() => streaming(all.b), { timeout: 60_000 }).toEqual(["c/2"]);
  await commit;
  expect(await link.isFollowing(all.b)).toBe(true);
}, 180_000);
