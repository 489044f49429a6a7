// What happens to a file while it is being opened, between one statement and the next. A process that has one file open and takes another for it would lead
// beside those who lead in the other.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { type SqliteDatabase, sqlite } from "conclave/stores/sqlite";
import { bundle } from "../../support/bundle.ts";
import { Database } from "./by-hand.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-opening-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let file = "";
let files = 0;
const open: Database[] = [];
beforeEach(() => {
  file = path.join(folder, `${++files}.db`);
});
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

/** An open database with something in it, so that its file is there. */
function database(at: string): Database {
  const made = new Database(at);
  open.push(made);
  made.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS other (x)");
  return made;
}

/** The same database; `act` is called once, right before the first statement that fits. */
function before(made: SqliteDatabase, statement: RegExp, act: () => void): SqliteDatabase {
  let isDone = false;
  const pass = (sql: string): string => {
    if (!isDone && statement.test(sql)) {
      isDone = true;
      act();
    }
    return sql;
  };
  return { exec: (sql) => made.exec(pass(sql)), prepare: (sql) => made.prepare(pass(sql)) };
}

function look(store: ReturnType<typeof sqlite>): ReturnType<typeof store.look> {
  return store.look([{ name: "x" }], { signal: AbortSignal.timeout(10_000), sentAtMs: 0 });
}

const replaced = {
  kind: "refused",
  code: "STORE_UNREACHABLE",
  message: expect.stringMatching(/was replaced or deleted/),
};

it("refuses an open database whose path leads to another file by now", async () => {
  const old = database(file);
  database(`${file}.new`).exec("PRAGMA wal_checkpoint(TRUNCATE)");
  copyFileSync(`${file}.new`, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  const store = sqlite(old);
  expect(await look(store)).toMatchObject(replaced);
  await store.close();
});

it("refuses one whose file is replaced while it is opened, also by a file that this process has open for another purpose", async () => {
  const old = database(file);
  database(`${file}.new`);
  const store = sqlite(before(old, /journal_mode = WAL/, () => renameSync(`${file}.new`, file)));
  expect(await look(store)).toMatchObject(replaced);
  await store.close();
});

it("two that find no tables at the same time make them once, and have one domain", async () => {
  const [slow, quick] = [sqlite(before(database(file), /synchronous = FULL/, () => opened())), sqlite(database(file))];
  let first: ReturnType<typeof look> | undefined;
  function opened(): void {
    first = look(quick); // opens in this step
  }
  expect(await look(slow)).toMatchObject({ kind: "seen" });
  expect(await first).toMatchObject({ kind: "seen" });
  await Promise.all([slow.close(), quick.close()]);
});

it("refuses a file that cannot be switched to WAL", async () => {
  const made = database(file);
  const stubborn: SqliteDatabase = {
    exec: (sql) => made.exec(sql),
    prepare: (sql) => made.prepare(sql.replace("journal_mode = WAL", "journal_mode = DELETE")),
  };
  const store = sqlite(stubborn);
  expect(await look(store)).toMatchObject({
    kind: "refused",
    code: "STORE_UNREACHABLE",
    message: expect.stringMatching(/cannot be switched to WAL \(it stays in delete mode\)/),
  });
  await store.close();
});

it("by a link it opens the file itself: with its sockets, and with the log that SQLite uses", async () => {
  const first = sqlite(file);
  await look(first);
  const link = `${file}.link`;
  symlinkSync(file, link);
  const store = sqlite(link);
  const call = { signal: AbortSignal.timeout(10_000), sentAtMs: 0 };
  expect(await store.keep({ nonce: "n", candidate: "c", ttlMs: 5000 }, [], call)).toMatchObject({ kind: "kept" });
  expect([`${link}-life`, `${file}-life`].map((each) => existsSync(each))).toEqual([false, true]);
  rmSync(`${file}-wal`);
  expect(await look(store)).toMatchObject({
    kind: "refused",
    message: expect.stringMatching(/is not the file that was/),
  });
  await Promise.all([first.close(), store.close()]);
});

it("refuses a file that is mounted by itself: under its other name it has another log", async () => {
  database(file);
  const modules = path.join(folder, "modules");
  await bundle({ sqlite: "src/stores/sqlite.ts" }, { dir: modules });
  const script = `
    const { sqlite } = await import(${JSON.stringify(path.join(modules, "sqlite.js"))});
    const call = { signal: new AbortController().signal, sentAtMs: 0 };
    console.log(JSON.stringify(await sqlite(${JSON.stringify(file)}).look([], call)));`;
  const mounted = 'mount --bind "$0" "$0" && exec "$@"';
  const node = [process.execPath, "--input-type=module", "-e", script];
  const env = { ...process.env, NODE_PATH: fileURLToPath(new URL("../../../node_modules", import.meta.url)) };
  const { stdout, stderr } = spawnSync("unshare", ["-m", "sh", "-c", mounted, file, ...node], {
    encoding: "utf8",
    env,
  });
  expect(stdout, `this test needs the right to mount (root on Linux): ${stderr}`).not.toBe("");
  expect(JSON.parse(stdout)).toMatchObject({
    kind: "refused",
    code: "STORE_UNSUPPORTED",
    message: expect.stringMatching(/is a mount point by itself/),
  });
});
