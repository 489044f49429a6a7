// Elsewhere: an operator deletes the leader's record; the old leader goes on, and a new one begins beside it (CURATOR-49, 171).
// Here: the holder looks at its own record with every renewal, and learns of the deletion within moments; a rival waits as if the seat were held.
// Taken out: test/defences/record-deleted.patch
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import { Database } from "../sqlite/by-hand.ts";
import { nowMs, Stage } from "../sqlite/processes.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-deleted-"));
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
  database.exec("DELETE FROM conclave_seat");
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
    database.exec("DELETE FROM conclave_seat");
    database.close();
    const deletedAt = nowMs();
    expect(await holder.hears("lost", deletedAt - 100)).toMatchObject({ reason: "superseded" });
    const next = await Promise.any([holder, rival].map((player) => player.hears("wrote", deletedAt)));
    expect(next.at - deletedAt).toBeGreaterThanOrEqual(shared.ttlMs - 100);
    expect(BigInt(next.token ?? 0)).toBeGreaterThan(BigInt(token));
  },
);
