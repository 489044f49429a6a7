// Bans on a real PostgreSQL, beside the suite: what waits for the same rows as a ban finds it, and tables of before.
import { createCandidate } from "conclave";
import {
  type Bid,
  type FencedStore,
  type KeepsMemos,
  keepsBans,
  type MemoWrite,
  type Session,
} from "conclave/stores/contract";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import pg from "pg";
import { expect, it } from "vitest";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { newDatabase } from "./stage.ts";

const servers = useServers(server);
const PATIENT = { timeout: 60_000 };
const database = (schema = postgresSchema()): Promise<string> => newDatabase(servers().urls[0] ?? "", schema);

function storeAt(url: string): FencedStore & KeepsMemos {
  const store = postgres(url);
  if (!keepsBans(store)) throw new Error("it keeps bans");
  return store;
}

const TARGET = { name: "db-1", machine: "m" };

/** A transaction of somebody else that holds a row; then what is asked waits for it. */
async function whileHeld(
  url: string,
  row: string,
  ask: () => Promise<unknown>,
  then: () => Promise<unknown>,
): Promise<void> {
  const other = new pg.Client(url);
  await other.connect();
  await other.query("BEGIN");
  await other.query(`SELECT FROM ${row} FOR UPDATE`);
  const asked = ask();
  const { rows } = await other.query("SELECT pg_backend_pid() AS pid");
  for (;;) {
    const waiting = await other.query("SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", [
      rows[0].pid,
    ]);
    if (waiting.rowCount !== 0) break;
  }
  const next = then();
  await other.query("COMMIT");
  await other.end();
  await Promise.all([asked, next]);
}

it("a claim that waits behind a ban is not granted, and an opening that waits is refused", PATIENT, async () => {
  const url = await database();
  const [store, others] = [storeAt(url), storeAt(url)];
  const shooter = await open(store);
  const held = await hold(store, shooter, "shooter");
  const spec = { nonce: "target", candidate: "x", ttlMs: 30_000, node: TARGET };
  const kept = await store.keep(spec, [], call());
  const session = { ...(kept as Extract<typeof kept, { kind: "kept" }>).session, node: TARGET.name };
  const ban: MemoWrite = {
    session: shooter,
    hold: held,
    key: "b",
    value: "{}",
    n: 1,
    over: undefined,
    ban: { node: "db-1", stands: true },
  };
  const answers: (string | undefined)[] = [];
  await whileHeld(
    url,
    "conclave.session WHERE id = 'target'",
    async () => answers.push((await store.writeMemo(ban, call())).kind),
    async () => {
      const claim = { session, name: "y", bid: "t.1" as Bid, over: "never" as never, value: "" };
      const opening = others.keep({ ...spec, nonce: "second" }, [], call());
      answers.push((await others.claim([claim], call()))[0]?.kind, (await opening).kind);
    },
  );
  expect(new Set(answers)).toEqual(new Set(["refused", "session-lost", "written"]));
  await store.close();
  await others.close();
});

it(
  "on tables of before a node and a ban are refused with the script to run, and the script mends it",
  PATIENT,
  async () => {
    const before = postgresSchema()
      .replace(/CREATE OR REPLACE FUNCTION conclave\.write_ban\([\s\S]*?END \$write_ban\$;\n/, "")
      .replace(", 'node', known.node", "");
    const url = await database(before);
    const plain = createCandidate({ store: postgres(url) });
    const term = await plain.election("x").campaign();
    await expect(term.ban("db-1", "")).rejects.toThrow(/knows no.*npx conclave schema postgres/);
    const named = createCandidate({ store: postgres(url), node: "db-2" });
    await expect(named.election("y").campaign()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    const owner = new pg.Client(url);
    await owner.connect();
    await owner.query(postgresSchema());
    await owner.end();
    await term.ban("db-1", "");
    await (await named.election("y").campaign()).resign();
    await term.resign();
    await named.close();
    await plain.close();
  },
);

it("of two nodes that ban each other at one moment one is banned, and a deadlock is taken back", PATIENT, async () => {
  const url = await database();
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 20', current_database()); END $$",
  );
  const stores = [storeAt(url), storeAt(url)] as const;
  const shooterOf = async (index: 0 | 1, round: number): Promise<MemoWrite> => {
    const store = stores[index];
    const node = { name: `node-${round}-${index}`, machine: `m${index}` };
    const kept = await store.keep({ nonce: node.name, candidate: "x", ttlMs: 30_000, node }, [], call());
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const session = { ...kept.session, node: node.name };
    const held = await hold(store, session, `election-${round}-${index}`);
    const ban = { node: `node-${round}-${1 - index}`, stands: true };
    return { session, hold: held, key: "b", value: "{}", n: 1, over: undefined, ban };
  };
  const shoot = async (index: 0 | 1, write: MemoWrite): Promise<string> => {
    for (;;) {
      const answer = await stores[index].writeMemo(write, call());
      if (answer.kind === "refused" && !answer.retryable) throw new Error(answer.message);
      if (answer.kind !== "refused" && answer.kind !== "unknown") return answer.kind;
    }
  };
  let deadlocks = 0;
  for (let round = 0; round < 200 && deadlocks === 0; round++) {
    const writes = [await shooterOf(0, round), await shooterOf(1, round)] as const;
    const answers = await Promise.all([shoot(0, writes[0]), shoot(1, writes[1])]);
    expect(answers.toSorted()).toEqual(["session-lost", "written"]);
    await admin.query("SELECT pg_stat_clear_snapshot()");
    const { rows } = await admin.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    deadlocks = Number(rows[0].deadlocks);
  }
  await admin.end();
  for (const store of stores) await store.close();
  expect(deadlocks).toBeGreaterThan(0);
});

it(
  "the sessions of a node end in the step that finds its ban; of two machines under one name none does",
  PATIENT,
  async () => {
    const url = await database();
    const admin = new pg.Client(url);
    await admin.connect();
    const store = storeAt(url);
    const shooter = await open(store);
    const held = await hold(store, shooter, "shooter");
    const opened = async (name: string, machine: string): Promise<Session> => {
      const spec = { nonce: `${name} ${machine}`, candidate: machine, ttlMs: 30_000, node: { name, machine } };
      const kept = await store.keep(spec, [], call());
      if (kept.kind !== "kept") throw new Error(kept.kind);
      return { ...kept.session, node: name };
    };
    const shoot = async (node: string): Promise<void> => {
      const ban = {
        session: shooter,
        hold: held,
        key: node,
        value: "{}",
        n: 1,
        over: undefined,
        ban: { node, stands: true },
      };
      const banned = await store.writeMemo(ban, call());
      if (banned.kind !== "written") throw new Error(banned.kind);
      const end = { ...ban, n: 2, over: banned.version, ban: { node, stands: true, endsSessions: true as const } };
      expect((await store.writeMemo(end, call())).kind).toBe("written");
    };
    const seats = async (...names: readonly string[]): Promise<readonly string[]> => {
      const looked = await store.look(
        names.map((name) => ({ name })),
        call(),
      );
      return looked.kind === "seen" ? looked.seats.map(({ state }) => state) : [];
    };

    await hold(store, await opened("db-1", "m1"), "one");
    await shoot("db-1");
    expect(await seats("one")).toEqual(["vacant"]);

    const twin = await opened("db-2", "m1");
    await hold(store, twin, "two");
    // The clock of the database is set forward, another machine takes the name, and the clock is set back.
    await admin.query("UPDATE conclave.session SET kept = kept - interval '2 minutes' WHERE id = $1", [twin.id]);
    await hold(store, await opened("db-2", "m2"), "three");
    await shoot("db-2");
    expect(await seats("two", "three")).toEqual(["held", "held"]);
    await admin.end();
    await store.close();
  },
);
