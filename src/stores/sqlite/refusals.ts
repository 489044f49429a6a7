// Says what can be wrong with a database file, so that somebody can act on it: what happened, why, and what to do next. It also says what a failed call means: a transaction that
// did not begin, or was rolled back, was definitely not applied; the outcome of one whose COMMIT failed is unknown.
import { statSync } from "node:fs";
import path from "node:path";
import type { RefusalCode, Refused, Unknown } from "../../base/outcome.ts";
import { unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { CommitFailed } from "../../clients/sqlite/transaction.ts";

/** SQLite's primary result codes, as far as they mean something to a user. */
const ERROR = 1;
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const TOOBIG = 18;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOTADB = 26;

const NAMES: Readonly<Record<string, number>> = {
  ERROR,
  PERM,
  BUSY,
  LOCKED,
  READONLY,
  IOERR,
  CORRUPT,
  FULL,
  CANTOPEN,
  PROTOCOL,
  TOOBIG,
  CONSTRAINT,
  MISMATCH,
  NOTADB,
};

/** The primary code of an error of any of the three bindings; undefined if it is not an error of SQLite. */
function resultCodeOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, rawCode, code } = error as { errcode?: unknown; rawCode?: unknown; code?: unknown };
  const number = typeof errcode === "number" ? errcode : rawCode;
  if (typeof number === "number") return number & 0xff;
  const name = /^SQLITE_([A-Z]+)/.exec(typeof code === "string" ? code : "")?.[1];
  if (name !== undefined) return NAMES[name];
  // The message of libsql for a file that cannot be opened: ConnectionFailed("Unable to open connection to local database PATH: 14")
  const failed = /^ConnectionFailed\(.*: (\d+)"?\)$/s.exec(error instanceof Error ? error.message : "")?.[1];
  return failed === undefined ? undefined : Number(failed) & 0xff;
}

/** The answer when `error` ended a call on the file at `place`. */
export function outcomeOf(error: unknown, place: string): Refused | Unknown {
  if (error instanceof CommitFailed) {
    const code = resultCodeOf(error.cause);
    // COMMIT found the file busy: the transaction was still open, and has been rolled back.
    return code === BUSY ? refuse(error.cause, code, place) : unknown(error.cause);
  }
  if (error instanceof Refusal) return error.refused;
  return refuse(error, resultCodeOf(error), place);
}

function refuse(cause: unknown, code: number | undefined, place: string): Refused {
  const [refusal, message, retryable] = describe(cause, code, place);
  return { kind: "refused", code: refusal, message: `sqlite: ${message}`, retryable, cause };
}

function describe(cause: unknown, code: number | undefined, place: string): [RefusalCode, string, boolean] {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (/within a transaction/.test(text))
    return [
      "STORE_UNREACHABLE",
      `a transaction is open on the connection that was passed in. Commit it before the next await, or give conclave a connection of its own.`,
      true,
    ];
  if (/no such (?:table|column)|has no column/.test(text))
    return [
      "STORE_FOREIGN_DATA",
      `${place} is not laid out as conclave lays it out (${text}). Somebody has changed its tables. Nothing was written. Use another file, or move this one away.`,
      false,
    ];
  switch (code) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return [
        "STORE_UNREACHABLE",
        `${place} is locked by another writer for longer than we wait. Look for a long transaction on it (a shell, a backup). It is tried again.`,
        true,
      ];
    case READONLY:
    case PERM:
      return [
        "STORE_DENIED",
        `${place} cannot be written${ownerOf(place)}. Give this user write access to the file and to its folder (SQLite keeps -wal and -shm beside it), or use another path.`,
        false,
      ];
    case CANTOPEN:
      if (isFolder(place))
        return [
          "STORE_UNREACHABLE",
          `${place} is a folder. Give the path of a file, which is made if it is not there: sqlite:${path.join(place, "conclave.db")}`,
          false,
        ];
      return [
        "STORE_DENIED",
        `${place} cannot be opened${ownerOf(place)}. Give this user read and write access to the file and to its folder, or use another path.`,
        false,
      ];
    case FULL:
      return ["STORE_UNREACHABLE", `the disk of ${place} is full. Make room. It is tried again.`, true];
    case IOERR:
      return [
        "STORE_UNREACHABLE",
        `${place} cannot be read or written (${text}). The disk fails (look at the kernel's log), or its -wal or -shm was deleted: then stop all candidates and start them again. It is tried again.`,
        true,
      ];
    case undefined:
      return ofSystem(cause, text, place);
    default:
      return ofContent(code, text, place) ?? ["STORE_UNREACHABLE", `${place}: ${text}. It is tried again.`, true];
  }
}

/** The content of the file, or a value that was to be written, is wrong. */
function ofContent(code: number, text: string, place: string): [RefusalCode, string, boolean] | undefined {
  switch (code) {
    case NOTADB:
      return [
        "STORE_FOREIGN_DATA",
        `${place} is not a SQLite database, or it is encrypted. Nothing was written. Use another path, or move that file away.`,
        false,
      ];
    case CORRUPT:
      return [
        "STORE_FOREIGN_DATA",
        `${place} is damaged (${text}). Nothing was written. Stop all candidates, move the file with its -wal and -shm away, and start again: the new file has a new token domain.`,
        false,
      ];
    case CONSTRAINT:
    case MISMATCH:
      return [
        "STORE_FOREIGN_DATA",
        `a rule of ${place} does not let us write (${text}). Somebody has changed its tables or its values. Nothing was written. Use another file, or move this one away.`,
        false,
      ];
    case TOOBIG:
      return [
        "STORE_FULL",
        `a name, id or value is too long for SQLite (${text}). Nothing was written. Choose a shorter one.`,
        false,
      ];
    default:
      return undefined;
  }
}

/** An error of the operating system, before SQLite was asked. Waiting helps only against a lack of space. */
function ofSystem(cause: unknown, text: string, place: string): [RefusalCode, string, boolean] {
  const { code = "", syscall, path: at = place } = (cause ?? {}) as NodeJS.ErrnoException;
  const what =
    syscall === "mkdir"
      ? `the folder ${at} cannot be made${byUs()} (${code}). Make it, set XDG_STATE_HOME to a folder that this user may write to, or give a path: sqlite:/PATH`
      : `${at} may not be looked into${byUs()} (${code}). Give this user access to the folder, or use another path`;
  switch (code) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return ["STORE_DENIED", `${what}.`, false];
    case "ENOTDIR":
    case "EEXIST":
    case "ELOOP":
    case "ENAMETOOLONG":
      return ["STORE_UNREACHABLE", `${what}.`, false];
    case "ENOSPC":
    case "EDQUOT":
      return ["STORE_UNREACHABLE", `the disk of ${place} is full. Make room. It is tried again.`, true];
    default:
      return ["STORE_UNREACHABLE", `${place}: ${text}. It is tried again.`, true];
  }
}

function byUs(): string {
  const uid = process.geteuid?.();
  return uid === undefined ? "" : ` by uid ${uid}`;
}

function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function ownerOf(place: string): string {
  const uid = process.geteuid?.();
  if (uid === undefined) return "";
  try {
    const owner = statSync(place).uid;
    return owner === uid
      ? ` by its own user (uid ${uid})`
      : `: it belongs to uid ${owner}, and this process is uid ${uid}`;
  } catch {
    return ` by uid ${uid}`;
  }
}

/** One name has had 2⁶³ − 1 terms. Counting anew would grant tokens that resources have already seen. */
export function exhausted(name: string): Refusal {
  const message = `sqlite: the counter of "${name}" has given its last token, and none may come twice. Use another name, or another file, which has a new token domain (conclave fence adopt). Nothing was written.`;
  return new Refusal("STORE_UNSUPPORTED", message);
}

/** A row has a value that conclave has not written. */
export function edited(what: string, value: unknown): Refusal {
  const shown = String(value).slice(0, 60);
  const message = `sqlite: ${what} is ${JSON.stringify(shown)}: somebody has edited the file. Nothing was written. Put it right, or move the file away while no candidate runs.`;
  return new Refusal("STORE_FOREIGN_DATA", message);
}
