// The functions of the database, called by hand: what each of them refuses, whichever driver calls it, and that a refusal has changed nothing.
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { newDatabase } from "./stage.ts";

const servers = useServers(server);
let client: pg.Client;
let other: pg.Client;

type Json = Readonly<Record<string, unknown>>;
interface Manners {
  readonly layout?: number;
  readonly patience?: number;
}

beforeEach(async () => {
  const url = await newDatabase(servers().urls[0] ?? "");
  [client, other] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([client.connect(), other.connect()]);
  await call("open", { session: "s", candidate: "c", ttl: 10_000 });
  await call("open", { session: "r", candidate: "d", ttl: 10_000 });
  await call("claim", { claims: ["held", "given"].map((name) => claimOf(name, "s", `${name}.1`, "never")) });
  await call("release", { session: "s", holds: [{ name: "given", bid: "given.1" }], end: false });
});
afterEach(async () => {
  await Promise.all([client.end(), other.end()]);
});

const claimOf = (name: string, session: string, bid: string, over: string): Json => ({
  name,
  session,
  bid,
  over,
  mark: 1,
  value: "",
});

async function answerOf(text: string, values: readonly (string | number)[]): Promise<Json> {
  const literals = values.map((value) => (typeof value === "number" ? `${value}` : pg.escapeLiteral(value)));
  const { rows } = await client.query(`SELECT conclave.${text}(${literals.join(", ")}) AS answer`);
  return (rows[0] as { answer: Json }).answer;
}

function call(verb: string, asked: Json, { layout = 1, patience = 5_000 }: Manners = {}): Promise<Json> {
  return answerOf(verb, [JSON.stringify({ layout, patience, byClock: false, ...asked })]);
}

function take(name: string, over: string, bid = "r.1", { layout = 1, patience = 5_000 }: Manners = {}): Promise<Json> {
  return answerOf("take", [layout, patience, name, "r", bid, over, "", 1]);
}

/** Each does something, if it is let. */
const WRITERS: Readonly<Record<string, (manners: Manners) => Promise<Json>>> = {
  open: (manners) => call("open", { session: "new", candidate: "e", ttl: 1000 }, manners),
  keep: (manners) => call("keep", { session: "s", held: 1, marks: 1 }, manners),
  claim: (manners) => call("claim", { claims: [claimOf("given", "r", "r.1", "vacant")] }, manners),
  take: (manners) => take("given", "vacant", "r.1", manners),
  release: (manners) =>
    call("release", { session: "s", holds: [{ name: "held", bid: "held.1" }], end: false }, manners),
  give: ({ layout = 1, patience = 5_000 }) => answerOf("give", [layout, patience, "held", "s", "held.1"]),
  write_memo: (manners) =>
    call(
      "write_memo",
      { name: "held", session: "s", bid: "held.1", token: "1", key: "k", value: "v", n: 1, over: null, keys: 9 },
      manners,
    ),
  "release and end": (manners) =>
    call("release", { session: "s", candidate: "c", ttl: 1, holds: [], end: true }, manners),
};
const ALL: typeof WRITERS = { ...WRITERS, look: (manners: Manners) => call("look", { names: ["held"] }, manners) };

async function everything(): Promise<unknown> {
  const tables = ["session", "seat", "counter", "memo"].map((table) =>
    other.query(`SELECT * FROM conclave.${table} ORDER BY 1`),
  );
  return (await Promise.all(tables)).map(({ rows }) => rows as unknown);
}

describe.each(Object.keys(ALL))("%s", (verb) => {
  const ask = (manners: Manners = {}): Promise<Json> => (ALL[verb] as (typeof WRITERS)[string])(manners);

  it("does what it is for", async () => {
    expect(["kept", "claimed", "taken", "written", "released", "seen"]).toContain((await ask())["kind"]);
  });

  it("says no to another layout, and does nothing", async () => {
    const before = await everything();
    expect(await ask({ layout: 9 })).toEqual({ kind: "layout", layout: 1 });
    expect(await everything()).toEqual(before);
  });

  it("says no inside somebody's transaction, and does nothing", async () => {
    const before = await everything();
    await client.query("BEGIN");
    expect(await ask()).toEqual({ kind: "in-transaction" });
    await client.query("COMMIT");
    expect(await everything()).toEqual(before);
  });
});

describe.each(Object.keys(WRITERS))("%s", (verb) => {
  const ask = (manners: Manners = {}): Promise<Json> => (WRITERS[verb] as (typeof WRITERS)[string])(manners);

  it("takes itself back if it took longer than anybody waits", async () => {
    await other.query(
      "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$",
    );
    for (const table of ["session", "seat", "memo"])
      await other.query(
        `CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON conclave.${table} FOR EACH ROW EXECUTE FUNCTION slowly()`,
      );
    const before = await everything();
    await expect(ask({ patience: 100 })).rejects.toMatchObject({ code: "57014" });
    expect(await everything()).toEqual(before);
  });

  // An opening writes a row of its own.
  if (verb === "open") return;
  it("waits for no lock longer than anybody waits for it", async () => {
    const before = await everything();
    await other.query("BEGIN");
    await other.query("SELECT FROM conclave.session, conclave.seat, conclave.counter FOR UPDATE");
    await expect(ask({ patience: 100 })).rejects.toMatchObject({ code: "55P03" });
    await other.query("ROLLBACK");
    expect(await everything()).toEqual(before);
  });
});

describe("keep", () => {
  /** Seats that the session has given back, beside the one that it holds. */
  const leaveBehind = async (many: number): Promise<void> => {
    await other.query(
      `INSERT INTO conclave.counter SELECT 'left ' || n, 1, 10000, gen_random_uuid() FROM generate_series(1, ${many}) AS n;
       INSERT INTO conclave.seat (name, last_session, bid, token, mark, value, change)
         SELECT 'left ' || n, 's', 'left.' || n, 1, 7, '', gen_random_uuid() FROM generate_series(1, ${many}) AS n`,
    );
  };
  const found = async (): Promise<unknown> =>
    (
      await other.query(
        "SELECT count(*)::int AS n, count(session)::int AS held FROM conclave.seat WHERE last_session = 's'",
      )
    ).rows[0] as unknown;

  it("forgets what its session has left behind when that is much, and tells nobody", async () => {
    await leaveBehind(1_500);
    const heard: string[] = [];
    other.on("notification", ({ payload }) => heard.push(payload ?? ""));
    await other.query("LISTEN conclave");
    const before = await other.query("SELECT name, change FROM conclave.seat ORDER BY 1");
    expect(await call("keep", { session: "s", held: 1, marks: 1 })).toEqual({
      kind: "kept",
      candidate: "c",
      ttl: 10_000,
      beat: null,
      asked: null,
    });
    expect(await found()).toEqual({ n: 1, held: 1 });
    expect((await other.query("SELECT name, change FROM conclave.seat ORDER BY 1")).rows).toEqual(before.rows);
    await client.query("NOTIFY conclave, 'the end'");
    await expect.poll(() => other.query("SELECT 1").then(() => heard)).toEqual(["the end"]);
    expect(await take("left 7", "vacant")).toMatchObject({ kind: "taken", token: "2" });
  });

  it("waits for none of them", async () => {
    await leaveBehind(1_500);
    await other.query("BEGIN; SELECT FROM conclave.seat WHERE name = 'left 3' FOR UPDATE");
    expect(await call("keep", { session: "s", held: 1, marks: 1 }, { patience: 2_000 })).toMatchObject({
      kind: "kept",
    });
    await other.query("COMMIT");
    expect(await found()).toEqual({ n: 2, held: 1 });
  });

  it("remembers what is little: it may be wanted again", async () => {
    await leaveBehind(900);
    await call("keep", { session: "s", held: 1, marks: 1 });
    expect(await found()).toEqual({ n: 902, held: 1 });
  });

  it("names what it finds if that is not what it was told", async () => {
    await leaveBehind(1_500);
    const answer = await call("keep", { session: "s", held: 0, marks: 0 });
    expect(answer).toMatchObject({ kind: "kept", seats: [{ name: "held", bid: "held.1" }] });
  });
});

it("many are given back at once, and only those with the bid that is named", async () => {
  await client.query(
    `INSERT INTO conclave.counter SELECT 'many ' || n, 1, 10000, gen_random_uuid() FROM generate_series(1, 600) AS n;
     INSERT INTO conclave.seat (name, session, last_session, bid, token, mark, value, change)
       SELECT 'many ' || n, 's', 's', 'many.' || n, 1, 7, '', gen_random_uuid() FROM generate_series(1, 600) AS n`,
  );
  const holds = Array.from({ length: 600 }, (_, n) => ({
    name: `many ${n + 1}`,
    bid: n === 6 ? "another" : `many.${n + 1}`,
  }));
  expect(await call("release", { session: "s", holds, end: false }, { patience: 2_000 })).toEqual({ kind: "released" });
  const { rows } = await other.query("SELECT name FROM conclave.seat WHERE session = 's' ORDER BY 1");
  expect(rows).toEqual([{ name: "held" }, { name: "many 7" }]);
});

describe.each([
  ["take", (over: string, bid: string) => take("given", over, bid)],
  [
    "claim",
    async (over: string, bid: string): Promise<Json> => {
      const answer = await call("claim", { claims: [claimOf("given", "r", bid, over)] });
      const [only] = answer["claimed"] as Json[];
      return only?.["verdict"] === "granted" ? { kind: "taken", token: only["token"] } : answer;
    },
  ],
] as const)("%s of a free seat", (_, ask) => {
  const version = async (): Promise<string> => {
    const [seat] = (await call("look", { names: ["given"] }))["seats"] as { version: string }[];
    return seat?.version ?? "";
  };

  it("is granted over the version that it shows, and beaten over one that has passed", async () => {
    const before = await version();
    expect(await ask(before, "r.1")).toMatchObject({ kind: "taken", token: "2" });
    await call("release", { session: "r", holds: [{ name: "given", bid: "r.1" }], end: false });
    expect(await ask(before, "r.2")).toMatchObject({ kind: "claimed", claimed: [{ verdict: "beaten" }] });
    expect(await ask(await version(), "r.3")).toMatchObject({ kind: "taken", token: "3" });
  });

  it("is granted over VACANT, but not twice to one bid", async () => {
    expect(await ask("vacant", "r.1")).toMatchObject({ kind: "taken", token: "2" });
    await call("release", { session: "r", holds: [{ name: "given", bid: "r.1" }], end: false });
    expect(await ask("vacant", "r.1")).toMatchObject({ kind: "claimed", claimed: [{ verdict: "beaten" }] });
  });
});

describe("an opening", () => {
  it("sweeps up sessions that were silent for a day and hold nothing, and none that holds a seat, whatever the server's clock says", async () => {
    await call("open", { session: "gone", candidate: "e", ttl: 1000 });
    // As if the clock of the server had jumped by two days: the holder renews on, and knows nothing of it.
    await other.query("UPDATE conclave.session SET kept = kept - interval '2 days'");
    await call("open", { session: "new", candidate: "f", ttl: 1000 });
    const { rows } = await other.query("SELECT id FROM conclave.session ORDER BY id");
    expect(rows).toEqual([{ id: "new" }, { id: "s" }]);
    expect(await call("keep", { session: "s", held: 1, marks: 1 })).toMatchObject({ kind: "kept" });
  });
});
