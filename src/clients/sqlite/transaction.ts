// One call, one transaction. BEGIN IMMEDIATE makes this connection the one writer before it reads, so that what it decides on cannot change under it.
// If BEGIN fails nothing is rolled back: the open transaction may be the user's own.
//
// lasting   synced before it is answered: a token must not be granted twice, because the power was cut in between
// passing   the session of a candidate that holds nothing. A power cut undoes it together with the process that wrote it, and the next lasting
//           commit syncs it too. It takes a fraction of the time, and of the writer's lock: five hundred that wait would leave the leader no turn
import type { Connection } from "./binding.ts";

/** COMMIT was sent and failed. */
export class CommitFailed extends Error {}

export function transact<R>(connection: Connection, what: "lasting" | "passing", work: () => R): R {
  connection.setSynced(what === "lasting");
  connection.run("BEGIN IMMEDIATE");
  let result: R;
  try {
    result = work();
  } catch (error) {
    rollBackIfOpen(connection);
    throw error;
  }
  commit(connection);
  return result;
}

function commit(connection: Connection): void {
  try {
    connection.run("COMMIT");
  } catch (cause) {
    rollBackIfOpen(connection);
    throw new CommitFailed("the commit failed", { cause });
  }
}

function rollBackIfOpen(connection: Connection): void {
  try {
    connection.run("ROLLBACK");
  } catch {
    // SQLite has ended it by itself: before COMMIT it can only have rolled it back, after COMMIT nobody knows.
  }
}
