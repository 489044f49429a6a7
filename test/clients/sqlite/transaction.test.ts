// One transaction on a connection that the test plays: what is said to SQLite, in which order, and what is undone when something fails.
import { describe, expect, it } from "vitest";
import type { PreparedConnection } from "../../../src/clients/sqlite/binding.ts";
import { CommitFailed, transact, transactIfPassing } from "../../../src/clients/sqlite/transaction.ts";

/** `fails`: the statement that throws. */
function played(fails?: string): { readonly connection: PreparedConnection; readonly said: string[] } {
  const said: string[] = [];
  const say = (text: string): void => {
    said.push(text);
    if (text === fails) throw new Error(`${text} failed`);
  };
  const connection = { run: say, setSynced: (isSynced: boolean) => say(`synced ${isSynced}`) };
  return { connection: connection as unknown as PreparedConnection, said };
}

describe("a transaction", () => {
  it("is the one writer before it reads, and answers after it has committed", () => {
    const { connection, said } = played();
    const result = transact(connection, "lasting", () => said.push("work") && "done");
    expect(result).toBe("done");
    expect(said).toEqual(["synced true", "BEGIN IMMEDIATE", "work", "COMMIT"]);
  });

  it("says whether it waits for the disk before it begins", () => {
    const { connection, said } = played();
    transact(connection, "passing", () => {});
    expect(said.slice(0, 2)).toEqual(["synced false", "BEGIN IMMEDIATE"]);
  });

  it("whose work throws is undone, and nothing is committed", () => {
    const { connection, said } = played();
    const fail = (): never => {
      throw new Error("work failed");
    };
    expect(() => transact(connection, "lasting", fail)).toThrow("work failed");
    expect(said.slice(1)).toEqual(["BEGIN IMMEDIATE", "ROLLBACK"]);
  });

  it("that cannot begin undoes nothing: the open transaction may be the user's", () => {
    const { connection, said } = played("BEGIN IMMEDIATE");
    expect(() => transact(connection, "lasting", () => said.push("work"))).toThrow("BEGIN IMMEDIATE failed");
    expect(said.slice(1)).toEqual(["BEGIN IMMEDIATE"]);
  });

  it("whose commit fails is not done for certain, and not left open", () => {
    const { connection, said } = played("COMMIT");
    expect(() => transact(connection, "lasting", () => {})).toThrow(CommitFailed);
    expect(said.slice(1)).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
  });
});

describe("a transaction that passes if it may", () => {
  it("is committed without a sync if it may", () => {
    const { connection, said } = played();
    expect(transactIfPassing(connection, () => said.push("work") && "done")).toBe("done");
    expect(said).toEqual(["synced false", "BEGIN IMMEDIATE", "work", "COMMIT"]);
  });

  it("is undone if it must not", () => {
    const { connection, said } = played();
    expect(transactIfPassing(connection, () => void said.push("work"))).toBeUndefined();
    expect(said).toEqual(["synced false", "BEGIN IMMEDIATE", "work", "ROLLBACK"]);
  });
});
