// Shelves on a file without a store around them, so that a test says under which kernel they run, sees how synced each of their commits is, and lets a commit fail.
import type { SqliteDatabase } from "conclave/stores/sqlite";
import { PreparedConnection } from "../../../src/clients/sqlite/binding.ts";
import type { HostKernel } from "../../../src/stores/sqlite/kernel.ts";
import * as sql from "../../../src/stores/sqlite/schema.ts";
import { SqliteShelf } from "../../../src/stores/sqlite/shelf.ts";
import { Database } from "./by-hand.ts";

/** What PRAGMA synchronous says: a commit at FULL is synced, one at NORMAL is not. */
export const FULL = 2;
export const NORMAL = 1;

export interface Handle {
  readonly shelf: SqliteShelf;
  /** How synced each commit was. */
  readonly commits: number[];
  /** If it throws, the commit has failed and was undone. */
  beforeCommit: (synced: number) => void;
  afterCommit: (synced: number) => void;
  close(): void;
}

/** A file with all tables, with no session in it. */
export function makeFile(file: string): void {
  byHand(
    file,
    `PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; ${sql.CREATE} ${sql.CREATE_ASKED}; ${sql.CREATE_BLOCKS}
    INSERT INTO conclave_meta (only, schema, domain, change) VALUES (1, 1, 'd', 0)`,
  );
}

export function byHand(file: string, text: string): void {
  const database = new Database(file);
  database.exec(text);
  database.close();
}

/** `isOwn`: the connection was not opened by the user. */
export function openShelf(file: string, kernel: HostKernel | undefined, isOwn: boolean): Handle {
  const database = new Database(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 100");
  const commit = (run: () => unknown): unknown => {
    const synced = Number(Object.values(database.prepare("PRAGMA synchronous").all()[0] as object)[0]);
    handle.beforeCommit(synced);
    const done = run();
    handle.commits.push(synced);
    handle.afterCommit(synced);
    return done;
  };
  const wrapped: SqliteDatabase = {
    exec: (text) => database.exec(text),
    prepare: (text) => {
      const statement = database.prepare(text);
      return {
        all: (...values) => statement.all(...values),
        run: (...values) => (text === "COMMIT" ? commit(() => statement.run()) : statement.run(...values)),
      };
    },
  };
  const handle: Handle = {
    shelf: new SqliteShelf(new PreparedConnection(wrapped, isOwn), "d", kernel, "/nowhere"),
    commits: [],
    beforeCommit: () => {},
    afterCommit: () => {},
    close: () => database.close(),
  };
  return handle;
}

/** A candidate of a version that knows no blocks of tokens: the statements by which it takes a free seat, and gives it back, as they stood. */
export class EarlierVersion {
  readonly #database: Database;
  readonly #session: string;
  #bids = 0;

  constructor(file: string, session: string) {
    this.#session = session;
    this.#database = new Database(file);
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    const open = "INSERT INTO conclave_session (id, candidate, ttl, beat) VALUES (?, 'earlier', 1000, 1)";
    this.#database.prepare(open).run(session);
  }

  /** The token; undefined if the seat is not vacant. */
  take(name: string): bigint | undefined {
    const bid = `${this.#session}.${++this.#bids}`;
    this.#database.exec("BEGIN IMMEDIATE");
    const [next] = this.#database
      .prepare(
        `UPDATE conclave_counter SET last = last + 1, ttl = 1000
        WHERE name = ? AND last < 9223372036854775807
          AND EXISTS (SELECT 1 FROM conclave_seat AS seat WHERE seat.name = conclave_counter.name AND seat.session IS NULL AND seat.bid <> ?)
          AND EXISTS (SELECT 1 FROM conclave_session WHERE id = ? AND ended IS NULL)
        RETURNING CAST(last AS TEXT) AS token`,
      )
      .all(name, bid, this.#session) as { readonly token: string }[];
    if (next !== undefined)
      this.#database
        .prepare(
          `INSERT INTO conclave_seat (name, session, bid, token, mark, value) VALUES (?, ?, ?, CAST(? AS INTEGER), 0, '')
          ON CONFLICT (name) DO UPDATE SET session = excluded.session, bid = excluded.bid, token = excluded.token, mark = excluded.mark, value = excluded.value`,
        )
        .run(name, this.#session, bid, next.token);
    this.#database.exec("COMMIT");
    return next === undefined ? undefined : BigInt(next.token);
  }

  give(name: string): void {
    const vacate = "UPDATE conclave_seat SET session = NULL WHERE name = ? AND session = ? AND bid = ?";
    this.#database.prepare(vacate).run(name, this.#session, `${this.#session}.${this.#bids}`);
  }

  close(): void {
    this.#database.close();
  }
}
