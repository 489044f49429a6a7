// What can be wrong with the file of `sqlite:`: each is refused with a code and a sentence that says what to do, and nothing is overwritten.
import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import type { Refused, Store } from "conclave/stores/contract";
import { outcomeOf } from "../../../src/stores/sqlite/refusals.ts";
import { checkPlace } from "../../../src/stores/sqlite/file-system.ts";
import { bundle } from "../../support/bundle.ts";
import { Database } from "./by-hand.ts";
import { call, claim, hold, open } from "../moves.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-errors-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let file = "";
let files = 0;
beforeEach(() => {
  file = path.join(folder, `${++files}.db`);
});

let nonces = 0;

async function refusal(store: Store): Promise<Refused> {
  const kept = await store.keep({ nonce: `n.${++nonces}`, candidate: "c", ttlMs: 1000 }, [], call());
  await store.close();
  if (kept.kind !== "refused") throw new Error(`not refused: ${JSON.stringify(kept)}`);
  return kept;
}

/** A file of ours with a held seat, then edited by hand. */
async function edit(sql: string): Promise<void> {
  const store = sqlite(file);
  await hold(store, await open(store), "x");
  await store.close();
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

it("refuses a misspelled option, instead of opening the file without it", () => {
  const misspelled = [
    () => sqlite(file, { bindings: "libsql" } as never),
    () => sqlite(":memory:", { ttlMs: 1 } as never),
  ];
  const messages = misspelled.map((make) => {
    try {
      return make().url;
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(messages).toEqual([
    "sqlite: 1 problem · bindings is not an option; did you mean binding?",
    "sqlite: 1 problem · ttlMs is not an option: it belongs to the candidate, beside its store, as in elect(name, { store, ttlMs: … })",
  ]);
});

describe("refuses, and says what to do:", () => {
  it("a file that is no database, which stays as it is", async () => {
    const text = "this is a letter to my aunt, and not a database at all. ".repeat(40);
    writeFileSync(file, text);
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_FOREIGN_DATA",
      retryable: false,
      message: expect.stringMatching(/not a SQLite database.*Nothing was written/),
    });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("a database of something else, which stays as it is", async () => {
    const database = new Database(file);
    database.exec("CREATE TABLE orders (id INTEGER)");
    database.close();
    const before = readFileSync(file);
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/tables of something else \(orders\)/),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("a damaged file", async () => {
    await edit("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = readFileSync(file);
    bytes.fill(0x5a, 100, 4096);
    writeFileSync(file, bytes);
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_FOREIGN_DATA",
      retryable: false,
      message: expect.stringMatching(/damaged.*move the file/),
    });
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it.each([
    [99, /A newer version made it: update/],
    [0, /move the file away/],
  ])("layout %i", async (schema, message) => {
    await edit(`UPDATE conclave_meta SET schema = ${schema}`);
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_UNSUPPORTED",
      retryable: false,
      message: expect.stringMatching(message),
    });
  });

  it("tables that somebody has changed", async () => {
    await edit("ALTER TABLE conclave_session RENAME COLUMN ttl TO patience");
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/not laid out as conclave lays it out/),
    });
  });

  it.each([
    ["a token", "UPDATE conclave_seat SET token = -4"],
    ["a ttl", "UPDATE conclave_session SET ttl = 0"],
    ["a beat", "UPDATE conclave_session SET beat = -1"],
    ["a change", "UPDATE conclave_counter SET change = -1"],
  ])("%s that makes no sense", async (_what, sql) => {
    await edit(`PRAGMA ignore_check_constraints = ON; ${sql}`);
    const store = sqlite(file);
    expect(await store.look([{ name: "x" }], call())).toMatchObject({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/somebody has edited the file/),
    });
    await store.close();
  });

  it("values of another type: SQLite itself does", async () => {
    await expect(edit("UPDATE conclave_session SET ttl = 'long'")).rejects.toThrow(/INTEGER/);
    await expect(edit("DELETE FROM conclave_counter")).rejects.toThrow(/never deleted/);
    await expect(edit("UPDATE conclave_counter SET last = 0")).rejects.toThrow(/never falls|CHECK/);
    await expect(edit("DELETE FROM conclave_meta")).rejects.toThrow(/belongs to this file/);
  });

  it("a folder that does not exist", async () => {
    expect(await refusal(sqlite(path.join(folder, "nowhere", "x.db")))).toMatchObject({
      code: "STORE_UNREACHABLE",
      retryable: false,
      message: expect.stringMatching(/nowhere does not exist. Create it/),
    });
  });

  it("a default folder that cannot be made, because something else has its name", async () => {
    writeFileSync(`${file}-state`, "");
    vi.stubEnv("XDG_STATE_HOME", `${file}-state`);
    const refused = await refusal(sqlite());
    vi.unstubAllEnvs();
    expect(refused).toMatchObject({
      code: "STORE_UNREACHABLE",
      retryable: false,
      message: expect.stringMatching(/state\/conclave cannot be made.*\(ENOTDIR\).*XDG_STATE_HOME.*sqlite:\/PATH/),
    });
  });

  it.each([
    ["EACCES", "STORE_DENIED", false],
    ["EPERM", "STORE_DENIED", false],
    ["EROFS", "STORE_DENIED", false],
    ["ENAMETOOLONG", "STORE_UNREACHABLE", false],
    ["ELOOP", "STORE_UNREACHABLE", false],
    ["ENOSPC", "STORE_UNREACHABLE", true],
    ["EDQUOT", "STORE_UNREACHABLE", true],
    ["EMFILE", "STORE_UNREACHABLE", true],
  ])("what the operating system says: %s", (code, refusal, retryable) => {
    const error = Object.assign(new Error(`${code}: no`), { code, syscall: "mkdir", path: "/a/conclave" });
    expect(outcomeOf(error, "/a/conclave/conclave.db")).toMatchObject({ kind: "refused", code: refusal, retryable });
  });

  it("a counter that has given its last token", async () => {
    await edit("UPDATE conclave_counter SET last = 9223372036854775807; UPDATE conclave_seat SET session = NULL");
    const store = sqlite(file);
    expect(await claim(store, await open(store), "x")).toMatchObject({
      kind: "refused",
      code: "STORE_UNSUPPORTED",
      retryable: false,
      message: expect.stringMatching(/last token.*another name/),
    });
    await store.close();
  });

  it("a rule that somebody has added to the tables", async () => {
    await edit("CREATE TRIGGER no BEFORE UPDATE ON conclave_counter BEGIN SELECT RAISE(ABORT, 'not today'); END");
    const store = sqlite(file);
    expect(await claim(store, await open(store), "x")).toMatchObject({
      kind: "refused",
      code: "STORE_FOREIGN_DATA",
      retryable: false,
      message: expect.stringMatching(/not today/),
    });
    await store.close();
  });

  it("a file with a second name", async () => {
    await edit("SELECT 1");
    linkSync(file, `${file}.other`);
    expect(await refusal(sqlite(file))).toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringMatching(/second name \(a hard link\).*Share the folder/),
    });
  });

  it("a binding that is not known or not there", async () => {
    expect(() => sqlite(file, { binding: "sqlite3" as "libsql" })).toThrow(/binding "sqlite3" is not known/);
    const major = Number(process.versions.node.split(".")[0]);
    if (major < 22)
      expect(await refusal(sqlite(file, { binding: "node:sqlite" }))).toMatchObject({
        code: "STORE_UNSUPPORTED",
        message:
          "sqlite: node:sqlite is not there. It comes with Node 22.13 and later (22.5 with --experimental-sqlite).",
      });
  });

  it("a locked file, for as long as it is locked", async () => {
    const store = sqlite(file);
    const session = await open(store);
    const database = new Database(file);
    database.exec("BEGIN IMMEDIATE");
    expect(await store.keep(session, [], call())).toMatchObject({
      kind: "refused",
      code: "STORE_UNREACHABLE",
      retryable: true,
      message: expect.stringMatching(/locked by another writer/),
    });
    expect(await store.look([{ name: "x" }], call())).toMatchObject({ kind: "seen" });
    database.exec("ROLLBACK");
    expect((await store.keep(session, [], call())).kind).toBe("kept");
    database.close();
    await store.close();
  });

  it("a transaction that the user has left open on the connection", async () => {
    const database = new Database(file);
    const store = sqlite(database);
    const session = await open(store);
    database.exec("BEGIN; CREATE TABLE mine (a)");
    expect(await store.keep(session, [], call())).toMatchObject({
      kind: "refused",
      retryable: true,
      message: expect.stringMatching(/a transaction is open/),
    });
    database.exec("COMMIT");
    expect((await store.keep(session, [], call())).kind).toBe("kept");
    expect(database.prepare("SELECT count(*) AS n FROM mine").all()).toEqual([{ n: 0 }]);
    database.close();
  });
});

describe("as another user", () => {
  const nobody = 65534;

  /** What a process of that user is answered. Needs root. */
  async function answerTo(
    uid: number,
    more: NodeJS.ProcessEnv = {},
  ): Promise<{ readonly code?: string; readonly message?: string }> {
    const modules = path.join(folder, "modules");
    await bundle({ sqlite: "src/stores/sqlite.ts" }, { dir: modules });
    const script = `
      import { createRequire } from "node:module";
      createRequire(${JSON.stringify(import.meta.url)})("libsql"); // loaded as root: another user may not reach this folder
      const { sqlite } = await import(${JSON.stringify(path.join(modules, "sqlite.js"))});
      process.setgid(${uid}); process.setuid(${uid});
      const call = { signal: new AbortController().signal, sentAtMs: 0 };
      console.log(JSON.stringify(await sqlite(${JSON.stringify(file)} || undefined, { binding: "libsql" }).keep({ nonce: "n", candidate: "c", ttlMs: 1000 }, [], call)));`;
    const env = {
      ...process.env,
      NODE_PATH: fileURLToPath(new URL("../../../node_modules", import.meta.url)),
      ...more,
    };
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env,
    });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout) as { code: string; message: string };
  }

  it("a file that may not be read, and one that may not be written, are refused with both users", async () => {
    expect(process.geteuid?.(), "this test needs root").toBe(0);
    await edit("SELECT 1");
    chmodSync(file, 0o600);
    const users = /belongs to uid 0, and this process is uid 65534/;
    expect(await answerTo(nobody)).toMatchObject({ code: "STORE_DENIED", message: expect.stringMatching(users) });
    chmodSync(file, 0o644);
    expect(await answerTo(nobody)).toMatchObject({ code: "STORE_DENIED", message: expect.stringMatching(users) });
  });

  it("a folder that may not be looked into is not said to be missing", async () => {
    const closed = path.join(folder, "closed");
    mkdirSync(path.join(closed, "inner"), { recursive: true });
    chmodSync(closed, 0o700);
    file = path.join(closed, "inner", "x.db");
    expect(await answerTo(nobody)).toMatchObject({
      code: "STORE_DENIED",
      retryable: false,
      message: expect.stringMatching(/inner may not be looked into by uid 65534 \(EACCES\)/),
    });
  });

  it("the default folder that may not be made is refused for good", async () => {
    file = "";
    expect(await answerTo(nobody, { XDG_STATE_HOME: folder })).toMatchObject({
      code: "STORE_DENIED",
      retryable: false,
      message: expect.stringMatching(/conclave cannot be made by uid 65534 \(EACCES\).*XDG_STATE_HOME/),
    });
  });
});

describe("a file system", () => {
  it.each([
    [0x6969, "NFS"],
    [0xff534d42, "CIFS"],
    [0x65735546, "FUSE or virtiofs"],
    [0x01021997, "9p"],
  ])("of type 0x%s is refused", (type, name) => {
    expect(() => checkPlace(file, () => type)).toThrow(`is on ${name}`);
  });

  it("of overlay type is warned of, once", async () => {
    const inner = path.join(folder, "overlay");
    mkdirSync(inner);
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    for (let round = 0; round < 2; round++) checkPlace(path.join(inner, "x.db"), () => 0x794c7630);
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("warning", listen);
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(/overlay.*Mount a shared folder/)]);
  });

  it("that mounts the file by itself is refused", () => {
    const mounted = /^(?:\S+ ){4}(\/etc\/(?:hosts|hostname|resolv\.conf)) /m.exec(
      readFileSync("/proc/self/mountinfo", "utf8"),
    )?.[1];
    // In a container those three usually are; elsewhere there is nothing to try it on.
    if (mounted !== undefined) expect(() => checkPlace(mounted, () => 0)).toThrow(/mount point by itself/);
  });
});

it("a refusal that trying again cannot help rejects the first campaign, with its code", async () => {
  writeFileSync(
    file,
    "no database, but a text that is long enough to be read as one by SQLite's header check".repeat(10),
  );
  const candidate = createCandidate({ store: sqlite(file) });
  await expect(candidate.election("x").campaign()).rejects.toMatchObject({ code: "STORE_FOREIGN_DATA" });
  await candidate.close();
});
