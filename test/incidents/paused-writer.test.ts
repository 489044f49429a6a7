// Elsewhere: a leader was stopped past its ttl with a write in flight, a successor was elected, the old one went on, and its write landed (etcd 3.4.3, tested by Jepsen).
// Here: a real process is stopped with SIGSTOP. When it goes on it finds at its first question that it does not lead; and the write that was already
// past that question is refused at the resource by its token.
// Taken out: test/defences/paused-writer.patch
import { afterAll, beforeAll, expect, it } from "vitest";
import { elect, type FencingToken, parseToken } from "conclave";
import { memoryFence } from "conclave/fencing";
import { etcdFence } from "conclave/fencing/etcd";
import { postgresFence } from "conclave/fencing/postgres";
import { etcd } from "conclave/stores/etcd";
import { postgres } from "conclave/stores/postgres";
import pg from "pg";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { Family } from "../fencing/children.ts";
import { byHand, newDatabase } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";

const servers = useServers(etcdServer);
const databases = useServers(postgresServer);

const LEADER = `
const term = await conclave.elect("ledger", { store: conclave.memory(), ttlMs: 500 }).campaign();
say({ token: conclave.formatToken(term.token) });
await heard();
// Stopped about here: the write below was decided on long ago, when the term was held.
say({ write: "late", held: term.isHeld() });
process.exit();
`;

let family: Family;
beforeAll(async () => {
  family = await Family.begin();
});
afterAll(() => family.end());

it("paused-writer: the write of a leader that was stopped past its ttl is refused, and it knows before anything goes on", async () => {
  const ledger: string[] = [];
  const fence = memoryFence();
  const append = (row: string, token: FencingToken): Promise<unknown> =>
    fence.run("ledger", { token }, () => ledger.push(row));
  const leader = await family.spawn(LEADER);
  await leader.until((said) => said.length === 1);
  const old = parseToken((leader.said[0] as { token: string }).token);
  await append("first", old);

  leader.kill("SIGSTOP");
  leader.tell("go on");
  await new Promise((resolve) => setTimeout(resolve, 700));
  const successor = parseToken(`${encodeURIComponent(old.domain)}:${old.value + 1n}:successor`);
  await append("second", successor);
  expect(leader.said).toHaveLength(1);
  leader.kill("SIGCONT");

  await leader.until((said) => said.length === 2);
  expect(leader.said[1]).toEqual({ write: "late", held: false });
  await expect(append("late", old)).rejects.toMatchObject({ code: "TOKEN_STALE" });
  expect(ledger).toEqual(["first", "second"]);
});

const LEADER_ON_ETCD = `
const term = await conclave.elect("ledger", { store: conclave.etcd(process.argv[2]), ttlMs: 2000, drainMs: 200 }).campaign();
const fence = conclave.etcdFence(process.argv[2]);
await fence.write("ledger", term, [{ put: "ledger", value: "first" }]);
say({ token: conclave.formatToken(term.token) });
await heard();
const write = fence.write("ledger", term, [{ put: "ledger", value: "late" }]);
say({ held: term.isHeld(), write: await write.then(() => "written", (error) => error.code) });
process.exit();
`;

it("paused-writer: the same with the election and the data in a real etcd", async () => {
  const url = urlOf(servers());
  const leader = await family.spawn(LEADER_ON_ETCD, url);
  await leader.until((said) => said.length === 1);
  leader.kill("SIGSTOP");
  leader.tell("go on");
  const fence = etcdFence(url);
  await elect("ledger", { store: etcd(url), ttlMs: 2000 }).lead(async (term) => {
    await fence.raise("ledger", term);
    expect(await fence.read("ledger")).toBe("first");
    await fence.write("ledger", term, [{ put: "ledger", value: "second" }]);
  });
  leader.kill("SIGCONT");
  await leader.until((said) => said.length === 2);
  expect(leader.said[1]).toEqual({ held: false, write: "TOKEN_STALE" });
  expect(await fence.read("ledger")).toBe("second");
  await fence.close();
});

/** Stopped before its transaction begins, or in the middle of it: its token was admitted, and its row written, but not committed. */
const LEADER_ON_POSTGRES = `
import { createRequire } from "node:module";
const [url, where] = process.argv.slice(2);
const pg = createRequire(import.meta.url)("pg");
const client = new pg.Client(url);
client.on("error", () => {}); // told by the query that fails
await client.connect();
const fence = conclave.postgresFence();
const term = await conclave.elect("ledger", { store: conclave.postgres(url), ttlMs: 2000, drainMs: 200 }).campaign();
const begin = async (row) => {
  await client.query("BEGIN");
  await fence.admit(client, "ledger", term);
  await client.query("INSERT INTO ledger VALUES ('" + row + "')");
};
await begin("first");
await client.query("COMMIT");
if (where === "inside") await begin("late");
say({ token: conclave.formatToken(term.token) });
await heard();
const write = async () => {
  if (where === "before") await begin("late");
  await client.query("COMMIT");
};
say({ held: term.isHeld(), write: await write().then(() => "written", (error) => error.code ?? "connection lost") });
process.exit();
`;

it.each([
  ["before", "its transaction", "TOKEN_STALE"],
  // The server ends a transaction that is left alone; until then the successor waits for it.
  ["inside", "its transaction, which the server ends", expect.stringMatching(/^(?:25P03|connection lost)$/)],
])(
  "paused-writer: the same with the election and the data in a real Postgres, stopped %s %s",
  async (where, _, fate) => {
    const url = await newDatabase(databases().urls[0] ?? "");
    const settings = "idle_in_transaction_session_timeout = '3s'";
    await byHand(
      url,
      `CREATE TABLE ledger (row text); ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${settings}`,
    );
    const leader = await family.spawn(LEADER_ON_POSTGRES, url, where);
    await leader.until((said) => said.length === 1);
    leader.kill("SIGSTOP");
    leader.tell("go on");
    const fence = postgresFence();
    const client = new pg.Client(url);
    await client.connect();
    await elect("ledger", { store: postgres(url), ttlMs: 2000 }).lead(async (term) => {
      await client.query("BEGIN");
      await fence.admit(client, "ledger", term);
      expect((await client.query("SELECT row FROM ledger")).rows).toEqual([{ row: "first" }]);
      await client.query("INSERT INTO ledger VALUES ('second')");
      await client.query("COMMIT");
    });
    leader.kill("SIGCONT");
    await leader.until((said) => said.length === 2);
    expect(leader.said[1]).toMatchObject({ held: false, write: fate });
    expect((await client.query("SELECT row FROM ledger")).rows).toEqual([{ row: "first" }, { row: "second" }]);
    await client.end();
  },
);
