// The connections that a store makes for its URL: what they say to a real server and to a real pooler.
import { createRequire } from "node:module";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as pgbouncer from "../../../../scripts/servers/pgbouncer.mjs";
import * as server from "../../../../scripts/servers/postgres.mjs";
import { useServers } from "../../../support/servers.ts";
import { call } from "../../../stores/moves.ts";
import { byHand } from "../../../stores/postgres/stage.ts";

describe("on a real server", () => {
  const servers = useServers(server, { settings: { "pg_stat_statements.track": "top" } });
  const url = (): string => servers().urls[0] ?? "";

  beforeAll(() => byHand(url(), `CREATE EXTENSION pg_stat_statements; ${postgresSchema()}`));
  beforeEach(() => byHand(url(), "SELECT pg_stat_statements_reset()"));

  /** How often each was run: read anew, or prepared before. */
  async function looks(): Promise<Readonly<Record<string, number>>> {
    const rows = await byHand(
      url(),
      `SELECT split_part(query, ' ', 1) AS how, sum(calls)::int AS calls FROM pg_stat_statements WHERE query LIKE '%conclave.look(%' GROUP BY 1`,
    );
    return Object.fromEntries(rows.map(({ how, calls }) => [how, Number(calls)]));
  }

  async function lookFiveTimes(at: string): Promise<void> {
    const store = postgres(at);
    for (let time = 0; time < 5; time++)
      expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "seen" });
    await store.close();
  }

  it("a call that comes again is prepared", async () => {
    await lookFiveTimes(url());
    expect(await looks()).toEqual({ SELECT: 1, PREPARE: 4 });
  });

  it("behind a pooler nothing is", async () => {
    const pooler = await pgbouncer.start({ database: url() });
    try {
      await lookFiveTimes(pooler.urls[0] ?? "");
    } finally {
      await pooler.stop();
    }
    expect(await looks()).toEqual({ SELECT: 5 });
  });

  it("tables that are made anew under a prepared call are found", async () => {
    const store = postgres(url());
    for (let time = 0; time < 3; time++) await store.look([{ name: "x" }], call());
    await byHand(url(), "DROP SCHEMA conclave CASCADE");
    const without = await store.look([{ name: "x" }], call());
    expect(without).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED" });
    await byHand(url(), postgresSchema());
    for (let time = 0; time < 3; time++)
      expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "seen" });
    await store.close();
  });

  it("asks with pg's own client where libpq is to take its place", async () => {
    const { cache, resolve } = createRequire(import.meta.url);
    delete cache[resolve("pg")]; // it decides that when it is loaded
    vi.stubEnv("NODE_PG_FORCE_NATIVE", "1");
    try {
      await lookFiveTimes(url());
    } finally {
      vi.unstubAllEnvs();
    }
  });

  /** Of this process, and of what conclave says about pg. */
  async function warningsDuring(work: () => Promise<void>): Promise<readonly string[]> {
    const heard: string[] = [];
    const hear = (warning: Error & { readonly code?: string }): void => {
      if (warning.code === "CONCLAVE_PG_CHANGED") heard.push(warning.message);
    };
    process.on("warning", hear);
    await work();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", hear);
    return heard;
  }

  async function connectionsLeft(): Promise<unknown> {
    const [row] = await byHand(
      url(),
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'conclave'",
    );
    return row?.["n"];
  }

  it("by pg's Pool, if that is asked for: nothing is prepared, and it is closed with the store", async () => {
    const said = await warningsDuring(() => lookFiveTimes(`${url()}?conclave_connections=pool`));
    expect(said).toEqual([]);
    expect(await looks()).toEqual({ SELECT: 5 });
    await vi.waitFor(async () => expect(await connectionsLeft()).toBe(0), 5_000);
  });

  it("by pg's Pool, where pg has no longer what our connections use of it, and says so once", async () => {
    const pg = createRequire(import.meta.url)("pg") as { Client: new (options: object) => object };
    const { Client } = pg;
    pg.Client = class extends Client {
      query(request: object): unknown {
        const { submit: _, ...others } = request as { readonly submit?: unknown };
        return (super["query" as never] as (query: object) => unknown)(others);
      }
    };
    try {
      const said = await warningsDuring(async () => {
        for (let time = 0; time < 2; time++) {
          const store = postgres(url());
          const soon = { ...call(), signal: AbortSignal.timeout(5_000) };
          expect(await store.look([{ name: "x" }], soon)).toMatchObject({ kind: "seen" });
          await store.close();
        }
      });
      expect(said).toEqual([expect.stringContaining("has no Client.query of a Submittable")]);
    } finally {
      pg.Client = Client;
    }
    expect(await looks()).toEqual({ SELECT: 2 });
  });

  it("what is more than there are connections for waits its turn", async () => {
    const store = postgres(url());
    const seen = await Promise.all(Array.from({ length: 40 }, () => store.look([{ name: "x" }], call())));
    expect(seen.every(({ kind }) => kind === "seen")).toBe(true);
    const [row] = await byHand(
      url(),
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'conclave'",
    );
    // On a busy machine three may have answered everything before the fourth was open.
    expect(row?.["n"]).toBeGreaterThan(1);
    expect(row?.["n"]).toBeLessThanOrEqual(4);
    await store.close();
  });

  it("a lock that is taken and given back writes into no index", async () => {
    const candidate = createCandidate({ store: postgres(url()) });
    for (let time = 0; time < 300; time++) await candidate.withLock("round", async () => {});
    await candidate.close();
    await vi.waitFor(async () => {
      const [row] = await byHand(
        url(),
        "SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'seat'",
      );
      expect(row?.["all"]).toBeGreaterThanOrEqual(599);
      expect(Number(row?.["all"]) - Number(row?.["hot"])).toBeLessThan(30); // those that found their page full
    }, 5_000);
  });
});
