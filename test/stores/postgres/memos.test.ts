// Memos on a real PostgreSQL, beside the suite: against a claim that waits for the same rows, on tables of before, without the right, on a replica, observed by NOTIFY.
import { elect } from "conclave";
import {
  type FencedStore,
  type Hold,
  type KeepsMemos,
  keepsMemos,
  type MemoWrite,
  type Session,
} from "conclave/stores/contract";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import pg from "pg";
import { describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, newDatabase } from "./stage.ts";

const servers = useServers(server);
const PATIENT = { timeout: 60_000 };
const database = (schema = postgresSchema()): Promise<string> => newDatabase(servers().urls[0] ?? "", schema);

/** As the script of the version before: no table, and no functions for it. */
const BEFORE = postgresSchema()
  .replace(/CREATE TABLE IF NOT EXISTS conclave\.memo [\s\S]*?\) WITH \(fillfactor = 80\);\n/, "")
  .replace(/CREATE OR REPLACE FUNCTION conclave\.write_ban\([\s\S]*?END \$write_ban\$;\n/, "")
  .replace(/CREATE OR REPLACE FUNCTION conclave\.shown\([\s\S]*?\$shown\$;\n/, "")
  .replace(/CREATE OR REPLACE FUNCTION conclave\.write_memo\([\s\S]*?END \$write_memo\$;\n/, "")
  .replace(/CREATE OR REPLACE FUNCTION conclave\.read_memos\([\s\S]*?END \$read_memos\$;\n/, "");

type Keeping = FencedStore & KeepsMemos;

function storeAt(url: string): Keeping {
  const store = postgres(url);
  if (!keepsMemos(store)) throw new Error("it keeps memos");
  return store;
}

const memoOf = (session: Session, held: Hold, value: string): MemoWrite => {
  return { session, hold: held, key: "k", value, n: 1, over: undefined };
};

it("a memo that waits for the seat is not written after another was granted it", PATIENT, async () => {
  const url = await database();
  const store = storeAt(url);
  const [old, young] = [await open(store), await open(store)];
  const held = await hold(store, old, "x");
  // Somebody holds the row of the seat, as a claim does, while the memo is on its way; then the seat is the rival's.
  const rival = new pg.Client(url);
  await rival.connect();
  await rival.query("BEGIN");
  await rival.query("SELECT FROM conclave.counter WHERE name = 'x' FOR UPDATE");
  const late = store.writeMemo(memoOf(old, held, "late"), call());
  await Promise.race([late, waited(url).catch(() => {})]);
  await rival.query(
    "UPDATE conclave.seat SET session = $1, last_session = $1, bid = 'young.1', token = token + 1 WHERE name = 'x'",
    [young.id],
  );
  await rival.query("COMMIT");
  await rival.end();
  expect(await late).toEqual({ kind: "seat-lost" });
  expect(await store.readMemos("x", undefined, call())).toMatchObject({ kind: "memos", memos: [] });
  await store.close();
});

it("session and bid are not enough: another token of the same bid is another term", PATIENT, async () => {
  const store = storeAt(await database());
  const session = await open(store);
  const held = await hold(store, session, "x");
  expect(await store.writeMemo(memoOf(session, held, "v"), call())).toMatchObject({ kind: "written" });
  const token = held.token && { ...held.token, value: held.token.value + 1n };
  const other = { ...memoOf(session, { ...held, token }, "w"), n: 2 };
  expect(await store.writeMemo(other, call())).toEqual({ kind: "seat-lost" });
  await store.close();
});

it("a session that was ended writes nothing, although the seat still shows it", PATIENT, async () => {
  const url = await database();
  const store = storeAt(url);
  const session = await open(store);
  const held = await hold(store, session, "x");
  await byHand(url, "UPDATE conclave.session SET ended = 'silent'");
  expect(await store.writeMemo(memoOf(session, held, "v"), call())).toEqual({ kind: "session-lost" });
  await store.close();
});

describe("on tables of before", () => {
  it(
    "a memo is refused with the script to run, the election goes on, and the script mends it under a live leader",
    PATIENT,
    async () => {
      expect(BEFORE).not.toMatch(/conclave\.(?:memo|write_memo|read_memos|shown)\b/);
      const url = await database(BEFORE);
      await using election = elect("x", { store: postgres(url) });
      const term = await election.campaign();
      await expect(term.memo("k", "v")).rejects.toThrow(/knows no memos.*npx conclave schema postgres/);
      await expect(election.memo("k")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
      expect(term.isLeading()).toBe(true);
      await byHand(url, postgresSchema());
      await term.memo("k", "v");
      expect(await election.memo("k")).toMatchObject({ value: "v", n: 1 });
    },
  );
});

it("without the right a memo is refused, and the election goes on", PATIENT, async () => {
  const url = await database();
  const role = `poor_${process.pid}`;
  await byHand(
    url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'poor'; ${postgresSchema({ role })}; REVOKE ALL ON conclave.memo FROM ${role}`,
  );
  const poor = new URL(url);
  [poor.username, poor.password] = [role, "poor"];
  await using election = elect("x", { store: postgres(poor.href) });
  await using term = await election.campaign();
  await expect(term.memo("k", "v")).rejects.toMatchObject({ code: "STORE_DENIED" });
  expect(term.isLeading()).toBe(true);
});

it("a deleted seat takes no memo with it, and its term writes none", PATIENT, async () => {
  const url = await database();
  await using election = elect("x", { store: postgres(url), ttlMs: 2000 });
  const term = await election.campaign();
  await term.memo("k", "before");
  await byHand(url, "DELETE FROM conclave.seat");
  await expect(term.memo("k", "after")).rejects.toMatchObject({ code: "TERM_LOST" });
  expect(await election.memo("k")).toMatchObject({ value: "before", n: 1 });
});

it("a row that was edited by hand is refused", PATIENT, async () => {
  const url = await database();
  await using election = elect("x", { store: postgres(url) });
  await using term = await election.campaign();
  await term.memo("k", "v");
  await byHand(url, "UPDATE conclave.memo SET n = 9007199254740993");
  await expect(election.memo("k")).rejects.toMatchObject({ code: "STORE_FOREIGN_DATA" });
});

it("a memo of another process is seen by a reader that observes it", PATIENT, async () => {
  const url = await database();
  await using reader = elect("x", { store: postgres(url) });
  const seen: (string | undefined)[] = [];
  for await (const memo of reader.observeMemo("k", { signal: AbortSignal.timeout(30_000) })) {
    seen.push(memo?.value);
    if (seen.length === 3) break;
    await using writer = elect("x", { store: postgres(url) });
    await using term = await writer.campaign();
    await term.memo("k", `value ${seen.length}`);
  }
  expect(seen).toEqual([undefined, "value 1", "value 2"]);
});

/** Somebody waits for a lock in this database. */
async function waited(url: string): Promise<void> {
  await expect
    .poll(() => byHand(url, "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), {
      timeout: 20_000,
    })
    .toEqual([{ waiting: 1 }]);
}
