// What can be wrong with a database, as a user meets it: every case is a refusal with a code and a sentence that says what to do, and nothing is overwritten.
import { randomBytes } from "node:crypto";
import pg from "pg";
import sql from "postgres";
import { describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { type PgClient, postgres, postgresSchema } from "conclave/stores/postgres";
import * as server from "../../../scripts/servers/postgres.mjs";
import type { Kept, Store } from "conclave/stores/contract";
import { schemaSql } from "../../../src/stores/postgres/schema.ts";
import { useServers } from "../../support/servers.ts";
import { call, claim, hold, open } from "../moves.ts";
import { byHand, newDatabase } from "./stage.ts";

const servers = useServers(server, { nodes: 2 });
const secure = useServers(server, { tls: true });
const primary = (): string => servers().urls[0] ?? "";

let nonces = 0;
const keep = async (store: Store): Promise<Kept> => {
  const kept = await store.keep({ nonce: `n.${++nonces}`, candidate: "c", ttlMs: 4000 }, [], call());
  await store.close();
  return kept;
};

/** The same from a URL, with pg, and with the other client: their errors are not alike. */
async function refusals(url: string): Promise<readonly Kept[]> {
  const porsager = sql(url, { onnotice: () => {}, connect_timeout: 5 });
  try {
    return [await keep(postgres(url)), await keep(postgres(porsager))];
  } finally {
    await porsager.end();
  }
}

async function expectRefused(url: string, expected: object): Promise<void> {
  for (const kept of await refusals(url)) expect(kept).toMatchObject({ kind: "refused", ...expected });
}

const saying = (message: RegExp): unknown => expect.stringMatching(message);

describe("refuses, and says what to do:", () => {
  it("a wrong password, which it does not repeat", async () => {
    await byHand(primary(), "CREATE ROLE guest LOGIN PASSWORD 'right'");
    const url = primary().replace("postgres@", "guest:wrong@");
    for (const kept of await refusals(url)) {
      expect(kept).toMatchObject({
        kind: "refused",
        code: "STORE_DENIED",
        retryable: false,
        message: saying(/does not accept this user or password.*PGPASSWORD/),
      });
      expect(JSON.stringify(kept)).not.toMatch(/wrong@|:wrong/);
    }
    await expectRefused(primary().replace("postgres@", "guest@"), { code: "STORE_DENIED" });
  });

  it("a database that is not there", async () => {
    await expectRefused(primary().replace(/[^/]*$/, "nowhere"), {
      code: "STORE_UNREACHABLE",
      retryable: false,
      message: saying(/"nowhere" does not exist. Create it/),
    });
  });

  it("a server that is not there", async () => {
    await expectRefused("postgres://someone:secret@127.0.0.1:1/app", {
      code: "STORE_UNREACHABLE",
      retryable: true,
      message: saying(/^postgres: 127\.0\.0\.1:1\/app cannot be reached \(ECONNREFUSED\)/),
    });
    await expectRefused("postgres://h.invalid/app", { code: "STORE_UNREACHABLE", retryable: true });
  });

  it("a certificate that is not where the URL says", async () => {
    expect(await keep(postgres(`${primary()}?sslrootcert=/nowhere/ca.pem`))).toMatchObject({
      kind: "refused",
      code: "STORE_UNREACHABLE",
      retryable: true,
      message: saying(/names cannot be read.*\/nowhere\/ca\.pem.*Check sslrootcert/),
    });
  });

  it("a way that is gone: before anything was sent that is a refusal, and under way nobody knows", async () => {
    const failing = (syscall: string): PgClient => ({
      query: () =>
        Promise.reject(Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: "EHOSTUNREACH", syscall })),
    });
    expect(await keep(postgres(failing("connect")))).toMatchObject({ kind: "refused", retryable: true });
    expect(await keep(postgres(failing("read")))).toMatchObject({ kind: "unknown" });
    expect(await keep(postgres(failing("write")))).toMatchObject({ kind: "unknown" });
  });

  it("TLS where there is none, and a certificate that nobody vouches for", async () => {
    const plain = await newDatabase(primary());
    expect(await keep(postgres(`${plain}?sslmode=verify-full`))).toMatchObject({
      code: "STORE_DENIED",
      retryable: false,
      message: saying(/does not speak TLS/),
    });
    const [url = ""] = secure().urls;
    await byHand(url, postgresSchema());
    expect(await keep(postgres(`${url}?sslmode=verify-full`))).toMatchObject({
      code: "STORE_DENIED",
      retryable: false,
      message: saying(/certificate that is not trusted here.*sslrootcert/),
    });
    expect(await keep(postgres(sql(url, { ssl: { rejectUnauthorized: true } })))).toMatchObject({
      code: "STORE_DENIED",
      retryable: false,
    });
    expect(await keep(postgres(`${url}?sslmode=no-verify`))).toMatchObject({ kind: "kept" });
  });

  it("a replica, until it is promoted", async () => {
    await byHand(primary(), postgresSchema());
    const replica = servers().urls[1] ?? "";
    await expect
      .poll(() =>
        byHand(replica, "SELECT 1 FROM conclave.meta").then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expectRefused(replica, {
      code: "STORE_UNREACHABLE",
      retryable: true,
      message: saying(/read-only: a replica.*Point the URL to the primary/),
    });
  });

  it("tables that are not there and are not to be made", async () => {
    const url = await newDatabase(primary(), "");
    for (const source of [url, new pg.Pool({ connectionString: url }), sql(url, { onnotice: () => {} })])
      expect(await keep(postgres(source as string, { createTables: false }))).toMatchObject({
        kind: "refused",
        code: "STORE_UNSUPPORTED",
        retryable: false,
        message: saying(/no tables of conclave in schema "conclave".*npx conclave schema postgres \| psql/),
      });
    expect(await keep(postgres(url, { schema: "votes", createTables: false }))).toMatchObject({
      message: saying(/schema postgres --schema votes \| psql/),
    });
  });

  it("a right that is missing", async () => {
    const url = await newDatabase(primary());
    await byHand(url, "CREATE ROLE stranger LOGIN PASSWORD 'x'");
    const asStranger = url.replace("postgres@", "stranger:x@");
    const expected = {
      code: "STORE_DENIED",
      retryable: false,
      message: saying(/may not use.*schema postgres --grant USER \| psql/),
    };
    await expectRefused(asStranger, expected);
    await byHand(url, "GRANT USAGE ON SCHEMA conclave TO stranger");
    await expectRefused(asStranger, expected);
  });

  it("another layout, older or newer, and changes nothing in it", async () => {
    for (const [layout, message] of [
      [7, /A newer version made it: update this one/],
      [0, /or update it first: npx conclave schema postgres/],
    ] as const) {
      const url = await newDatabase(primary(), schemaSql("conclave", undefined, { layout, oldest: layout }));
      await expectRefused(url, { code: "STORE_UNSUPPORTED", retryable: false, message: saying(message) });
      expect(await byHand(url, "SELECT 1 FROM conclave.session")).toEqual([]);
    }
  });

  it.each([
    [
      "a table of somebody else under our name",
      "ALTER TABLE conclave.session RENAME COLUMN ttl TO patience; ALTER TABLE conclave.session ALTER patience SET DEFAULT 1",
    ],
    ["a column of another type", "ALTER TABLE conclave.session DROP CONSTRAINT session_ttl_check, ALTER ttl TYPE text"],
  ])("%s", async (_, edit) => {
    const url = await newDatabase(primary());
    await byHand(url, `DROP VIEW conclave.place; ${edit}`);
    const kept = await keep(postgres(url));
    expect(kept).toMatchObject({
      kind: "refused",
      retryable: false,
      message: saying(/(?:changed|edited) it. Nothing was written/),
    });
  });

  it.each([
    ["a ttl", "UPDATE conclave.session SET ttl = 0", "session_ttl_check", "session"],
    ["a token", "UPDATE conclave.seat SET token = -4", "seat_token_check", "seat"],
  ])("%s that makes no sense", async (_, edit, check, table) => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    await hold(store, await open(store), "x");
    await expect(byHand(url, edit)).rejects.toThrow(/check/);
    await byHand(url, `ALTER TABLE conclave.${table} DROP CONSTRAINT ${check}; ${edit}`);
    expect(await store.look([{ name: "x" }], call())).toMatchObject({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
      message: saying(/somebody has edited it/),
    });
    await store.close();
  });

  it("what is done by hand to counters, to the domain and to ended sessions: Postgres itself does", async () => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    const session = await open(store);
    await hold(store, session, "x");
    await store.release({ session, holds: [], endSession: true }, call());
    for (const [edit, why] of [
      ["DELETE FROM conclave.counter", /never deleted/],
      ["TRUNCATE conclave.counter", /never deleted/],
      ["DELETE FROM conclave.meta", /token domain/],
      ["TRUNCATE conclave.meta", /token domain/],
      ["UPDATE conclave.counter SET last = 0", /never falls/],
      ["UPDATE conclave.seat SET name = 'y'", /not renamed/],
      ["DELETE FROM conclave.meta", /belongs to these tables/],
      ["UPDATE conclave.session SET ended = NULL", /never lives again/],
    ] as const)
      await expect(byHand(url, edit)).rejects.toThrow(why);
    await store.close();
  });

  it("a name that PostgreSQL cannot hold", async () => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    const session = await open(store);
    for (const name of ["half \ud800", "nul \0"])
      expect(await claim(store, session, name)).toMatchObject({
        kind: "refused",
        code: "STORE_UNSUPPORTED",
        message: saying(/NUL|surrogate/),
      });
    await store.close();
  });

  it("a name that is too long for an index", async () => {
    const store = postgres(await newDatabase(primary()));
    const name = randomBytes(6000).toString("base64"); // what can be compressed may be longer
    expect(await claim(store, await open(store), name)).toMatchObject({
      kind: "refused",
      code: "STORE_UNSUPPORTED",
      retryable: false,
      message: saying(/too long.*shorter/),
    });
    await store.close();
  });

  it("a counter that has given its last token", async () => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    const session = await open(store);
    const last = await hold(store, session, "x");
    await byHand(url, "UPDATE conclave.counter SET last = 9223372036854775807");
    await store.release({ session, holds: [last], endSession: false }, call());
    expect(await claim(store, session, "x")).toMatchObject({
      kind: "refused",
      code: "STORE_UNSUPPORTED",
      retryable: false,
      message: saying(/last token.*another name/),
    });
    await store.close();
  });

  it("a socket that this user may not use", async () => {
    const failing = (code: string): PgClient => ({
      query: () => Promise.reject(Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" })),
    });
    for (const code of ["EACCES", "EPERM"])
      expect(await keep(postgres(failing(code)))).toMatchObject({
        kind: "refused",
        code: "STORE_DENIED",
        retryable: false,
      });
  });

  it("a client that is inside a transaction of the user's, which goes on unharmed", async () => {
    const url = await newDatabase(primary());
    const client = new pg.Client(url);
    await client.connect();
    const store = postgres(client);
    const session = await open(store);
    await client.query("CREATE TABLE mine (a int); BEGIN; INSERT INTO mine VALUES (1)");
    for (const answer of [
      await store.keep(session, [], call()),
      await store.look([{ name: "x" }], call()),
      await store.release({ session, holds: [], endSession: true }, call()),
    ])
      expect(answer).toMatchObject({ kind: "refused", retryable: true, message: saying(/a transaction is open/) });
    expect((await client.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: "0" }]);
    await client.query("INSERT INTO mine VALUES (2); COMMIT");
    expect((await client.query("SELECT a FROM mine")).rows).toEqual([{ a: 1 }, { a: 2 }]);
    expect(await store.keep(session, [], call())).toMatchObject({ kind: "kept" });
    await client.end();
    expect(await store.keep(session, [], call())).toMatchObject({
      kind: "refused",
      message: saying(/closed.*Pass a Pool/),
    });
  });

  it("what is no client, no URL and no setting, before anything is opened", () => {
    expect(() => postgres({} as PgClient)).toThrow(/neither a URL, nor a Pool or Client of pg/);
    expect(() => postgres("mysql://u:secret@h/db")).toThrow(/does not begin with postgres:/);
    expect(() => postgres("mysql://u:secret@h/db")).not.toThrow(/secret/);
    expect(() => postgres(primary(), { schema: "No Good", expiry: "never" as "silence" })).toThrow(
      /2 problems.*plain name.*expiry "never"/,
    );
    expect(() => postgres(`${primary()}?conclave_expiry=soon`)).toThrow(/expiry "soon" is not known/);
    expect(() => postgres(`${primary()}?conclave_schem=jobs&schema=public`)).toThrow(
      /1 problem .*"conclave_schem" is not a setting of it: conclave_schema, /,
    );
    expect(() => postgres(`${primary()}?client_encoding=GBK`)).toThrow(/client_encoding "GBK".*UTF-8/);
    expect(() => postgres(`${primary()}?client_encoding=utf8`)).not.toThrow();
    for (const url of ["postgres://a:1,b:2/db", "postgres://u:secret@a,b/db", "postgres:///db?host=a,b"]) {
      expect(() => postgres(url)).toThrow(/several hosts.*one address that leads to the primary/);
      expect(() => postgres(url)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
    for (const url of [
      "postgres://a:99999/db",
      "postgres://a:x/db",
      "postgres://[::1/db",
      "postgres://u:sec/ret@a/db",
    ]) {
      expect(() => postgres(url)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
      expect(() => postgres(url)).not.toThrow(/sec/);
    }
    for (const url of ["postgres://u:p%40@[::1]:5432/db", "postgres:///db?host=/var/run", "postgres://%2Frun%2Fpg/db"])
      expect(() => postgres(url)).not.toThrow();
  });
});

it("a URL is not printed with its store, and opens the same store again", async () => {
  const url = await newDatabase(primary());
  const store = postgres(url.replace("postgres@", "postgres:secret@"), { expiry: "database-clock" });
  expect(JSON.stringify(store)).not.toMatch(/secret/);
  expect(store.url).toMatch(/secret.*conclave_expiry=database-clock/);
  expect(postgres(store.url).guarantee.judge).toBe("store-wall");
});

it("a refusal that trying again cannot help rejects the first campaign, with its code", async () => {
  const url = await newDatabase(primary(), "");
  await using candidate = createCandidate({ store: postgres(url, { createTables: false }) });
  await expect(candidate.election("x").campaign()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
});
