// A database that answers late or not at all: a statement takes itself back, a caller that gives up is told that the outcome is not known, and nothing is
// applied afterwards.
import { createServer, type Server, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as pgbouncer from "../../../scripts/servers/pgbouncer.mjs";
import * as server from "../../../scripts/servers/postgres.mjs";
import { useServers } from "../../support/servers.ts";
import { call, open } from "../moves.ts";
import { byHand, newDatabase } from "./stage.ts";

const servers = useServers(server);
const primary = (): string => servers().urls[0] ?? "";
const saying = (message: RegExp): unknown => expect.stringMatching(message);

describe("a statement that takes too long", () => {
  it("takes itself back where something else than a lock was slow", async () => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    const session = await open(store, 1000);
    const slowly = (seconds: number): string =>
      `CREATE OR REPLACE FUNCTION conclave.slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${seconds}); RETURN NEW; END $$`;
    await byHand(url, slowly(0.7));
    await byHand(
      url,
      "CREATE TRIGGER slow BEFORE UPDATE ON conclave.session FOR EACH ROW EXECUTE FUNCTION conclave.slowly()",
    );
    const before = await byHand(url, "SELECT beat FROM conclave.session");
    expect(await store.keep(session, [], call())).toMatchObject({
      kind: "refused",
      message: saying(/too slow.*500 ms/),
    });
    expect(await byHand(url, "SELECT beat FROM conclave.session")).toEqual(before);
    await byHand(url, slowly(0));
    expect(await store.keep(session, [], call())).toMatchObject({ kind: "kept" });
    await store.close();
  });

  it("dies at the server, after its caller has given up: it is not applied later", async () => {
    const url = await newDatabase(primary());
    const store = postgres(url);
    const session = await open(store, 1000);
    const before = await byHand(url, "SELECT beat FROM conclave.session");
    const locker = new pg.Client(url);
    await locker.connect();
    await locker.query("BEGIN; SELECT * FROM conclave.session FOR UPDATE");
    expect(await store.keep(session, [], call(AbortSignal.timeout(150)))).toMatchObject({ kind: "unknown" });
    const waiting =
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    expect(await byHand(url, waiting)).toEqual([{ n: 1 }]);
    await expect.poll(() => byHand(url, waiting), { timeout: 3000 }).toEqual([{ n: 0 }]);
    expect(await store.keep(session, [], call())).toMatchObject({
      kind: "refused",
      retryable: true,
      message: saying(/too slow.*lock/),
    });
    await locker.query("ROLLBACK");
    await locker.end();
    expect(await byHand(url, "SELECT beat FROM conclave.session")).toEqual(before);
    expect(await store.keep(session, [], call())).toMatchObject({ kind: "kept" });
    await store.close();
  });
});

describe("a server that neither answers nor hangs up", () => {
  let hole: Server;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    hole = createServer((socket) => void sockets.add(socket.on("error", () => {})));
    await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    hole.close();
  });

  it("is given up when the caller does: unknown, and nothing hangs", async () => {
    const { port } = hole.address() as { port: number };
    const store = postgres(`postgres://127.0.0.1:${port}/app`);
    const answer = store.look([{ name: "x" }], call(AbortSignal.timeout(100)));
    expect(await answer).toMatchObject({ kind: "unknown" });
    await store.close();
  });
});

describe("through a pooler", () => {
  // It starts three servers, one of them after a crash; what it waits for would not fit into the usual time.
  it("whose server is away: no wrong word", { timeout: 60_000 }, async () => {
    const own = await server.start();
    const pooler = await pgbouncer.start({ database: own.urls[0] ?? "" });
    try {
      await byHand(own.urls[0] ?? "", postgresSchema());
      const store = postgres(pooler.urls[0] ?? "");
      const session = await open(store);
      await own.nodes[0]?.kill();
      const answer = await store.keep(session, [], call(AbortSignal.timeout(3000)));
      expect(["unknown", "refused"]).toContain(answer.kind);
      await own.nodes[0]?.restart();
      await expect
        .poll(async () => (await store.keep(session, [], call(AbortSignal.timeout(1000)))).kind, { timeout: 30_000 })
        .toBe("kept");
      await store.close();
    } finally {
      await pooler.stop();
      await own.stop();
    }
  });
});
