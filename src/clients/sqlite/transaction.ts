// Each call is one transaction. BEGIN IMMEDIATE makes this connection the one writer before it reads, so that the data of its decision cannot change under it. If BEGIN fails nothing is rolled back: the
// open transaction may be the user's own.
//
// lasting   synced before it is answered: a grant that takes its token from the counter, a renewal of a holder, a memo. A token must not be granted twice because the power was cut in between
// passing   not synced: a release, the session of a candidate that holds nothing, and a grant whose token a lasting commit has reserved before (../../stores/sqlite/blocks.ts). It takes a
//           fraction of the time, and of the writer's lock: five hundred candidates that wait would leave the leader no turn
//
// Passing commits take no promise away, for this reason. All commits are appended to one write-ahead log, each with a checksum over everything before it, and a sync covers the whole file. So after a
// power cut the log holds a prefix of the commits, and that prefix reaches at least to the last lasting one: only passing commits at the end are lost. A log that was not synced is never written back
// into the database (a checkpoint syncs the log first, at synchronous = NORMAL too). A power cut ends every process of the host, so that no process is left that believes in a term. The next token comes
// from the counter, which only lasting commits raise, and which they have raised at least to every token that was told. A lost release shows a seat as held by a session that is gone: candidates wait for
// it to expire, a ttl at most. A lost grant shows a seat as vacant whose holder is gone; blocks.ts says why that holds also for a disk that is taken away from a running host.
// docs/adr/0036-giving-back-on-sqlite.md, docs/adr/0095-blocks-of-tokens-on-sqlite.md
import type { PreparedConnection } from "./binding.ts";

/** COMMIT was sent and failed. */
export class CommitFailed extends Error {}

export function transact<R>(connection: PreparedConnection, what: "lasting" | "passing", work: () => R): R {
  const result = begin(connection, what, work);
  commit(connection);
  return result;
}

/** A passing transaction whose `work` may find that it must not be one: then it returns undefined, and everything that it has written is undone. */
export function transactIfPassing<R>(connection: PreparedConnection, work: () => R | undefined): R | undefined {
  const result = begin(connection, "passing", work);
  if (result === undefined) rollBackIfOpen(connection);
  else commit(connection);
  return result;
}

/** The transaction is open when this returns. */
function begin<R>(connection: PreparedConnection, what: "lasting" | "passing", work: () => R): R {
  connection.setSynced(what === "lasting");
  connection.run("BEGIN IMMEDIATE");
  try {
    return work();
  } catch (error) {
    rollBackIfOpen(connection);
    throw error;
  }
}

function commit(connection: PreparedConnection): void {
  try {
    connection.run("COMMIT");
  } catch (cause) {
    rollBackIfOpen(connection);
    throw new CommitFailed("the commit failed", { cause });
  }
}

function rollBackIfOpen(connection: PreparedConnection): void {
  try {
    connection.run("ROLLBACK");
  } catch {
    // SQLite has ended the transaction by itself: before COMMIT it can only have rolled it back, after COMMIT the outcome is not known.
  }
}
