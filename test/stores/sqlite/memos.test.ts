// Memos in a file: beside the suite, what only a file can show.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { elect } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import Database from "libsql";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-memos-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function writeOne(file: string, value: string): Promise<void> {
  await using election = elect("jobs", { store: sqlite(file) });
  await using term = await election.campaign();
  await term.memo("k", value);
}

it("a file of before memos gets their table with its first memo, and has none until then", async () => {
  const file = path.join(folder, "older.db");
  await writeOne(file, "of now");
  const database = new Database(file);
  database.exec("DROP TABLE conclave_memo");
  database.close();
  await using election = elect("jobs", { store: sqlite(file) });
  expect(await election.memo("k")).toBeUndefined();
  await writeOne(file, "again");
  expect((await election.memo("k"))?.value).toBe("again");
});

it("a deleted seat takes no memo with it, and its term writes none", async () => {
  const file = path.join(folder, "deleted.db");
  await using election = elect("jobs", { store: sqlite(file), ttlMs: 1000 });
  const term = await election.campaign();
  await term.memo("k", "before");
  const database = new Database(file);
  database.exec("DELETE FROM conclave_seat");
  database.close();
  await expect(term.memo("k", "after")).rejects.toMatchObject({ code: "TERM_LOST" });
  expect(await election.memo("k")).toMatchObject({ value: "before", n: 1 });
});

it("a memo of another process is seen by a reader that observes it", async () => {
  const file = path.join(folder, "observed.db");
  await using reader = elect("jobs", { store: sqlite(file) });
  const seen: (string | undefined)[] = [];
  for await (const memo of reader.observeMemo("k", { signal: AbortSignal.timeout(20_000) })) {
    seen.push(memo?.value);
    if (seen.length === 3) break;
    await writeOne(file, `value ${seen.length}`);
  }
  expect(seen).toEqual([undefined, "value 1", "value 2"]);
});
