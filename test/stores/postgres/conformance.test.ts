// `postgres://` against the contract, on a real server: with both clients, as a pool, as a single client and from a URL, through a pooler in transaction
// mode, and judged by the database's clock.
import pg from "pg";
import sql from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { storeConformance } from "conclave/testing";
import * as pgbouncer from "../../../scripts/servers/pgbouncer.mjs";
import * as server from "../../../scripts/servers/postgres.mjs";
import type { Store } from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";

const servers = useServers(server);
let pooler: Awaited<ReturnType<typeof pgbouncer.start>>;
const url = (): string => servers().urls[0] ?? "";
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  pooler = await pgbouncer.start({ database: url() });
  closing.push(() => pooler.stop());
  const client = new pg.Client(url());
  await client.connect();
  await client.query(postgresSchema());
  await client.query(postgresSchema()); // a second time changes nothing
  await client.query(postgresSchema({ schema: "elsewhere" }));
  await client.end();
}, 60_000);
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** Made once, closed after all: `close()` of a store leaves it open. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const pool = once(async () => {
  const made = new pg.Pool({ connectionString: url() });
  closing.push(() => made.end());
  return made;
});
const client = once(async () => {
  const made = new pg.Client(url());
  await made.connect();
  closing.push(() => made.end());
  return made;
});
const porsager = once(async () => {
  const made = sql(url());
  closing.push(() => made.end());
  return made;
});
const pooledPorsager = once(async () => {
  const made = sql(pooler.urls[0] ?? "", { prepare: false });
  closing.push(() => made.end());
  return made;
});

const WAYS: readonly (readonly [name: string, open: () => Promise<Store>])[] = [
  ["a URL", async () => postgres(url())],
  ["a URL, by pg's own Pool", async () => postgres(url(), { connections: "pool" })],
  ["a Pool of pg", async () => postgres(await pool())],
  ["a Client of pg", async () => postgres(await client())],
  ["postgres", async () => postgres(await porsager())],
  ["pgbouncer, a URL", async () => postgres(pooler.urls[0] ?? "")],
  ["pgbouncer, postgres", async () => postgres(await pooledPorsager())],
  ["another schema", async () => postgres(`${url()}?conclave_schema=elsewhere`)],
  ["the database's clock", async () => postgres(url(), { expiry: "database-clock" })],
];

/** A pooler in transaction mode gives no connection to listen on: what is only notified is not heard there, and docs/HANDING-OVER.md says so. */
const UNHEARD = [
  {
    name: "an invitation reaches those who watch the name, and changes nothing else",
    reason: "behind a pooler in transaction mode notifications are not heard",
  },
];

describe.each(WAYS)("%s", (way, open) => {
  const skip = way.startsWith("pgbouncer") ? UNHEARD : [];
  for (const { name, run } of storeConformance(open, { skip })) it(name, run);
});

it("closes no client that the user made", async () => {
  expect((await (await pool()).query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  expect((await (await client()).query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  expect([...(await (await porsager())`SELECT 1 AS one`)]).toEqual([{ one: 1 }]);
});
