// A generated client of Prisma over its adapter for pg, on a real PostgreSQL: the example that ships with the package refuses a late write, and what the fence has to
// say of a missing table, a missing right, a busy row or no transaction is found inside Prisma's errors.
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { PrismaPg } from "@prisma/adapter-pg";
import { postgresFence } from "conclave/fencing/postgres";
import pg from "pg";
import { append } from "./node_modules/conclave/examples/fenced-postgres/prisma.mjs";
import generated from "./generated/client.js";

const servers = path.join(process.env.CONCLAVE_REPOSITORY, "scripts/servers/postgres.mjs");
const server = await (await import(pathToFileURL(servers).href)).start();
const [url] = server.urls;
const clientOf = (connectionString) => new generated.PrismaClient({ adapter: new PrismaPg({ connectionString }) });
const pool = new pg.Pool({ connectionString: url });
const prisma = clientOf(url);
const fence = postgresFence();
const by = (value) => ({ token: { domain: "etcd-1", value, bid: `bid-${value}` } });
try {
  await pool.query("CREATE TABLE ledger (id serial PRIMARY KEY, row text NOT NULL)");
  await assert.rejects(append(prisma, "early", by(1n)), /no table conclave_fence/);
  await pool.query(fence.schema());
  await append(prisma, "of the first", by(1n));
  await append(prisma, "of the second", by(2n));
  await assert.rejects(append(prisma, "late", by(1n)), { code: "TOKEN_STALE" });
  await assert.rejects(fence.admit(prisma, "ledger", by(3n)), /there is no transaction/);

  await pool.query("CREATE ROLE reader LOGIN PASSWORD 'secret'");
  const reader = clientOf(url.replace("postgres@", "reader:secret@"));
  await assert.rejects(append(reader, "not allowed", by(3n)), { code: "STORE_DENIED" });
  await reader.$disconnect();

  await prisma.$transaction(async (tx) => {
    await fence.admit(tx, "ledger", by(2n));
    const impatient = prisma.$transaction(async (other) => {
      await other.$executeRawUnsafe("SET LOCAL lock_timeout = '50ms'");
      await fence.admit(other, "ledger", by(3n));
    });
    await assert.rejects(impatient, { code: "FENCE_BUSY" });
  });
  const { rows } = await pool.query("SELECT row FROM ledger");
  assert.deepEqual(rows, [{ row: "of the first" }, { row: "of the second" }]);
} finally {
  await prisma.$disconnect();
  await pool.end();
  await server.stop();
}
