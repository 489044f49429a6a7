// @ts-check
// PgBouncer in transaction mode in front of a PostgreSQL: what a candidate says in one transaction, the next one knows nothing of. As root it runs as
// `nobody`. Without `database` it starts a PostgreSQL of its own behind it.
import { chownSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import * as postgres from "./postgres.mjs";
import { freePorts, launch, privateFolder } from "./process.mjs";

export const packages = ["pgbouncer", ...postgres.packages];

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * @param {object} [options]
 * @param {string} [options.database] URL of the PostgreSQL behind it
 * @param {string} [options.folder] of its configuration; a private one if not given
 * @param {number} [options.nodes] there is one
 * @returns {Promise<import("./process.mjs").Servers>}
 */
export async function start({ database, folder } = {}) {
  const behind = database === undefined ? await postgres.start() : undefined;
  const target = new URL(database ?? behind?.urls[0] ?? "");
  const own = folder === undefined ? privateFolder("pgbouncer") : undefined;
  const base = folder ?? own?.folder ?? "";
  if (isRoot) chownSync(base, NOBODY, NOBODY);
  const [port = 0] = await freePorts(1);
  const file = path.join(base, "pgbouncer.ini");
  writeFileSync(file, configuration(target, port, base));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const user = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const [command, ...args] = [...user, "/usr/sbin/pgbouncer", file];
  const ready = async () => (await ask(url, "SELECT 1")) !== undefined;
  const node = await launch({ url, command, args, log: path.join(base, "pgbouncer.log"), stopSignal: "SIGINT", ready });
  return {
    urls: [url],
    nodes: [node],
    version: async () =>
      String((await ask(url.replace(/postgres$/, "pgbouncer"), "SHOW VERSION"))?.["version"]).replace(
        /^PgBouncer /,
        "",
      ),
    stop: async () => {
      await node.kill();
      await behind?.stop();
      own?.remove();
    },
  };
}

/** @param {URL} target @param {number} port @param {string} base */
function configuration(target, port, base) {
  return `[databases]
postgres = host=${target.hostname} port=${target.port} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir = ${base}
auth_type = any
admin_users = postgres
pool_mode = transaction
default_pool_size = 4
server_login_retry = 1
`;
}

/** @param {string} url @param {string} sql @returns {Promise<Record<string, unknown> | undefined>} */
async function ask(url, sql) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows[0];
  } finally {
    await client.end().catch(() => {});
  }
}
