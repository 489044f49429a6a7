// Seen on a real server: a client was killed with SIGKILL while a statement of it ran; the server knew nothing of that, and committed it 2.5 s later, beside the
// first writes of a successor that had noticed the death at once.
// Here: the successor's first `admit` waits for the dead one's transaction, because that still has its share of the fence. What it reads then is what stays.
// Taken out: test/defences/late-statement.patch
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { postgresFence } from "conclave/fencing/postgres";
import pg from "pg";
import * as server from "../../scripts/servers/postgres.mjs";
import { by } from "../fencing/tokens.ts";
import { byHand, newDatabase, sleep } from "../stores/postgres/stage.ts";
import { bundle } from "../support/bundle.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-killed-"));
const source = fileURLToPath(new URL("../../src/fencing/postgres.ts", import.meta.url));
let database: Awaited<ReturnType<typeof server.start>>;
let url = "";
beforeAll(async () => {
  await bundle({ postgres: source }, { dir: folder });
  database = await server.start();
  url = await newDatabase(database.urls[0] ?? "");
  await byHand(url, "CREATE TABLE account (balance int); INSERT INTO account VALUES (100)");
}, 60_000);
afterAll(async () => {
  await database?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Everything is sent before it dies: the slow statement, and the COMMIT behind it. */
const VICTIM = `
import pg from "pg";
const { postgresFence } = await import(process.env.FENCE);
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query("BEGIN");
await postgresFence().admit(client, "account", { token: { domain: "etcd-1", value: 1n, bid: "b1" } });
void client.query("UPDATE account SET balance = balance - 30 FROM (SELECT pg_sleep(2)) AS slow; COMMIT");
setTimeout(() => process.kill(process.pid, "SIGKILL"), 300);
`;

it("killed-clients-statement: a successor does not meet a late write of the dead", { timeout: 40_000 }, async () => {
  const fence = postgresFence();
  const client = new pg.Client(url);
  await client.connect();
  await client.query("BEGIN");
  await fence.admit(client, "account", by(1));
  await client.query("COMMIT");
  const victim = spawn(process.execPath, ["--input-type=module", "-e", VICTIM], {
    env: { ...process.env, DATABASE_URL: url, FENCE: pathToFileURL(path.join(folder, "postgres.js")).href },
    stdio: "ignore",
  });
  const signal = await new Promise((resolve) => victim.once("exit", (_code, signal) => resolve(signal)));
  expect(signal).toBe("SIGKILL");

  await client.query("BEGIN");
  await fence.admit(client, "account", by(2)); // at once: its death was noticed
  const read = (await client.query<{ balance: number }>("SELECT balance FROM account")).rows[0]?.balance;
  await client.query("COMMIT");
  await sleep(3000);
  const stays = (await byHand(url, "SELECT balance FROM account"))[0]?.["balance"];
  expect(read).toBe(stays);
  expect(stays).toBe(70); // it did commit, after its client was dead
  await client.end();
});
