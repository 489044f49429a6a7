// From the review of the design, and seen on a real server: a statement of the old leader that checks the token and writes was waiting in the database when the
// new leader raised the fence; under READ COMMITTED it had read the fence before, and wrote after.
// Here: the fence's row is locked before it is checked, and until commit. So a transaction of the old leader is either waited for by the new one, or refused.
// Taken out: test/defences/late-statement.patch
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { postgresFence } from "conclave/fencing/postgres";
import * as server from "../../scripts/servers/postgres.mjs";
import { by, codeOf } from "../fencing/tokens.ts";
import { byHand, newDatabase, sleep } from "../stores/postgres/stage.ts";
import { type Client, CLIENTS } from "../fencing/transactions.ts";

let database: Awaited<ReturnType<typeof server.start>>;
let url = "";
beforeAll(async () => {
  database = await server.start();
  url = await newDatabase(database.urls[0] ?? "");
  await byHand(url, "CREATE TABLE account (balance int)");
}, 60_000);
afterAll(() => database?.stop());
beforeEach(() => byHand(url, "DELETE FROM account; INSERT INTO account VALUES (100); DELETE FROM conclave_fence"));

const fence = postgresFence();
const balance = async (): Promise<unknown> => (await byHand(url, "SELECT balance FROM account"))[0]?.["balance"];

async function within<R>(open: (url: string) => Client, work: (client: Client) => Promise<R>): Promise<R> {
  const client = open(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

it.each(CLIENTS)("late-statement: what is under way when the fence is raised is waited for (%s)", async (_, open) => {
  await within(open, async (client) => {
    await client.transact((tx) => fence.admit(tx, "account", by(1)));
    const old = client.transact(async (tx, run) => {
      await fence.admit(tx, "account", by(1));
      await run("UPDATE account SET balance = balance - 30 FROM (SELECT pg_sleep(0.5)) AS slow");
    });
    await sleep(150);
    const read = await client.transact(async (tx, run) => {
      await fence.admit(tx, "account", by(2));
      return (await run("SELECT balance FROM account"))[0]?.["balance"];
    });
    await old;
    // What the new leader has read, nobody has changed since.
    expect(await balance()).toBe(read);
    expect(read).toBe(70);
  });
});

it.each(CLIENTS)("late-statement: what waits behind the new leader is refused (%s)", async (_, open) => {
  await within(open, async (client) => {
    await client.transact((tx) => fence.admit(tx, "account", by(1)));
    let late: Promise<string> | undefined;
    await client.transact(async (tx) => {
      await fence.admit(tx, "account", by(2));
      late = codeOf(
        client.transact(async (tx, run) => {
          await fence.admit(tx, "account", by(1));
          await run("UPDATE account SET balance = balance - 30");
        }),
      );
      await sleep(150);
    });
    expect(await late).toBe("TOKEN_STALE");
    expect(await balance()).toBe(100);
  });
});
