// postgresFence on a real server, inside the transactions of each client.
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Fenced, FencingToken } from "conclave";
import type { Adopted } from "conclave/fencing";
import { postgresFence } from "conclave/fencing/postgres";
import * as server from "../../scripts/servers/postgres.mjs";
import { anyToken, by, codeOf, findDisorder } from "./tokens.ts";
import { useServers } from "../support/servers.ts";
import { byHand, newDatabase, sleep } from "../stores/postgres/stage.ts";
import { type Client, CLIENTS } from "./transactions.ts";

const servers = useServers(server);
let url = "";
beforeAll(async () => {
  url = await newDatabase(servers().urls[0] ?? "");
  await byHand(url, "CREATE TABLE ledger (row text NOT NULL)");
});

describe.each(CLIENTS)("postgresFence with %s", (_, open) => {
  const fence = postgresFence();
  let client: Client;
  beforeAll(() => {
    client = open(url);
  });
  afterAll(() => client.end());
  beforeEach(() => byHand(url, "DELETE FROM conclave_fence; DELETE FROM ledger"));

  const append = (row: string, term: Fenced, isolation?: "repeatable read"): Promise<void> =>
    client.transact(async (tx, run) => {
      await fence.admit(tx, "ledger", term);
      await run(`INSERT INTO ledger VALUES ('${row}')`);
    }, isolation);
  const raise = (term: Fenced, isolation?: "repeatable read"): Promise<void> =>
    client.transact((tx) => fence.raise(tx, "ledger", term), isolation);
  const rows = async (): Promise<unknown[]> => (await byHand(url, "SELECT row FROM ledger")).map((each) => each["row"]);

  it("admits the newest token and refuses an older one", async () => {
    await append("a", by(1));
    await append("b", by(2));
    await append("c", by(2));
    expect(await codeOf(append("late", by(1)))).toBe("TOKEN_STALE");
    expect(await codeOf(append("twin", by(2, "other")))).toBe("TOKEN_STALE");
    expect(await codeOf(append("foreign", by(3, "b", "etcd-2")))).toBe("TOKEN_FOREIGN");
    expect(await rows()).toEqual(["a", "b", "c"]);
  });

  it("lets transactions of one token run side by side", async () => {
    await raise(by(1));
    await client.transact(async (tx) => {
      await fence.admit(tx, "ledger", by(1));
      await append("beside", by(1));
    });
    expect(await rows()).toEqual(["beside"]);
  });

  it("lets a newer token begin only when transactions of an older one have ended", async () => {
    await raise(by(1));
    let isRaised = false;
    let raising: Promise<void> | undefined;
    await client.transact(async (tx, run) => {
      await fence.admit(tx, "ledger", by(1));
      raising = raise(by(2)).then(() => void (isRaised = true));
      await sleep(150);
      expect(isRaised).toBe(false);
      await run("INSERT INTO ledger VALUES ('in time')");
    });
    await raising;
    expect(await codeOf(append("late", by(1)))).toBe("TOKEN_STALE");
    expect(await rows()).toEqual(["in time"]);
  });

  it("orders two that are both the first", async () => {
    let second: Promise<string> | undefined;
    await client.transact(async (tx) => {
      await fence.admit(tx, "ledger", by(1));
      second = codeOf(append("second", by(2)));
      await sleep(100);
    });
    expect(await second).toBe("admitted");
    expect(await codeOf(append("late", by(1)))).toBe("TOKEN_STALE");
  });

  it("forgets a token whose transaction was rolled back", async () => {
    const away = client.transact(async (tx) => {
      await fence.admit(tx, "ledger", by(9));
      throw new Error("away with it");
    });
    await expect(away).rejects.toThrow("away with it");
    await append("a", by(1));
  });

  it("refuses to work outside a transaction, and leaves nothing", async () => {
    expect(await codeOf(fence.admit(client.itself, "ledger", by(1)))).toBe("CONFIG_INVALID");
    expect(await byHand(url, "SELECT * FROM conclave_fence")).toEqual([]);
    await raise(by(1));
    expect(await codeOf(fence.admit(client.itself, "ledger", by(1)))).toBe("CONFIG_INVALID");
    expect(await codeOf(fence.admit(client.itself, "ledger", by(2)))).toBe("CONFIG_INVALID");
    await expect(fence.admit(client.itself, "ledger", by(1))).rejects.toThrow(/Begin one, admit, write, commit/);
    await append("a", by(1));
  });

  it("under a stricter isolation wants a new token raised first, and then admits it", async () => {
    await append("a", by(1));
    expect(await codeOf(append("b", by(2), "repeatable read"))).toBe("CONFIG_INVALID");
    await raise(by(2), "repeatable read");
    await append("b", by(2), "repeatable read");
    expect(await codeOf(append("late", by(1), "repeatable read"))).toBe("TOKEN_STALE");
    expect(await rows()).toEqual(["a", "b"]);
  });

  it("says what to run when its table is missing", async () => {
    const other = postgresFence({ table: "not_there" });
    const admit = client.transact((tx) => other.admit(tx, "ledger", by(1)));
    await expect(admit).rejects.toThrow(/no table not_there.*fence\.schema\(\)/);
    expect(() => postgresFence({ table: "x; drop table ledger" })).toThrow(/no plain name/);
  });

  it("says which right is missing", async () => {
    await byHand(
      url,
      `DO $$ BEGIN CREATE ROLE reader LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
       GRANT SELECT ON conclave_fence TO reader`,
    );
    const reader = open(url.replace("postgres@", "reader:secret@"));
    try {
      const admit = reader.transact((tx) => fence.admit(tx, "ledger", by(1)));
      await expect(admit).rejects.toMatchObject({ code: "STORE_DENIED", message: expect.stringMatching(/GRANT/) });
    } finally {
      await reader.end();
    }
  });

  it("says that it is busy where the user's lock_timeout is over", async () => {
    await raise(by(1));
    await client.transact(async (tx) => {
      await fence.admit(tx, "ledger", by(1));
      const impatient = client.transact(async (tx, run) => {
        await run("SET LOCAL lock_timeout = '50ms'");
        await fence.admit(tx, "ledger", by(2));
      });
      expect(await codeOf(impatient)).toBe("FENCE_BUSY");
    });
  });

  it.each([2n ** 53n + 1n, 2n ** 63n, 10n ** 39n - 2n])("compares %s exactly", async (value) => {
    await raise(by(value));
    expect(await codeOf(raise(by(value - 1n)))).toBe("TOKEN_STALE");
    await raise(by(value));
    await raise(by(value + 1n));
    expect(await codeOf(raise(by(value)))).toBe("TOKEN_STALE");
  });

  it.each([
    ["a value taken out", "UPDATE conclave_fence SET value = NULL"],
    ["no present domain", "UPDATE conclave_fence SET present = false"],
  ])("admits nobody over a row edited by hand: %s", async (_, edit) => {
    await raise(by(2));
    await byHand(url, edit);
    expect(await codeOf(append("a", by(3)))).toBe("STORE_FOREIGN_DATA");
    expect(await rows()).toEqual([]);
  });

  it("keeps odd resources apart, and is not talked into anything by them", async () => {
    const odd = `it's; DROP TABLE ledger; -- \\' ünï $1 ? :x`;
    await client.transact((tx) => fence.admit(tx, odd, by(7)));
    await append("a", by(1));
    await expect(client.transact((tx) => fence.admit(tx, odd, by(6)))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    await expect(client.transact((tx) => fence.admit(tx, "nul\0", by(6)))).rejects.toThrow(/NUL/);
  });

  it("moves to another domain when told, and stays there", async () => {
    const adopt = (from: string, to: string): Promise<Adopted> =>
      client.transact((tx) => fence.adopt(tx, "ledger", { from, to }));
    await raise(by(41));
    await adopt("etcd-1", "etcd-2");
    await adopt("etcd-1", "etcd-2");
    expect(await codeOf(raise(by(42)))).toBe("TOKEN_FOREIGN");
    await raise(by(1, "b", "etcd-2"));
    await adopt("etcd-2", "etcd-1");
    expect(await codeOf(raise(by(41)))).toBe("TOKEN_STALE");
    await raise(by(42));
    expect(await codeOf(adopt("etcd-7", "etcd-8"))).toBe("CONFIG_INVALID");
  });

  it("a move waits for what is in progress, and a write that waits for the move is refused", async () => {
    await raise(by(1));
    let moving: Promise<unknown> | undefined;
    let late: Promise<string> | undefined;
    await client.transact(async (tx) => {
      await fence.admit(tx, "ledger", by(1));
      moving = client.transact(async (tx) => {
        await fence.adopt(tx, "ledger", { from: "etcd-1", to: "etcd-2" });
        late = codeOf(append("late", by(1)));
        await sleep(100);
      });
      await sleep(50);
    });
    await moving;
    expect(await late).toBe("TOKEN_FOREIGN");
    expect(await rows()).toEqual([]);
  });

  it(
    "never commits an older token after a newer one, with transactions side by side",
    { timeout: 60_000 },
    async () => {
      const step = fc.record({ token: anyToken, commit: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
          await byHand(url, "DELETE FROM conclave_fence");
          const committed: FencingToken[] = [];
          await Promise.all(
            steps.map(async ({ token, commit }) => {
              try {
                await client.transact(async (tx) => {
                  await fence.admit(tx, "ledger", { token });
                  // What is admitted here stays so until this transaction ends: the order of admissions is that of effects.
                  if (commit) committed.push(token);
                  else throw Object.assign(new Error("rolled back"), { code: "TOKEN_STALE" });
                });
              } catch (error) {
                expect((error as { code?: string }).code).toMatch(/^TOKEN_(?:STALE|FOREIGN)$/);
              }
            }),
          );
          expect(findDisorder(committed)).toBeUndefined();
        }),
        { numRuns: 10 },
      );
    },
  );
});
