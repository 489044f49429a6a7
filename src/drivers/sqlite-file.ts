// Opens a SQLite file as an ordinary user of it: with the binding that the store would choose. It waits for other writers, and changes no setting of the file.
import { type BindingName, openDatabase } from "../clients/sqlite/binding.ts";
import type { SqliteConnection } from "../fencing/index.ts";

export interface SqliteFile extends SqliteConnection {
  close(): unknown;
}

/** This is longer than any transaction that is not stuck. */
const BUSY_MS = 5000;

/** Makes the file if it is not there. */
export function openDatabaseAt(file: string, binding?: BindingName): SqliteFile {
  const database = openDatabase(file, binding) as SqliteFile;
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  return database;
}
