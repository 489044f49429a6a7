// sqliteFence, on every binding that this Node can load, with real files and two connections.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Fenced, FencingToken } from "conclave";
import { sqliteFence } from "conclave/fencing";
import { bindings, type Database } from "./bindings.ts";
import { anyToken, by, findDisorder } from "./tokens.ts";

describe.each(bindings)("sqliteFence over $name", ({ open }) => {
  let folder = "";
  let first: Database;
  let second: Database;
  const fence = sqliteFence();

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "conclave-sqlite-"));
    first = connect();
    first.exec(`${fence.schema()} CREATE TABLE ledger (row TEXT NOT NULL)`);
    second = connect();
  });
  afterEach(() => {
    first.close();
    second.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function connect(): Database {
    const database = open(path.join(folder, "guarded.db"));
    database.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 0");
    return database;
  }

  function append(db: Database, row: string, term: Fenced, begin = "BEGIN IMMEDIATE"): void {
    db.exec(begin);
    try {
      fence.admit(db, "ledger", term);
      db.prepare("INSERT INTO ledger (row) VALUES (?)").run(row);
      db.exec("COMMIT");
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  }
  const rows = (): unknown[] =>
    first
      .prepare("SELECT row FROM ledger")
      .all()
      .map((each) => (each as { row: string }).row);
  const refused = (code: string): unknown => expect.objectContaining({ code });

  it("admits the newest token and refuses an older one, across connections", () => {
    append(first, "a", by(1));
    append(second, "b", by(2));
    append(second, "c", by(2));
    expect(() => append(first, "late", by(1))).toThrow(refused("TOKEN_STALE"));
    expect(() => append(first, "twin", by(2, "other"))).toThrow(refused("TOKEN_STALE"));
    expect(() => append(first, "foreign", by(3, "b", "etcd-2"))).toThrow(refused("TOKEN_FOREIGN"));
    expect(rows()).toEqual(["a", "b", "c"]);
  });

  it("can be installed again, beside another table of its kind", () => {
    first.exec(fence.schema());
    const other = sqliteFence({ table: "other_fence" });
    first.exec(other.schema());
    fence.raise(first, "ledger", by(2));
    expect(() => other.raise(first, "ledger", by(1))).not.toThrow();
  });

  it("keeps others out from admit until the end of the transaction, also of one begun without IMMEDIATE", () => {
    for (const begin of ["BEGIN", "BEGIN IMMEDIATE"]) {
      first.exec(begin);
      fence.admit(first, "ledger", by(1));
      expect(() => fence.raise(second, "ledger", by(2))).toThrow(/busy|locked/i);
      first.exec("COMMIT");
    }
    fence.raise(second, "ledger", by(2));
  });

  it("keeps others out also when it has nothing new to remember", () => {
    fence.raise(first, "ledger", by(1));
    first.exec("BEGIN");
    fence.admit(first, "ledger", by(1));
    expect(() => fence.raise(second, "ledger", by(2))).toThrow(/busy|locked/i);
    first.exec("ROLLBACK");
  });

  it("does not admit a transaction that has read before a newer token was installed", () => {
    append(first, "a", by(1));
    first.exec("BEGIN");
    first.prepare("SELECT count(*) FROM ledger").all();
    fence.raise(second, "ledger", by(2));
    expect(() => fence.admit(first, "ledger", by(1))).toThrow(/busy|locked|stale/i);
    first.exec("ROLLBACK");
    expect(() => append(first, "late", by(1))).toThrow(refused("TOKEN_STALE"));
  });

  it("forgets a token whose transaction was rolled back", () => {
    first.exec("BEGIN IMMEDIATE");
    fence.admit(first, "ledger", by(9));
    first.exec("ROLLBACK");
    append(first, "a", by(1));
  });

  it("refuses admit outside a transaction, and raise inside one", () => {
    expect(() => fence.admit(first, "ledger", by(1))).toThrow(refused("CONFIG_INVALID"));
    expect(() => fence.admit(first, "ledger", by(1))).toThrow(/BEGIN IMMEDIATE/);
    first.exec("BEGIN");
    expect(() => fence.raise(first, "ledger", by(1))).toThrow(refused("CONFIG_INVALID"));
    first.exec("COMMIT");
    append(first, "a", by(1));
  });

  it("leaves no transaction open when raise is refused", () => {
    fence.raise(first, "ledger", by(2));
    expect(() => fence.raise(first, "ledger", by(1))).toThrow(refused("TOKEN_STALE"));
    first.exec("BEGIN IMMEDIATE");
    first.exec("COMMIT");
  });

  it("says what to run when its table is missing", () => {
    const other = sqliteFence({ table: "not_there" });
    expect(() => other.raise(first, "ledger", by(1))).toThrow(/no table not_there.*fence\.schema\(\)/);
    expect(() => sqliteFence({ table: "x; drop table ledger" })).toThrow(refused("CONFIG_INVALID"));
  });

  it.each([2n ** 53n + 1n, 2n ** 63n, 2n ** 64n + 1n, 10n ** 39n - 2n])("compares %s exactly", (value) => {
    fence.raise(first, "ledger", by(value));
    expect(() => fence.raise(second, "ledger", by(value - 1n))).toThrow(refused("TOKEN_STALE"));
    fence.raise(second, "ledger", by(value));
    fence.raise(second, "ledger", by(value + 1n));
    expect(() => fence.raise(first, "ledger", by(value))).toThrow(refused("TOKEN_STALE"));
  });

  it.each([
    ["a value that is no number", "UPDATE conclave_fence SET value = 'forty'"],
    ["a value with a sign", "UPDATE conclave_fence SET value = '-1'"],
    ["a value with an exponent", "UPDATE conclave_fence SET value = 1e30"],
    ["a value taken out", "UPDATE conclave_fence SET value = NULL"],
    ["a bid that is no text", "UPDATE conclave_fence SET bid = x'00ff'"],
    ["no present domain", "UPDATE conclave_fence SET present = 0"],
    [
      "two present domains",
      "DROP INDEX conclave_fence_present; INSERT INTO conclave_fence VALUES ('ledger', 'etcd-2', '7', 'b', 1)",
    ],
  ])("admits nobody over a row edited by hand: %s", (_, edit) => {
    fence.raise(first, "ledger", by(2));
    first.exec(edit);
    expect(() => append(first, "a", by(3))).toThrow(refused("STORE_FOREIGN_DATA"));
    expect(rows()).toEqual([]);
  });

  it("moves to another domain when told, and stays there", () => {
    fence.raise(first, "ledger", by(41));
    fence.adopt(first, "ledger", { from: "etcd-1", to: "etcd-2" });
    fence.adopt(second, "ledger", { from: "etcd-1", to: "etcd-2" });
    expect(() => fence.raise(second, "ledger", by(42))).toThrow(refused("TOKEN_FOREIGN"));
    fence.raise(second, "ledger", by(1, "b", "etcd-2"));
    expect(() => fence.raise(second, "ledger", by(42))).toThrow(/has left etcd-1 for etcd-2/);
    second.exec("BEGIN IMMEDIATE");
    fence.adopt(second, "ledger", { from: "etcd-2", to: "etcd-1" });
    second.exec("COMMIT");
    expect(() => fence.raise(first, "ledger", by(41))).toThrow(refused("TOKEN_STALE"));
    fence.raise(first, "ledger", by(42));
    expect(() => fence.raise(first, "ledger", by(2, "b", "etcd-2"))).toThrow(refused("TOKEN_FOREIGN"));
    expect(() => fence.adopt(first, "ledger", { from: "etcd-7", to: "etcd-8" })).toThrow(refused("CONFIG_INVALID"));
  });

  it("never commits an older token after a newer one, in any order of arrival, with any rollbacks", () => {
    const step = fc.record({ token: anyToken, commit: fc.boolean(), raises: fc.boolean(), onFirst: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        first.exec("DELETE FROM conclave_fence");
        const committed: FencingToken[] = [];
        for (const { token, commit, raises, onFirst } of steps) {
          const db = onFirst ? first : second;
          try {
            if (raises) fence.raise(db, "ledger", { token });
            else {
              db.exec("BEGIN IMMEDIATE");
              fence.admit(db, "ledger", { token });
              db.exec(commit ? "COMMIT" : "ROLLBACK");
            }
            if (raises || commit) committed.push(token);
          } catch (error) {
            if (!raises) db.exec("ROLLBACK");
            expect((error as { code?: string }).code).toMatch(/^TOKEN_(?:STALE|FOREIGN)$/);
          }
        }
        expect(findDisorder(committed)).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });
});
