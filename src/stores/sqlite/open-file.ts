// Opens a database for elections: checks the place, makes the settings that the promises depend on (WAL, synchronous = FULL), makes the tables in an empty file, and
// refuses a file that is not ours, without writing anything. Throws a Refusal, or an error of SQLite.
import { randomUUID } from "node:crypto";
import { mkdirSync, realpathSync } from "node:fs";
import path from "node:path";
import {
  type BindingName,
  PreparedConnection,
  openDatabase,
  type SqliteDatabase,
} from "../../clients/sqlite/binding.ts";
import { checkPlace, idOf, isOpenHere, lifeFolderOf } from "./file-system.ts";
import { identify } from "./identity.ts";
import type { HostKernel } from "./kernel.ts";
import { readNumber, readText } from "./place.ts";
import { Refusal } from "../../base/refusal.ts";
import { edited } from "./refusals.ts";
import * as sql from "./schema.ts";
import { SqliteShelf } from "./shelf.ts";
import { transact } from "../../clients/sqlite/transaction.ts";

/** This is longer than a commit of another process takes, and short enough not to block the event loop for long: SQLite waits in this thread. */
const BUSY_MS = 100;

/** The page size of a new file. A grant changes a few short rows on five pages, and it waits until the disk has written all five: a quarter of the usual size is quicker. */
const PAGE_BYTES = 1024;

export const MEMORY = ":memory:";

/** The database that was asked for: a path, or a database that the user has opened. */
export type Source =
  | { readonly path: string; readonly binding: BindingName | undefined; readonly makeFolder: boolean }
  | { readonly database: SqliteDatabase };

export interface OpenFile {
  /** The path of the file; undefined for a database in memory. */
  readonly path: string | undefined;
  readonly shelf: SqliteShelf;
  /** True if the path still leads to the open file. */
  isSame(): boolean;
  /** Closes everything that was opened here. */
  close(): void;
}

export function openFile(source: Source, kernel: HostKernel | undefined): OpenFile {
  return "database" in source ? adopt(source.database, kernel) : openPath(source, kernel);
}

function openPath(source: Extract<Source, { path: string }>, kernel: HostKernel | undefined): OpenFile {
  const place = source.path === MEMORY ? undefined : prepare(source.path, source.makeFolder);
  const before = place === undefined ? undefined : idOf(place);
  const database = openDatabase(place ?? MEMORY, source.binding);
  try {
    const connection = new PreparedConnection(database, true);
    connection.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA page_size = ${PAGE_BYTES}`);
    const shelf = layOut(connection, place, true, kernel);
    return fileAt(place, before, shelf, () => void database.close());
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Uses a database of the user: other tables may be in it, and it is not closed here. */
function adopt(database: SqliteDatabase, kernel: HostKernel | undefined): OpenFile {
  const connection = new PreparedConnection(database, false);
  const place = pathOf(database);
  if (place !== undefined) checkPlace(place);
  const before = place === undefined ? undefined : idOf(place);
  return fileAt(place, before, layOut(connection, place, false, kernel), () => {});
}

/** The path of the main database; undefined if it is in memory. */
export function pathOf(database: SqliteDatabase): string | undefined {
  const rows = database.prepare("PRAGMA database_list").all() as { readonly name?: unknown; readonly file?: unknown }[];
  const file = rows.find(({ name }) => name === "main")?.file;
  return typeof file === "string" && file !== "" ? realPath(file) : undefined;
}

function prepare(file: string, makeFolder: boolean): string {
  if (makeFolder) mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const place = realPath(file);
  checkPlace(place);
  return place;
}

/** SQLite follows links too, and names -wal and -shm after the target of the link. */
function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // The file does not exist yet, but its folder may be a link.
  }
  try {
    return path.join(realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    return file; // there is no such folder, which checkPlace reports
  }
}

/** The identity is taken when the file is open. Two checks show that it is that of the open file: it did not change meanwhile, and this process has it open. */
function fileAt(
  place: string | undefined,
  before: string | undefined,
  shelf: SqliteShelf,
  close: () => void,
): OpenFile {
  if (place === undefined) return { path: undefined, shelf, isSame: () => true, close };
  const identity = identify(place);
  const id = idOf(place);
  if (id === undefined || (before !== undefined && before !== id) || !isOpenHere(id)) {
    identity.close();
    const message = `sqlite: ${place} was replaced or deleted while it was being opened. It is tried again.`;
    throw new Refusal("STORE_UNREACHABLE", message, { retryable: true });
  }
  const closeAll = (): void => {
    close();
    identity.close();
  };
  return { path: place, shelf, isSame: () => identity.isSame(), close: closeAll };
}

/** A file that is used by conclave alone must be ours or empty. Nothing is written before that is known. */
function layOut(
  connection: PreparedConnection,
  place: string | undefined,
  isOwnFile: boolean,
  kernel: HostKernel | undefined,
): SqliteShelf {
  const shown = place ?? "the database";
  const known = readDomain(connection, shown, isOwnFile);
  setDurability(connection, shown, place === undefined);
  const domain =
    known ?? transact(connection, "lasting", () => readDomain(connection, shown, isOwnFile) ?? create(connection));
  makeAdded(connection);
  return new SqliteShelf(connection, domain, place === undefined ? undefined : kernel, lifeFolderOf(place ?? MEMORY));
}

/** A power cut must not undo a commit that was answered: a token would be granted twice. */
function setDurability(connection: PreparedConnection, shown: string, inMemory: boolean): void {
  const mode = connection.all("PRAGMA journal_mode = WAL")[0]?.["journal_mode"];
  if (mode !== "wal" && !inMemory) {
    const message = `sqlite: ${shown} cannot be switched to WAL (it stays in ${String(mode)} mode). Close other programs that have it open, or use a local disk.`;
    throw new Refusal("STORE_UNREACHABLE", message, { retryable: true });
  }
  connection.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
}

/** The token domain of a file that is ours. Undefined if the file has no tables of ours, and they may be made. */
function readDomain(connection: PreparedConnection, shown: string, isOwnFile: boolean): string | undefined {
  const tables = connection.all(sql.TABLES).map((row) => readText(row["name"], "a table's name"));
  if (!tables.includes("conclave_meta")) {
    const foreign = tables.filter((name) => isOwnFile || name.startsWith("conclave_s") || name === "conclave_counter");
    if (foreign.length === 0) return undefined;
    const message = `sqlite: ${shown} holds tables of something else (${foreign.slice(0, 3).join(", ")}). Give conclave a file of its own, or pass your open database object instead of its path. Nothing was written.`;
    throw new Refusal("STORE_FOREIGN_DATA", message);
  }
  const [row, another] = connection.all(sql.READ_META);
  if (row === undefined || another !== undefined) throw edited("conclave_meta, which has one row,", another ?? "empty");
  const schema = readNumber(row["schema"], "conclave_meta, schema");
  if (schema === sql.SCHEMA_VERSION) return readText(row["domain"], "conclave_meta, domain");
  throw otherSchema(shown, schema);
}

function otherSchema(shown: string, schema: number): Refusal {
  const isNewer = schema > sql.SCHEMA_VERSION;
  const message = `sqlite: ${shown} has layout ${schema}, and this version of conclave knows layout ${sql.SCHEMA_VERSION}. ${isNewer ? "A newer version made it: update this one" : "Stop all candidates and move the file away"}, or use another file. Nothing was written.`;
  return new Refusal("STORE_UNSUPPORTED", message);
}

function create(connection: PreparedConnection): string {
  const domain = `sqlite-${randomUUID()}`;
  connection.exec(sql.CREATE);
  connection.exec(sql.CREATE_MEMOS);
  connection.exec(sql.CREATE_BLOCKS);
  connection.run(sql.CREATE_META, sql.SCHEMA_VERSION, domain);
  return domain;
}

/** A file that an earlier version has made has no table for requests to hand over, for invitations, or for blocks of tokens. That version works with the file as before. */
function makeAdded(connection: PreparedConnection): void {
  const tables = connection.all(sql.TABLES).map(({ name }) => name);
  if (["conclave_asked", "conclave_invited", "conclave_block"].every((name) => tables.includes(name))) return;
  transact(connection, "lasting", () => {
    connection.exec(sql.CREATE_ASKED);
    connection.exec(sql.CREATE_INVITED);
    connection.exec(sql.CREATE_BLOCKS);
  });
}
