// Elsewhere: an operator deletes the leader's record; the old leader goes on, and a new one begins beside it (CURATOR-49, 171).
// Here: the holder looks at its own record with every renewal, and learns of the deletion within moments; a rival waits as if the seat were held. Where the store itself
// keeps the line (etcd), the next in line leads at once, with a greater token.
// Taken out: test/defences/record-deleted.patch
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { sqlite } from "conclave/stores/sqlite";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { ask, urlOf } from "../stores/etcd/etcd.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";
import { Database } from "../stores/sqlite/by-hand.ts";
import { nowMs, Stage } from "../support/processes.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-deleted-"));
const servers = useServers(etcdServer);
const databases = useServers(postgresServer);
const stage = new Stage();
afterAll(async () => {
  await stage.end();
  rmSync(folder, { recursive: true, force: true });
});

it("record-deleted: the holder loses its term, and a rival waits for its ttl", async () => {
  const file = path.join(folder, "x.db");
  const ttlMs = 1500;
  await using holder = createCandidate({ store: sqlite(file), ttlMs, drainMs: 100 });
  await using rival = createCandidate({ store: sqlite(file), ttlMs, drainMs: 100 });
  const term = await holder.election("x").campaign();
  const next = rival.election("x").campaign();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const database = new Database(file);
  database.exec("PRAGMA busy_timeout = 5000; DELETE FROM conclave_seat");
  database.close();
  const deletedAt = performance.now();
  expect(await term.ended).toBe("superseded");
  expect(performance.now() - deletedAt).toBeLessThan(1000);
  const successor = await next;
  expect(performance.now() - deletedAt).toBeGreaterThanOrEqual(ttlMs);
  expect(successor.token.value).toBeGreaterThan(term.token.value);
});

it(
  "record-deleted: between real processes too, and their fence sees a greater token",
  { timeout: 30_000 },
  async () => {
    const shared = { path: stage.file("x.db"), ledger: stage.file("ledger.db"), ttlMs: 1500 };
    const holder = await stage.start({ ...shared, id: "holder" });
    const { token = "" } = await holder.hears("wrote");
    const rival = await stage.start({ ...shared, id: "rival" });
    await rival.hears("leader");
    const database = new Database(shared.path);
    database.exec("PRAGMA busy_timeout = 5000; DELETE FROM conclave_seat");
    database.close();
    const deletedAt = nowMs();
    expect(await holder.hears("lost", deletedAt - 100)).toMatchObject({ reason: "superseded" });
    const next = await Promise.any([holder, rival].map((player) => player.hears("wrote", deletedAt)));
    expect(next.at - deletedAt).toBeGreaterThanOrEqual(shared.ttlMs - 100);
    expect(BigInt(next.token ?? 0)).toBeGreaterThan(BigInt(token));
  },
);

it.each(["deleted", "deleted and made again by somebody else", "without its lease"] as const)(
  "record-deleted: the holder of a key in etcd that is %s loses its term within moments",
  async (how) => {
    const [url = ""] = servers().urls;
    const store = etcd(urlOf(servers()));
    await using holder = createCandidate({ store, ttlMs: 30_000, drainMs: 100 });
    await using rival = createCandidate({ store, ttlMs: 30_000, drainMs: 100 });
    const sessions: string[] = [];
    holder.subscribe((event) => event.type === "session" && event.state === "opened" && sessions.push(event.session));
    const name = `record ${how}`;
    const term = await holder.election(name).campaign();
    const next = rival.election(name).campaign();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const lease = `${BigInt(`0x${sessions[0]}`)}`;
    const key = Buffer.from(`${name}/${sessions[0]}`).toString("base64");
    const deletedAt = performance.now();
    if (how === "without its lease") await ask(url, "/v3/lease/revoke", { ID: lease });
    else await ask(url, "/v3/kv/deleterange", { key });
    if (how.includes("again")) await ask(url, "/v3/kv/put", { key, value: key, lease });
    expect(await term.ended).toBe(how === "without its lease" ? "session-lost" : "superseded");
    expect(performance.now() - deletedAt).toBeLessThan(2000); // renewals are ten seconds apart
    expect((await next).token.value).toBeGreaterThan(term.token.value);
  },
);

it.each([
  ["seat", "superseded", "DELETE FROM conclave.seat WHERE name ="],
  [
    "session",
    "session-lost",
    "DELETE FROM conclave.session WHERE id = (SELECT session FROM conclave.seat WHERE name =",
  ],
])(
  "record-deleted: the holder of a row in Postgres whose %s is deleted loses its term within moments, and a rival waits for its ttl",
  async (what, reason, deletion) => {
    const [url = ""] = databases().urls;
    await byHand(url, postgresSchema());
    const ttlMs = 6000;
    await using holder = createCandidate({ store: postgres(url), ttlMs, drainMs: 100 });
    await using rival = createCandidate({ store: postgres(url), ttlMs, drainMs: 100 });
    const term = await holder.election(what).campaign();
    const next = rival.election(what).campaign();
    await new Promise((resolve) => setTimeout(resolve, 500)); // the next renewal is more than a second away
    await byHand(url, `${deletion} '${what}'${deletion.includes("(") ? ")" : ""}`);
    const deletedAt = performance.now();
    expect(await term.ended).toBe(reason);
    expect(performance.now() - deletedAt).toBeLessThan(1000);
    const successor = await next;
    expect(performance.now() - deletedAt).toBeGreaterThanOrEqual(ttlMs * 0.9);
    expect(successor.token.value).toBe(term.token.value + 1n);
  },
);
