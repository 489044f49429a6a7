// @ts-check
// Memos on each store, beside a bare conditional write that is as durable as ours: one row or key, written over the version that is known. One key, one write
// after the other, in one run and in turns, on the same disk or server. Only ours checks who holds the seat.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createCandidate, openStore, requireFenced } from "conclave";
import { postgresSchema } from "conclave/stores/postgres";
import pg from "pg";
import { openBareEtcd } from "./networked/bare-etcd.mjs";
import * as etcd from "../scripts/servers/etcd.mjs";
import * as postgres from "../scripts/servers/postgres.mjs";

const WARM = 1_000;
const ROUNDS = 2_000;
const TURNS = 25;

/** @typedef {{ name: string, value: number, unit: string, goal: string }} Row */
/** @typedef {{ write: () => Promise<unknown>, end: () => unknown }} Writer */

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-memos-"));
  try {
    return [...(await onMemory()), ...(await onSqlite(folder)), ...(await onEtcd()), ...(await onPostgres())];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onMemory() {
  return await measure("memory:", { ours: await ours("memory:") });
}

/** @param {string} folder */
async function onSqlite(folder) {
  const file = path.join(folder, "conclave.db");
  return await measure("sqlite:", {
    ours: await ours(`sqlite:${file}`),
    bare: bareSqlite(path.join(folder, "bare.db")),
  });
}

async function onEtcd() {
  const servers = await etcd.start();
  try {
    const url = servers.urls[0] ?? "";
    return await measure("etcd", { ours: await ours(`etcd://${new URL(url).host}`), bare: await bareEtcd(url) });
  } finally {
    await servers.stop();
  }
}

async function onPostgres() {
  const servers = await postgres.start();
  try {
    const url = servers.urls[0] ?? "";
    const bare = await barePostgres(url);
    return await measure("postgres", { ours: await ours(url), bare });
  } finally {
    await servers.stop();
  }
}

/** In turns, after both are warm. @param {string} store @param {{ ours: Writer, bare?: Writer }} writers @returns {Promise<Row[]>} */
async function measure(store, { ours: our, bare }) {
  const both = bare === undefined ? [our] : [our, bare];
  const spentMs = both.map(() => 0);
  for (const { write } of both)
    for (let round = 0; round < WARM; round++) {
      await write();
      if (round % 40 === 0) await turn();
    }
  for (let count = 0; count < TURNS; count++)
    for (const [index, { write }] of both.entries()) {
      const begun = performance.now();
      for (let round = 0; round < ROUNDS / TURNS; round++) await write();
      spentMs[index] = (spentMs[index] ?? 0) + performance.now() - begun;
      await turn();
    }
  for (const { end } of both) await end();
  const [mine = 0, theirs = 0] = spentMs.map((spent) => (ROUNDS / spent) * 1000);
  const row = (/** @type {string} */ name, /** @type {number} */ value, /** @type {string} */ unit) => ({
    name,
    value,
    unit,
    goal: "",
  });
  const first = row(`memos on ${store}, 1 key`, mine, "ops/s");
  if (bare === undefined) return [first];
  return [
    first,
    row(`bare conditional write on ${store}`, theirs, "ops/s"),
    row(`memos on ${store} over a bare conditional write`, mine / theirs, "×"),
  ];
}

/** On memory: nothing else lets the event loop turn, and renewals need that. @returns {Promise<void>} */
function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** @param {string} url @returns {Promise<Writer>} */
async function ours(url) {
  const store = await openStore(url);
  requireFenced(store);
  const candidate = createCandidate({ store, ttlMs: 15_000 });
  const term = await candidate.election("memos").campaign();
  let written = 0;
  return { write: () => term.memo("k", `${++written}`), end: () => candidate.close({ drainMs: 0 }) };
}

/** BEGIN IMMEDIATE, an UPDATE over the version that is known, COMMIT: one synced commit, as a memo is. @param {string} file @returns {Writer} */
function bareSqlite(file) {
  const require = createRequire(import.meta.url);
  /** It has no types here. @type {new (file: string) => { exec(sql: string): void, prepare(sql: string): { run(...values: unknown[]): unknown }, close(): void }} */
  const Database = require("libsql");
  const database = new Database(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(
    "CREATE TABLE memo (key TEXT PRIMARY KEY, value TEXT, version INTEGER); INSERT INTO memo VALUES ('k', '', 0)",
  );
  const update = database.prepare("UPDATE memo SET value = ?, version = version + 1 WHERE key = 'k' AND version = ?");
  let version = 0;
  return {
    write: async () => {
      database.exec("BEGIN IMMEDIATE");
      update.run(`${version}`, version);
      database.exec("COMMIT");
      version++;
    },
    end: () => database.close(),
  };
}

/** Txn(the key's revision is the known one → put). @param {string} url @returns {Promise<Writer>} */
async function bareEtcd(url) {
  const { signal, link, close } = await openBareEtcd(url);
  const key = Buffer.from("bare-memo");
  let revision = 0n;
  return {
    write: async () => {
      const put = { key, value: Buffer.from(`${revision}`), lease: 0n };
      const order = { compare: [{ key, modRevision: revision }], success: [{ put }], failure: [] };
      const { succeeded, header } = await (await link()).txn(order, signal);
      if (!succeeded) throw new Error("somebody else has written");
      revision = header.revision;
    },
    end: close,
  };
}

/** A prepared UPDATE over the version that is known, a commit of its own. @param {string} url @returns {Promise<Writer>} */
async function barePostgres(url) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(postgresSchema());
  await client.query("CREATE TABLE bare_memo (key text PRIMARY KEY, value text, version bigint)");
  await client.query("INSERT INTO bare_memo VALUES ('k', '', 0)");
  const text = "UPDATE bare_memo SET value = $1, version = version + 1 WHERE key = 'k' AND version = $2";
  let version = 0;
  return {
    write: async () => {
      const { rowCount } = await client.query({ name: "bare", text, values: [`${version}`, version] });
      if (rowCount !== 1) throw new Error("somebody else has written");
      version++;
    },
    end: () => client.end(),
  };
}
