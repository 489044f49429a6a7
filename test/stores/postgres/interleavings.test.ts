// Two that meet in the database, one of them held in the middle of its transaction by hand: the one that comes second decides on what the first has committed.
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { postgres } from "conclave/stores/postgres";
import * as server from "../../../scripts/servers/postgres.mjs";
import {
  type Bid,
  type Claimed,
  type FencedStore,
  type Hold,
  type Seat,
  type Session,
  VACANT,
} from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { newDatabase, sleep } from "./stage.ts";

const servers = useServers(server);
let store: FencedStore;
let first: pg.Client;
let holder: Session;
let taker: Session;
let held: Hold;
let seen: Seat;

beforeEach(async () => {
  const url = await newDatabase(servers().urls[0] ?? "");
  store = postgres(url);
  first = new pg.Client(url);
  await first.connect();
  [holder, taker] = [await open(store), await open(store)];
  held = await hold(store, holder, "x");
  seen = await look();
});
afterEach(async () => {
  await first.end();
  await store.close();
});

async function look(): Promise<Seat> {
  const looked = await store.look([{ name: "x" }], call());
  const [seat] = looked.kind === "seen" ? looked.seats : [];
  if (seat === undefined) throw new Error(looked.kind);
  return seat;
}

const take = async (over = seen.version): Promise<Claimed | undefined> =>
  (await store.claim([{ session: taker, name: "x", bid: "t.1" as Bid, over, value: "" }], call()))[0];

const takeVacant = (): Promise<Claimed | undefined> => take(VACANT);

/** Begins `second` while the first has done `sql` and not committed. */
async function behind<R>(sql: string, second: () => Promise<R>): Promise<R> {
  await first.query("BEGIN");
  await first.query(sql);
  let isAnswered = false;
  const answer = second().finally(() => (isAnswered = true));
  await sleep(200);
  expect(isAnswered).toBe(false);
  await first.query("COMMIT");
  return await answer;
}

it("a claim behind a keep under way is beaten: the holder lives", async () => {
  const answer = await behind("UPDATE conclave.session SET beat = gen_random_uuid() WHERE ended IS NULL", take);
  expect(answer).toMatchObject({ kind: "beaten" });
  expect(await store.keep(holder, [held], call())).toMatchObject({ kind: "kept", lost: [] });
});

it("a keep behind a claim under way finds its session over", async () => {
  const sql = `UPDATE conclave.session SET ended = 'silent' WHERE id = '${holder.id}'`;
  expect(await behind(sql, () => store.keep(holder, [held], call()))).toEqual({ kind: "session-lost" });
});

it("a claim behind a release under way is beaten, and wins over what stands then", async () => {
  const sql = "UPDATE conclave.seat SET session = NULL, change = gen_random_uuid()";
  expect(await behind(sql, take)).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
  seen = await look();
  expect(await take()).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
});

it("a claim of what is vacant, behind another claim under way, is beaten by it, and takes no token", async () => {
  await store.release({ session: holder, holds: [held], endSession: false }, call());
  const rival = await open(store);
  const sql = `UPDATE conclave.counter SET last = 2 WHERE name = 'x'; UPDATE conclave.seat SET session = '${rival.id}', last_session = '${rival.id}', bid = 'r.1', token = 2, change = gen_random_uuid()`;
  expect(await behind(sql, takeVacant)).toMatchObject({
    kind: "beaten",
    seat: { state: "held", holder: { bid: "r.1" } },
  });
  await store.release({ session: rival, holds: [{ name: "x", bid: "r.1" as Bid }], endSession: false }, call());
  expect(await takeVacant()).toMatchObject({ kind: "granted", hold: { token: { value: 3n } } });
});

it("a claim of what is vacant, behind a claim and a release under way, has the token after theirs", async () => {
  await store.release({ session: holder, holds: [held], endSession: false }, call());
  const sql =
    "UPDATE conclave.counter SET last = 2 WHERE name = 'x'; UPDATE conclave.seat SET bid = 'r.1', token = 2, change = gen_random_uuid()";
  expect(await behind(sql, takeVacant)).toMatchObject({ kind: "granted", hold: { token: { value: 3n } } });
});

it("a claim of what is vacant, behind the end of its own session, is not applied", async () => {
  await store.release({ session: holder, holds: [held], endSession: false }, call());
  const sql = `UPDATE conclave.session SET ended = 'silent' WHERE id = '${taker.id}'`;
  expect(await behind(sql, takeVacant)).toEqual({ kind: "session-lost" });
  expect(await look()).toMatchObject({ state: "vacant" });
});

it("a claim of what is held waits for nobody: not for the holder's keep, nor for another claim", async () => {
  await first.query("BEGIN");
  await first.query("SELECT FROM conclave.counter, conclave.seat, conclave.session FOR UPDATE");
  expect(await takeVacant()).toMatchObject({ kind: "beaten", seat: { state: "held" } });
  await first.query("ROLLBACK");
});

it.each(["seat", "session"])("what is gone because its %s was deleted is not vacant", async (table) => {
  await first.query(`DELETE FROM conclave.${table} ${table === "session" ? `WHERE id = '${holder.id}'` : ""}`);
  expect(await takeVacant()).toMatchObject({ kind: "beaten", seat: { state: "missing", ttlMs: holder.ttlMs } });
  expect(await look()).toMatchObject({ state: "missing" });
});

it("a claim behind the end of its own session is not applied", async () => {
  const sql = `UPDATE conclave.session SET ended = 'silent' WHERE id = '${taker.id}'`;
  expect(await behind(sql, take)).toEqual({ kind: "session-lost" });
  expect((await look()).version).toBe(seen.version);
});

it("claims of several names in any order wait for each other, and never in a circle", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `many ${index}`);
  for (let round = 0; round < 5; round++) {
    const looked = await store.look(
      names.map((name) => ({ name })),
      call(),
    );
    const seats = looked.kind === "seen" ? looked.seats : [];
    const all = (session: Session, order: readonly Seat[]): Promise<readonly Claimed[]> =>
      store.claim(
        order.map(({ name, version }) => ({
          session,
          name,
          bid: `${session.id}.${round}.${name}` as Bid,
          over: version,
          value: "",
        })),
        call(),
      );
    // Each round takes them from their holder, and ends that session: so sessions are new.
    const [a, b] = [await open(store), await open(store)];
    const answers = (await Promise.all([all(a, seats), all(b, seats.toReversed())])).flat();
    expect(answers.filter(({ kind }) => kind === "granted")).toHaveLength(20);
    expect(answers.filter(({ kind }) => kind === "beaten")).toHaveLength(20);
  }
});
