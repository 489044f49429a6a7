// The files of a PostgreSQL server, as its guard sees them. The command that starts the server gives its data folder and its programs. The guard writes the settings that make it a standby, reserves the numbers of timelines
// that other servers have, and keeps a note beside the data folder while pg_rewind works on it. Every write is done so that a crash in the middle leaves the old text or the new one.
//
// A timeline is a number, and a promotion takes the first number for which the server has no history file. Suppose that two servers are promoted from timeline 1, the second one after the first one died. Both would call
// their timeline 2, and from then on neither PostgreSQL nor pg_rewind could tell their writes apart. So the record gives each promotion a number of its own (`generation`), and the guard puts history files for all numbers
// below it into the folder of its server. These files are placeholders: they have no line, so they are no timeline's child and no recovery follows them. Placeholders above the last real timeline are removed before a start.
// PostgreSQL takes the greatest number for the timeline to recover to. A server that was killed after the placeholders were written and before its own history file was would wait for that timeline for ever.
//
// For the same reason the history files of timelines that this server has parted from are removed before a start. The server has fetched them from a primary that it could not follow. With such a file PostgreSQL does not
// start ("requested timeline does not contain minimum recovery point"), so nobody can ask the server how much it has. Without the file it starts and answers. The file comes again with the next primary that has it.
//
// The note lies beside the folder because pg_rewind removes files from the folder that the other server does not have. A folder that was rebuilt has another identity, and the note does not count for it.
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { invalidConfig } from "../base/errors.ts";
import { isBeyond, type WalPosition } from "./postgres-view.ts";

/** Settings that belong to the guard. It replaces every other line that sets one of them. */
type OwnSettings = Readonly<Record<string, string | undefined>>;

export class PostgresHome {
  /** The data folder. */
  readonly data: string;
  /** The folder of pg_rewind and pg_controldata; "" if they are found by the PATH. */
  readonly programs: string;

  constructor(data: string, programs: string) {
    this.data = data;
    this.programs = programs;
  }

  get owner(): { readonly uid: number; readonly gid: number } {
    return statSync(this.data);
  }

  get #noteFile(): string {
    return `${this.data.replace(/\/+$/, "")}.conclave.json`;
  }

  /** The identity of this very folder. A folder that was made anew, even at the same place, has another one. */
  get #identity(): string {
    const { ino, birthtimeMs } = statSync(path.join(this.data, "PG_VERSION"));
    return `${ino}-${Math.floor(birthtimeMs)}`;
  }

  /** True if pg_rewind was begun and has not said that it is done. The data is then neither the old nor the new. */
  get isMending(): boolean {
    try {
      const { mending } = JSON.parse(readFileSync(this.#noteFile, "utf8")) as { readonly mending: string };
      return mending === this.#identity;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  /** The note is on the disk when this returns. */
  noteMending(isMending: boolean): void {
    if (isMending) this.#write(this.#noteFile, `${JSON.stringify({ mending: this.#identity })}\n`);
    else rmSync(this.#noteFile, { force: true });
  }

  /** From now on no promotion of this server takes a number below `timeline`. */
  reserveTimelines(timeline: number): void {
    const log = path.join(this.data, "pg_wal");
    for (let number = 2; number < timeline; number++) {
      const file = path.join(log, historyFile(number));
      if (!existsSync(file)) this.#write(file, "# This number belongs to a promotion of another server.\n");
    }
  }

  /**
   * Returns the last timeline of this server and of those that it has followed, or 1 if it knows of none. `reached` is how far its data goes, by its control file. Placeholders above that timeline are removed, and so are
   * histories that the server cannot follow. Missing placeholders below it are written, because a standby that was away for long asks for every number in between.
   * SAFETY: removing a placeholder makes its number free, but no promotion takes that number, because each promotion first reserves all numbers below its own.
   */
  settleTimelines(reached: readonly WalPosition[] = []): number {
    const log = path.join(this.data, "pg_wal");
    const isOwn = (name: string): boolean => {
      const text = readFileSync(path.join(log, name), "utf8");
      return isHistory(text) && !isBeyond(reached, timelineOfFile(name), text);
    };
    const last = Math.max(1, ...historiesIn(log).filter(isOwn).map(timelineOfFile));
    this.forgetTimelinesAfter(last);
    this.reserveTimelines(last);
    return last;
  }

  /**
   * Removes the histories of all timelines after `timeline`, to which the data of this server has not come. With the history of a promotion that was interrupted, PostgreSQL would go on along that timeline, although nothing
   * was written on it, and the server would count as parted for ever. A history that the primary has comes again from there.
   */
  forgetTimelinesAfter(timeline: number): void {
    const log = path.join(this.data, "pg_wal");
    const later = historiesIn(log).filter((name) => timelineOfFile(name) > timeline);
    for (const name of later) rmSync(path.join(log, name));
    if (later.length > 0) syncFolder(log);
  }

  /** From now on the server starts as a standby, whatever it was before. */
  becomeStandby(settings: OwnSettings): void {
    this.#write(path.join(this.data, "standby.signal"), "");
    rmSync(path.join(this.data, "recovery.signal"), { force: true });
    const file = path.join(this.data, "postgresql.auto.conf");
    const before = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    const others = before.filter(
      (line) => line !== "" && settings[(/^\s*(\w+)/.exec(line)?.[1] ?? "").toLowerCase()] === undefined,
    );
    const own = Object.entries(settings).map(([name, value = ""]) => `${name} = '${value.replaceAll("'", "''")}'`);
    this.#write(file, `${[...others, ...own].join("\n")}\n`);
  }

  /** Prepares the folder for a program that works on it while no server runs on it. `becomeStandby` is called before the next start. */
  leaveStandby(): void {
    rmSync(path.join(this.data, "standby.signal"), { force: true });
  }

  /** Reads the configuration files of the data folder, and returns a function that writes them back: pg_rewind would replace them by those of the other server. */
  keepConfiguration(): () => void {
    const files = ["postgresql.conf", "pg_hba.conf", "pg_ident.conf"].map((name) => path.join(this.data, name));
    const kept = files.filter((file) => existsSync(file)).map((file) => [file, readFileSync(file, "utf8")] as const);
    return () => {
      for (const [file, text] of kept) this.#write(file, text);
    };
  }

  /** The id of the process that serves this folder now. */
  postmaster(): number | undefined {
    try {
      const pid = Number(readFileSync(path.join(this.data, "postmaster.pid"), "utf8").split("\n")[0]);
      process.kill(pid, 0);
      return pid;
    } catch {
      return undefined;
    }
  }

  program(name: string): string {
    return this.programs === "" ? name : path.join(this.programs, name);
  }

  #write(file: string, text: string): void {
    const { uid, gid } = this.owner;
    const aside = `${file}.conclave-new`;
    const descriptor = openSync(aside, "w", 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (process.getuid?.() === 0) chownSync(aside, uid, gid);
    renameSync(aside, file);
    syncFolder(path.dirname(file));
  }
}

/** True if the file has a line for at least one timeline that it descends from. Placeholders have none, and timeline 1 has no file. */
function isHistory(text: string): boolean {
  return /^\s*\d+\s/m.test(text);
}

function historiesIn(log: string): readonly string[] {
  return readdirSync(log).filter((name) => /^[0-9A-F]{8}\.history$/.test(name));
}

function timelineOfFile(name: string): number {
  return Number.parseInt(name, 16);
}

export function historyFile(timeline: number): string {
  return `${timeline.toString(16).toUpperCase().padStart(8, "0")}.history`;
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Finds the folder by the command that starts the server: `… postgres -D FOLDER …`, perhaps behind a command that changes the user. Throws CONFIG_INVALID. */
export function homeOf(command: readonly string[], env: Readonly<Record<string, string | undefined>>): PostgresHome {
  const call = "the command of the guard";
  const at = command.findIndex((word) => /^(postgres|postmaster)$/.test(path.basename(word)));
  if (at < 0)
    throw invalidConfig(call, [
      `it is not "postgres -D FOLDER": the guard must start the server itself. pg_ctl and pg_ctlcluster put it into the background, where the guard does not see its end`,
    ]);
  const data = dataFolderOf(command.slice(at + 1)) ?? env["PGDATA"];
  if (data === undefined) throw invalidConfig(call, ["the data folder is missing: -D FOLDER"]);
  if (!existsSync(path.join(data, "PG_VERSION")))
    throw invalidConfig(call, [
      `${data} is no data folder of PostgreSQL. On the first server make one with initdb, on each other one with pg_basebackup from the first`,
    ]);
  const folder = path.dirname(command[at] ?? "");
  return new PostgresHome(path.resolve(data), folder === "." ? "" : folder);
}

function dataFolderOf(words: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    if (word === "-D") return words[index + 1];
    if (word.startsWith("-D")) return word.slice(2);
    const named = /^(?:--|-c)(?:data[-_]directory|pgdata)=(.*)$/.exec(word);
    if (named !== null) return named[1];
  }
  return undefined;
}
