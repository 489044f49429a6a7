// Elsewhere: a lock was held by a session of Postgres; the backend was killed, or a pooler in transaction mode gave the session to somebody else, and the client
// believed that it still held what the server had forgotten (Wolverine#2602, leoflow#1199).
// Here: nothing is kept in a session. A lease is rows, each call is a transaction, and a call whose backend died is unknown: it is asked again, on another one.
// Taken out: test/defences/lost-backend.patch
import { afterAll, beforeAll, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as pgbouncer from "../../scripts/servers/pgbouncer.mjs";
import * as server from "../../scripts/servers/postgres.mjs";
import { byHand, sleep } from "../stores/postgres/stage.ts";
import type { Servers } from "../support/servers.ts";

const TERMINATE_ALL =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";

let database: Awaited<ReturnType<typeof server.start>>;
let pooler: Servers;
beforeAll(async () => {
  database = await server.start();
  await byHand(database.urls[0] ?? "", postgresSchema());
  pooler = await pgbouncer.start({ database: database.urls[0] ?? "" });
}, 60_000);
afterAll(async () => {
  await pooler?.stop();
  await database?.stop();
}, 60_000);

it.each(["straight", "through a pooler in transaction mode"])(
  "lost-backend: a leader whose backends are killed leads on, and nobody else does (%s)",
  async (way) => {
    const [direct = ""] = database.urls;
    const url = way === "straight" ? direct : (pooler.urls[0] ?? "");
    await using leader = createCandidate({ store: postgres(url), id: "leader", ttlMs: 2000, drainMs: 200 });
    await using waiter = createCandidate({ store: postgres(url), id: "waiter", ttlMs: 2000, drainMs: 200 });
    const term = await leader.election(way).campaign();
    const waiting = waiter.election(way);
    waiting.start();
    const until = performance.now() + 5000;
    while (performance.now() < until) {
      await byHand(direct, TERMINATE_ALL);
      // Also while a renewal is under way: it is held up until its backend is killed.
      const held = byHand(direct, "BEGIN; LOCK conclave.session IN EXCLUSIVE MODE; SELECT pg_sleep(0.1); COMMIT").catch(
        () => {},
      );
      await sleep(60);
      await byHand(direct, TERMINATE_ALL);
      await held;
      await sleep(200);
      expect(term.isHeld()).toBe(true);
      expect(waiting.term()).toBeUndefined();
    }
    await term.resign();
    await expect.poll(() => waiting.term()?.token.value, { timeout: 10_000 }).toBe(term.token.value + 1n);
  },
);
