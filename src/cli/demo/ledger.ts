// The ledger of the demo: rows in a SQLite file, each written in a transaction that begins with `fence.admit`. An entry counts on from the one before
// it, so that a write of a replaced leader, were it taken, would be seen: a token that falls, or a balance that does not fit.
import type { Term } from "../../index.ts";
import { sqliteFence } from "../../fencing/index.ts";
import { type SqliteFile, openDatabaseAt } from "../../drivers/sqlite-file.ts";

const RESOURCE = "ledger";
const fence = sqliteFence();

export interface LedgerReport {
  readonly entries: number;
  /** A sentence for everything that could not be so if every stale write had been refused. */
  readonly problems: readonly string[];
}

export class Ledger {
  readonly #database: SqliteFile;

  constructor(file: string) {
    this.#database = openDatabaseAt(file);
  }

  create(): void {
    this.#database.exec(`PRAGMA journal_mode = WAL;
      CREATE TABLE entry (number INTEGER PRIMARY KEY, who TEXT NOT NULL, token TEXT NOT NULL, amount INTEGER NOT NULL, balance INTEGER NOT NULL);
      ${fence.schema()}`);
  }

  /** Throws `TOKEN_STALE` if a newer leader has been here. The balance is read after `admit`, so that no older write can come in between. */
  append(term: Term, who: string, amount: number): void {
    const database = this.#database;
    database.exec("BEGIN IMMEDIATE");
    try {
      fence.admit(database, RESOURCE, term);
      database
        .prepare(
          `INSERT INTO entry (who, token, amount, balance)
           VALUES (?, ?, CAST(? AS INTEGER), CAST(? AS INTEGER) + coalesce((SELECT balance FROM entry ORDER BY number DESC LIMIT 1), 0))`,
        )
        .run(who, `${term.token.value}`, `${amount}`, `${amount}`);
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  }

  report(): LedgerReport {
    const rows = this.#database
      .prepare("SELECT who, token, amount, balance FROM entry ORDER BY number")
      .all() as LedgerEntry[];
    const problems: string[] = [];
    let balance = 0;
    let newest = 0n;
    for (const [index, entry] of rows.entries()) {
      balance += Number(entry.amount);
      const token = BigInt(entry.token);
      if (token < newest) problems.push(`entry ${index + 1} of ${entry.who} has token ${token} after ${newest}`);
      if (Number(entry.balance) !== balance)
        problems.push(`entry ${index + 1} of ${entry.who} does not count on from the one before`);
      newest = token > newest ? token : newest;
    }
    return { entries: rows.length, problems };
  }

  close(): void {
    this.#database.close();
  }
}

interface LedgerEntry {
  readonly who: string;
  readonly token: string;
  readonly amount: number | bigint;
  readonly balance: number | bigint;
}
