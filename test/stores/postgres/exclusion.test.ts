// What at most one leader rests on in the database, statement by statement: two connections, of which the first is held in the midst of its transaction with
// its function done and not committed, while the second runs into it. Each test is here for lines of src/stores/postgres/sql that mutants take out.
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { newDatabase, sleep } from "./stage.ts";

type Json = Readonly<Record<string, unknown>>;

const servers = useServers(server);
let first: pg.Client;
let second: pg.Client;
let eye: pg.Client;
let count = 0;

beforeAll(async () => {
  const url = await newDatabase(servers().urls[0] ?? "");
  [first, second, eye] = [new pg.Client(url), new pg.Client(url), new pg.Client(url)];
  await Promise.all([first.connect(), second.connect(), eye.connect()]);
});
afterAll(() => Promise.all([first, second, eye].map((client) => client.end())));

const fresh = (what: string): string => `${what} ${++count}`;
const quoted = (value: unknown): string =>
  typeof value === "number" ? `${value}` : pg.escapeLiteral(typeof value === "string" ? value : JSON.stringify(value));

interface Manners {
  readonly layout?: number;
  readonly patience?: number;
  readonly byClock?: boolean;
}

const asked = (verb: string, values: readonly unknown[]): string =>
  `SELECT conclave.${verb}(${values.map(quoted).join(", ")}) AS answer`;
const withJson = (
  verb: string,
  request: Json,
  { layout = 1, patience = 5_000, byClock = false }: Manners = {},
): string => asked(verb, [{ layout, patience, byClock, ...request }]);

const openText = (session: string, manners?: Manners): string =>
  withJson("open", { session, candidate: "c", ttl: 10_000 }, manners);
const keepText = (session: string, held = 0, marks = 0, manners?: Manners): string =>
  withJson("keep", { session, held, marks }, manners);
const claimText = (name: string, session: string, bid: string, over: string, manners?: Manners): string =>
  withJson("claim", { claims: [{ name, session, bid, over, mark: 1, value: "" }] }, manners);
const takeText = (
  name: string,
  session: string,
  bid: string,
  over: string,
  { layout = 1, patience = 5_000 }: Manners = {},
): string => asked("take", [layout, patience, name, session, bid, over, "", 1]);
const giveText = (name: string, session: string, bid: string): string => asked("give", [1, 5_000, name, session, bid]);
const releaseText = (session: string, holds: readonly Json[], end = false): string =>
  withJson("release", { session, candidate: "c", ttl: 10_000, holds, end });

async function ask(text: string, client = second): Promise<Json> {
  const result = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
  const [row] = (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
  return (row as { answer: Json }).answer;
}

async function opened(): Promise<string> {
  const session = fresh("session");
  expect(await ask(openText(session))).toMatchObject({ kind: "kept" });
  return session;
}

/** A grant by whichever function: its token, or what it was answered instead. */
function tokenOf(answer: Json): unknown {
  if (answer["kind"] === "taken") return answer["token"];
  const [only] = (answer["claimed"] ?? []) as Json[];
  return only?.["verdict"] === "granted" || only?.["verdict"] === "standing" ? only["token"] : only?.["verdict"];
}

async function seatOf(name: string, manners?: Manners): Promise<Json> {
  const [seat] = (await ask(withJson("look", { names: [name] }, manners)))["seats"] as Json[];
  return seat ?? {};
}

interface Held {
  readonly name: string;
  readonly session: string;
  readonly bid: string;
  readonly version: string;
}

async function held(): Promise<Held> {
  const [name, session, bid] = [fresh("name"), await opened(), fresh("bid")];
  expect(tokenOf(await ask(claimText(name, session, bid, "never")))).toBe("1");
  return { name, session, bid, version: (await seatOf(name))["version"] as string };
}

async function given(): Promise<Held> {
  const { name, session, bid } = await held();
  await ask(giveText(name, session, bid));
  return { name, session, bid, version: (await seatOf(name))["version"] as string };
}

/** Runs `text` while the first connection has done `before` and not committed; commits as soon as the second waits for it. */
async function behind(before: string, text: string): Promise<Json> {
  // One message, so that the function does not take it for a transaction of somebody else's.
  await first.query(`BEGIN; ${before}`);
  const answer = ask(text);
  let isAnswered = false;
  void answer.catch(() => {}).finally(() => (isAnswered = true));
  while (!isAnswered && !(await isWaiting())) await sleep(5);
  expect(isAnswered, "did not wait for what is under way").toBe(false);
  await first.query("COMMIT");
  return await answer;
}

async function isWaiting(): Promise<boolean> {
  const { rows } = await eye.query(
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  );
  return rows.length > 0;
}

/** What somebody is told who does this by hand. */
const refusalOf = (sql: string): Promise<string> =>
  eye.query(sql).then(
    () => "done",
    (error: Error) => error.message,
  );

describe("two claims at once", () => {
  it.each(["claim", "take"])("by %s, of a name with a counter and no seat yet: one is beaten", async (verb) => {
    const name = fresh("name");
    // A claim by a session that is over leaves the counter behind.
    expect(tokenOf(await ask(claimText(name, "nobody", "b", "never")))).toBe("session-lost");
    const [a, b] = [await opened(), await opened()];
    const text = verb === "claim" ? claimText(name, b, "b.1", "vacant") : takeText(name, b, "b.1", "vacant");
    expect(tokenOf(await behind(claimText(name, a, "a.1", "vacant"), text))).toBe("beaten");
    expect(await seatOf(name)).toMatchObject({ state: "held", bid: "a.1", token: "1" });
  });

  it("of a name that nobody knows yet: one is beaten", async () => {
    const [name, a, b] = [fresh("name"), await opened(), await opened()];
    expect(tokenOf(await behind(takeText(name, a, "a.1", "vacant"), takeText(name, b, "b.1", "vacant")))).toBe(
      "beaten",
    );
  });

  it.each(["claim", "take"])("by %s, of a free seat: one is beaten, and takes no token", async (verb) => {
    const { name, version } = await given();
    const [a, b] = [await opened(), await opened()];
    const by = verb === "claim" ? claimText : takeText;
    expect(tokenOf(await behind(by(name, a, "a.1", "vacant"), by(name, b, "b.1", version)))).toBe("beaten");
    await ask(giveText(name, a, "a.1"));
    expect(tokenOf(await ask(by(name, b, "b.2", "vacant")))).toBe("3");
  });

  it("of what a silent session holds: one is beaten", async () => {
    const { name, version } = await held();
    const [a, b] = [await opened(), await opened()];
    expect(tokenOf(await behind(claimText(name, a, "a.1", version), claimText(name, b, "b.1", version)))).toBe(
      "beaten",
    );
  });
});

describe("a claim behind something under way", () => {
  it("a keep of the holder: is beaten, for the holder lives", async () => {
    const { name, session, version } = await held();
    expect(tokenOf(await behind(keepText(session, 1, 1), claimText(name, await opened(), "t.1", version)))).toBe(
      "beaten",
    );
    expect(await ask(keepText(session, 1, 1))).toMatchObject({ kind: "kept" });
  });

  it("a seat that is being given back: is beaten, and ends nobody's session", async () => {
    const { name, session, bid, version } = await held();
    const answer = await behind(giveText(name, session, bid), claimText(name, await opened(), "t.1", version));
    expect(tokenOf(answer)).toBe("beaten");
    expect(await ask(keepText(session))).toMatchObject({ kind: "kept" });
  });

  it.each(["claim", "take"])("the end of its own session: %s is not applied", async (verb) => {
    const [{ name }, mine] = [await given(), await opened()];
    const text = verb === "claim" ? claimText(name, mine, "m.1", "vacant") : takeText(name, mine, "m.1", "vacant");
    expect(tokenOf(await behind(releaseText(mine, [], true), text))).toBe("session-lost");
    expect(await seatOf(name)).toMatchObject({ state: "vacant" });
  });
});

describe("a session that has ended", () => {
  it("by a rival that has taken its seat: every keep of it is lost, also one that was under way", async () => {
    const { name, session, version } = await held();
    const taking = claimText(name, await opened(), "t.1", version);
    expect(await behind(taking, keepText(session, 1, 1))).toEqual({ kind: "session-lost" });
    expect(await ask(keepText(session))).toEqual({ kind: "session-lost" });
    expect(await ask(openText(session))).toEqual({ kind: "session-lost" });
  });

  it.each(["claim", "take"])("claims nothing any more, by %s", async (verb) => {
    const [{ name }, mine] = [await given(), await opened()];
    await ask(releaseText(mine, [], true));
    const text = verb === "claim" ? claimText(name, mine, "m.1", "vacant") : takeText(name, mine, "m.1", "vacant");
    expect(tokenOf(await ask(text))).toBe("session-lost");
  });

  it("before it was opened stays over: the opening comes late", async () => {
    const session = fresh("session");
    await ask(releaseText(session, [], true));
    expect(await ask(openText(session))).toEqual({ kind: "session-lost" });
  });

  it("frees all it holds, and nobody makes it live again by hand", async () => {
    const { name, session } = await held();
    await ask(releaseText(session, [], true));
    expect(await seatOf(name)).toMatchObject({ state: "vacant" });
    expect(await refusalOf(`UPDATE conclave.session SET ended = NULL WHERE id = '${session}'`)).toMatch(
      /never lives again/,
    );
  });

  it("by the database's clock: neither keeps nor claims, and its seat is free", async () => {
    const { name, session, version } = await held();
    const byClock = { byClock: true };
    await eye.query("UPDATE conclave.session SET kept = now() - interval '1 minute' WHERE id = $1", [session]);
    expect(await seatOf(name, byClock)).toMatchObject({ state: "vacant" });
    expect(await seatOf(name)).toMatchObject({ state: "held", version });
    expect(await ask(keepText(session, 1, 1, byClock))).toEqual({ kind: "session-lost" });
    expect(await ask(openText(session, byClock))).toEqual({ kind: "session-lost" });
    expect(tokenOf(await ask(claimText(fresh("name"), session, "s.1", "never", byClock)))).toBe("session-lost");
    expect(tokenOf(await ask(claimText(name, await opened(), "t.1", "vacant", byClock)))).toBe("2");
  });
});

describe.each(["claim", "take"])("a grant by %s", (verb) => {
  const by = (...args: Parameters<typeof claimText>): string =>
    verb === "claim" ? claimText(...args) : takeText(...args);

  it("is not made over what is held", async () => {
    const { name } = await held();
    expect(tokenOf(await ask(by(name, await opened(), "o.1", "vacant")))).toBe("beaten");
    expect(tokenOf(await ask(by(name, await opened(), "o.1", "free of nothing")))).toBe("beaten");
  });

  it("is made over exactly the version that was seen, and has the next token each time", async () => {
    const { name, version } = await given();
    const mine = await opened();
    expect(tokenOf(await ask(by(name, mine, "m.1", version)))).toBe("2");
    await ask(giveText(name, mine, "m.1"));
    expect(tokenOf(await ask(by(name, mine, "m.2", version)))).toBe("beaten");
    expect(tokenOf(await ask(by(name, mine, "m.3", "vacant")))).toBe("3");
  });

  it("is not made twice to one bid: that claim comes late", async () => {
    const { name } = await given();
    const mine = await opened();
    expect(tokenOf(await ask(by(name, mine, "m.1", "vacant")))).toBe("2");
    expect(tokenOf(await ask(by(name, mine, "m.1", "vacant")))).toBe("2"); // as it stands
    await ask(giveText(name, mine, "m.1"));
    expect(tokenOf(await ask(by(name, mine, "m.1", "vacant")))).toBe("beaten");
  });

  it("stands for the session that holds it, and for no other with the same bid", async () => {
    const { name, bid } = await held();
    expect(tokenOf(await ask(by(name, await opened(), bid, "vacant")))).toBe("beaten");
  });

  it("is not made over what somebody has deleted: that is waited for", async () => {
    for (const sql of ["DELETE FROM conclave.seat WHERE session = $1", "DELETE FROM conclave.session WHERE id = $1"]) {
      const { name, session } = await held();
      await eye.query(sql, [session]);
      expect(tokenOf(await ask(by(name, await opened(), "o.1", "vacant")))).toBe("beaten");
    }
  });

  it("is on the disk before it is answered, also after something was given back on the same connection", async () => {
    await eye.query(`
      CREATE TABLE IF NOT EXISTS at_commit (name text, how text);
      CREATE OR REPLACE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO at_commit VALUES (NEW.name, current_setting('synchronous_commit')); RETURN NULL; END $$;
      DROP TRIGGER IF EXISTS notes ON conclave.seat;
      CREATE CONSTRAINT TRIGGER notes AFTER INSERT OR UPDATE ON conclave.seat DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION notes()`);
    const { name } = await given();
    const mine = await opened();
    expect(tokenOf(await ask(by(name, mine, "m.1", "vacant")))).toBe("2");
    await ask(releaseText(mine, [{ name, bid: "m.1" }]));
    expect(tokenOf(await ask(by(name, mine, "m.2", "vacant")))).toBe("3");
    const { rows } = await eye.query("SELECT how FROM at_commit WHERE name = $1", [name]);
    expect(rows.map(({ how }: { how?: string }) => how)).toEqual(["on", "off", "on", "off", "on"]);
    await eye.query("DROP TRIGGER notes ON conclave.seat");
  });
});

describe("a keep", () => {
  it("gives the seat another version, over which nobody has claimed yet", async () => {
    const { name, session, version } = await held();
    await ask(keepText(session, 1, 1));
    expect((await seatOf(name))["version"]).not.toBe(version);
  });

  it("tells of a seat that is lost, of one that is a stray, and of one in the place of another", async () => {
    const { name, session, bid } = await held();
    expect(await ask(keepText(session, 2, 1))).toMatchObject({ kind: "kept", seats: [{ name, bid }] });
    expect(await ask(keepText(session, 0, 0))).toMatchObject({ kind: "kept", seats: [{ name, bid }] });
    expect(await ask(keepText(session, 1, 7))).toMatchObject({ kind: "kept", seats: [{ name, bid }] });
    expect(await ask(keepText(session, 1, 1))).not.toHaveProperty("seats");
  });
});

describe.each(["release", "give"])("giving back by %s", (verb) => {
  it.each(["another session's", "another bid's"])("leaves %s seat as it is", async (whose) => {
    const { name, session, bid } = await held();
    const [by, which] = whose.startsWith("another session") ? [await opened(), bid] : [session, "other"];
    await ask(verb === "give" ? giveText(name, by, which) : releaseText(by, [{ name, bid: which }]));
    expect(await seatOf(name)).toMatchObject({ state: "held", bid });
  });
});

describe("a session that asks", () => {
  it.each(["claim", "take"])("for another layout gets nothing, by %s", async (verb) => {
    const { name } = await given();
    const manners = { layout: 9 };
    const text =
      verb === "claim" ? claimText(name, "s", "b", "vacant", manners) : takeText(name, "s", "b", "vacant", manners);
    expect(await ask(text)).toMatchObject({ kind: "layout" });
  });

  it("inside a transaction of the user's gets nothing: it may never be committed", async () => {
    const session = fresh("session");
    await second.query("BEGIN");
    expect(await ask(openText(session))).toEqual({ kind: "in-transaction" });
    await second.query("ROLLBACK");
  });

  it.each(["claim", "take"])("waits for no lock longer than its patience, and changes nothing, by %s", async (verb) => {
    const [{ name }, mine] = [await given(), await opened()];
    await first.query("BEGIN");
    await first.query("SELECT FROM conclave.seat WHERE name = $1 FOR UPDATE", [name]);
    const manners = { patience: 100 };
    const text =
      verb === "claim" ? claimText(name, mine, "m", "vacant", manners) : takeText(name, mine, "m", "vacant", manners);
    const answer = ask(text).then(tokenOf, (error: { code?: string }) => error.code);
    // Where nothing ends the wait, this does, long after.
    const code = await Promise.race([answer, sleep(3_000)]);
    await first.query("ROLLBACK");
    await answer;
    expect(code).toBe("55P03");
  });

  it.each(["claim", "take"])("is not granted what came too late, by %s", async (verb) => {
    const [{ name }, mine] = [await given(), await opened()];
    await eye.query(`
      CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE UPDATE ON conclave.counter FOR EACH ROW EXECUTE FUNCTION slowly()`);
    const manners = { patience: 100 };
    const text =
      verb === "claim" ? claimText(name, mine, "m", "vacant", manners) : takeText(name, mine, "m", "vacant", manners);
    const code = await ask(text).then(tokenOf, (error: { code?: string }) => error.code);
    await eye.query("DROP TRIGGER slow ON conclave.counter; DROP FUNCTION slowly");
    expect(code).toBe("57014");
    expect(await seatOf(name)).toMatchObject({ state: "vacant" });
  });
});

it("a counter is neither deleted nor lowered, and the domain stays, by whatever hand", async () => {
  const { name } = await held();
  for (const [sql, why] of [
    [`DELETE FROM conclave.counter WHERE name = '${name}'`, /never deleted/],
    ["TRUNCATE conclave.counter", /never deleted/],
    [`UPDATE conclave.counter SET last = 0 WHERE name = '${name}'`, /never falls/],
    [`UPDATE conclave.seat SET name = 'other' WHERE name = '${name}'`, /not renamed/],
    ["DELETE FROM conclave.meta", /belongs to these tables/],
  ] as const) {
    expect(await refusalOf(sql)).toMatch(why);
  }
});
