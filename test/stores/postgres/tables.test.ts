// The tables make themselves where there are none: once, by the process that comes first, with any client, and it is said; nobody's tables are touched. And a layout
// serves the one before it, so that a rolling update ends nobody's term and can be taken back.
import { inspect } from "node:util";
import pg from "pg";
import sql from "postgres";
import { describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as server from "../../../scripts/servers/postgres.mjs";
import type { Kept, Store } from "conclave/stores/contract";
import { schemaSql } from "../../../src/stores/postgres/schema.ts";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, newDatabase } from "./stage.ts";

const servers = useServers(server);
const emptyDatabase = (): Promise<string> => newDatabase(servers().urls[0] ?? "", "");

let nonces = 0;
const keep = (store: Store): Promise<Kept> =>
  store.keep({ nonce: `t.${++nonces}`, candidate: "c", ttlMs: 20_000 }, [], call());

/** What the process is warned of meanwhile. */
async function warnings(work: () => Promise<unknown>): Promise<readonly string[]> {
  const heard: string[] = [];
  const listen = (warning: Error & { code?: string }): void => {
    if (warning.code === "CONCLAVE_TABLES_MADE") heard.push(warning.message);
  };
  process.on("warning", listen);
  try {
    await work();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("warning", listen);
  }
  return heard;
}

describe("tables that are not there", () => {
  it("are made by the first call, which is then answered, and one line names the database", async () => {
    const url = await emptyDatabase();
    const heard = await warnings(async () => {
      await using candidate = createCandidate({ store: postgres(url) });
      expect(await candidate.election("x").lead(async (term) => term.token.value)).toBe(1n);
    });
    const place = /@(.*)$/.exec(url)?.[1] ?? "";
    expect(heard).toEqual([expect.stringContaining(place)]);
    expect(heard[0]).toMatch(/made its tables.*schema "conclave".*If the URL is wrong/);
    expect(await warnings(async () => await keep(postgres(url)))).toEqual([]);
  });

  it("are made with each kind of client, and where the option says", async () => {
    for (const schema of [undefined, "votes"]) {
      const url = await emptyDatabase();
      const [pool, client, porsager] = [
        new pg.Pool({ connectionString: url }),
        new pg.Client(url),
        sql(url, { onnotice: () => {} }),
      ];
      await client.connect();
      for (const source of [pool, client, porsager]) {
        await byHand(url, `DROP SCHEMA IF EXISTS ${schema ?? "conclave"} CASCADE`);
        expect(await keep(postgres(source, { schema }))).toMatchObject({ kind: "kept" });
      }
      await Promise.all([pool.end(), client.end(), porsager.end()]);
    }
  });

  it("are made once when forty come at once, and all of them are answered", async () => {
    const url = await emptyDatabase();
    const stores = Array.from({ length: 40 }, () => postgres(url));
    const heard = await warnings(async () => {
      const kept = await Promise.all(stores.map(keep));
      expect(kept.map(({ kind }) => kind)).toEqual(stores.map(() => "kept"));
    });
    expect(heard).toHaveLength(1);
    expect(await byHand(url, "SELECT count(*)::int AS n FROM conclave.meta")).toEqual([{ n: 1 }]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("are not made where that is not wanted, by the option or in the URL", async () => {
    const url = await emptyDatabase();
    for (const store of [postgres(url, { createTables: false }), postgres(`${url}?conclave_create_tables=false`)]) {
      expect(await keep(store)).toMatchObject({
        kind: "refused",
        code: "STORE_UNSUPPORTED",
        retryable: false,
        message: expect.stringMatching(/no tables of conclave.*npx conclave schema postgres \| psql/) as unknown,
      });
      expect((store as { url?: string }).url).toContain("conclave_create_tables=false");
      await store.close();
    }
    expect(await byHand(url, "SELECT FROM pg_namespace WHERE nspname = 'conclave'")).toEqual([]);
    expect(() => postgres(`${url}?conclave_create_tables=maybe`)).toThrow(/createTables "maybe" is not known/);
  });

  it("are not made by who may not: the error says what to run", async () => {
    const url = await emptyDatabase();
    const role = `newcomer_${process.pid}`; // roles belong to the whole server
    await byHand(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    const store = postgres(url.replace("postgres@", `${role}:x@`));
    const refused = await keep(store);
    // Node prints an error with all that it carries: the message must not be lost under the script that makes the tables.
    expect(inspect(refused).length).toBeLessThan(4_000);
    expect(refused).toMatchObject({
      kind: "refused",
      code: "STORE_DENIED",
      retryable: false,
      message: expect.stringMatching(
        /may not make the tables.*npx conclave schema postgres --grant USER \| psql/,
      ) as unknown,
    });
    await store.close();
  });

  it("are not made anew by a store that has met them, nor by who only looks", async () => {
    const url = await emptyDatabase();
    const store = postgres(url);
    expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED" });
    expect(await keep(store)).toMatchObject({ kind: "kept" });
    await byHand(url, "DROP SCHEMA conclave CASCADE");
    expect(await keep(store)).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED", retryable: false });
    await store.close();
  });

  it("are not made beside what somebody else has put into that schema, or what is left of ours", async () => {
    for (const before of ["CREATE TABLE conclave.orders (id int)", `CREATE TABLE conclave.meta (layout int)`]) {
      const url = await emptyDatabase();
      await byHand(url, `CREATE SCHEMA conclave; ${before}`);
      const store = postgres(url);
      expect(await keep(store)).toMatchObject({ kind: "refused", retryable: false });
      expect(
        await byHand(
          url,
          "SELECT count(*)::int AS n FROM pg_class WHERE relnamespace = 'conclave'::regnamespace AND relkind = 'r'",
        ),
      ).toEqual([{ n: 1 }]);
      await store.close();
    }
  });
});

describe("an update of the layout", () => {
  const next = { layout: 2, oldest: 1 };

  it("ends nobody's term, keeps the tokens, and serves the version before it, which can come back", async () => {
    const url = await emptyDatabase();
    await byHand(url, postgresSchema());
    const store = postgres(url);
    const session = await open(store);
    const held = await hold(store, session, "x");
    await byHand(url, schemaSql("conclave", undefined, next));
    expect(await byHand(url, "SELECT layout FROM conclave.meta")).toEqual([{ layout: 2 }]);
    expect(await store.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [] });
    await store.release({ session, holds: [held], endSession: false }, call());
    expect((await hold(store, session, "x")).token).toMatchObject({ value: 2n, domain: held.token?.domain });
    await byHand(url, schemaSql("conclave", undefined, next)); // again changes nothing
    await expect(byHand(url, postgresSchema())).rejects.toThrow(/has layout 2, and this script is for layout 1/);
    await store.close();
  });

  it("is refused where the one before it is too old, and so is a candidate of that version", async () => {
    const url = await emptyDatabase();
    await byHand(url, postgresSchema());
    const tooNew = { layout: 3, oldest: 2 };
    await expect(byHand(url, schemaSql("conclave", undefined, tooNew))).rejects.toThrow(/has layout 1/);
    const other = await emptyDatabase();
    await byHand(other, schemaSql("conclave", undefined, tooNew));
    expect(await keep(postgres(other))).toMatchObject({
      kind: "refused",
      code: "STORE_UNSUPPORTED",
      message: expect.stringMatching(/has layout 3.*update this one/) as unknown,
    });
  });
});
