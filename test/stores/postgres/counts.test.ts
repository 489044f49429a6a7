// What it costs, counted at the server (pg_stat_statements): a renewal is one call of one function however many seats there are; a clean handover is few.
import { afterEach, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import pg from "pg";
import * as server from "../../../scripts/servers/postgres.mjs";
import type { Bid, Hold } from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { call, open } from "../moves.ts";
import { byHand, sleep } from "./stage.ts";

const servers = useServers(server, { settings: { "pg_stat_statements.track": "top" } });
const url = (): string => servers().urls[0] ?? "";

afterEach(() => byHand(url(), "SELECT pg_stat_statements_reset()"));

async function counted(): Promise<Readonly<Record<string, number>>> {
  const rows = await byHand(
    url(),
    `SELECT substring(query FROM 'conclave\\.([a-z]+)\\(') AS verb, sum(calls)::int AS calls FROM pg_stat_statements WHERE query ~ 'SELECT conclave\\.' GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ verb, calls }) => [verb, Number(calls)]));
}

/** A candidate looks for itself twice a second until it hears notifications. */
async function lookingIsOver(): Promise<void> {
  for (let before = -1; ; await sleep(1500)) {
    const looks = (await counted())["look"] ?? 0;
    if (looks > 0 && looks === before) return;
    before = looks;
  }
}

/** Rows updated so far, by table; a backend tells what it has counted only when it is asked to, or after a while. */
async function written(pool: pg.Pool): Promise<Readonly<Record<string, number>>> {
  await pool.query("SELECT pg_stat_force_next_flush()");
  const rows = await byHand(url(), "SELECT relname, n_tup_upd::int AS n FROM pg_stat_user_tables");
  return Object.fromEntries(rows.map(({ relname, n }) => [relname, Number(n)]));
}

it("one call renews a thousand seats, writes one row, and sends no more than one seat's renewal does", async () => {
  await byHand(url(), `CREATE EXTENSION IF NOT EXISTS pg_stat_statements; ${postgresSchema()}`);
  const sent: string[] = [];
  const pool = new pg.Pool({ connectionString: url(), max: 1 });
  const store = postgres({ query: (query) => (sent.push(query.text), pool.query(query)) });
  const session = await open(store);
  const claims = Array.from({ length: 1000 }, (_, index) => ({
    session,
    name: `name ${index}`,
    bid: `bid.${index}` as Bid,
    over: "never" as never,
    value: "",
  }));
  const claimed = await store.claim(claims, call());
  const holds = claimed.flatMap((each): Hold[] => (each.kind === "granted" ? [each.hold] : []));
  expect(holds).toHaveLength(1000);
  await byHand(url(), "SELECT pg_stat_statements_reset()");
  const before = await written(pool);
  expect(before).toMatchObject({ counter: 1000 });
  sent.length = 0;
  for (let keep = 0; keep < 10; keep++)
    expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], strays: [] });
  expect(await counted()).toEqual({ keep: 10 });
  expect(sent).toHaveLength(10);
  expect(Math.max(...sent.map(({ length }) => length))).toBeLessThan(400);
  expect(await written(pool)).toEqual({ ...before, session: (before["session"] ?? 0) + 10 });
  await pool.end();
});

it("a handover to a waiting candidate is a release and a claim: it is told, and neither looks nor polls", async () => {
  await using first = createCandidate({ store: postgres(url()), id: "first", ttlMs: 60_000 });
  await using second = createCandidate({ store: postgres(url()), id: "second", ttlMs: 60_000 });
  const term = await first.election("x").campaign();
  const next = second.election("x").campaign();
  await lookingIsOver();
  await byHand(url(), "SELECT pg_stat_statements_reset()");
  await term.resign();
  const successor = await next;
  const { token } = successor;
  expect(token.value).toBe(term.token.value + 1n);
  expect(await counted()).toEqual({ give: 1, take: 1 });
  await successor.resign();
});
