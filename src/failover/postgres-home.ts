// What a server of PostgreSQL has on disk, as its guard sees it: its data folder and its programs, by the command that starts it; the settings that make it a standby; the numbers of timelines that others have; and a
// note beside the data folder while pg_rewind works on it. Everything is written so that a crash in the middle leaves the old text or the new one.
//
// A timeline is a number, and a promotion takes the first one of which the server has no history file. Two servers that are promoted from timeline 1, one after the other died, would both call theirs 2, and from then on
// nobody could tell their writes apart, PostgreSQL and pg_rewind neither. So the record gives each promotion a number of its own (`generation`), and the guard puts history files for all numbers below it into
// its server's folder: without a line in them, so that they are no timeline's child and no recovery follows them. They are placeholders. Those above the last real timeline are removed before a start: PostgreSQL takes the
// greatest number for the timeline to recover to, and a server that was killed between the placeholders and its own history file would wait for that timeline for ever.
//
// For the same reason the history files of timelines that this server has parted from are removed before a start. It has fetched them from a primary that it could not follow. With such a file PostgreSQL does not start
// ("requested timeline does not contain minimum recovery point"), so that nobody can ask the server how much it has; without it, it starts and answers. The file comes again with the next primary that has it.
//
// The note lies beside the folder because pg_rewind removes from the folder what the other server does not have. A folder that was rebuilt has another identity, and the note does not count for it.
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

/** Settings that belong to the guard: whatever else says something of them is replaced. */
type OwnSettings = Readonly<Record<string, string | undefined>>;

export class PostgresHome {
  /** The data folder. */
  readonly data: string;
  /** Where pg_rewind and pg_controldata are; "" for those of the path. */
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

  /** Of this very folder: one that was made anew, be it at the same place, has another. */
  get #identity(): string {
    const { ino, birthtimeMs } = statSync(path.join(this.data, "PG_VERSION"));
    return `${ino}-${Math.floor(birthtimeMs)}`;
  }

  /** pg_rewind was begun, and has not said that it is done: the data is neither the old nor the new. */
  get isMending(): boolean {
    try {
      const { mending } = JSON.parse(readFileSync(this.#noteFile, "utf8")) as { readonly mending: string };
      return mending === this.#identity;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  /** On the disk when this returns. */
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
   * Of this server and of those that it has followed; 1 if it knows of none. `reached` is how far its data goes, by its control file. Placeholders above that timeline are removed, and so are histories that the server
   * cannot follow; placeholders below are completed: a standby that was away for long asks for every number in between.
   * SAFETY: a number becomes free by that, but no promotion takes it: each one reserves all numbers below its own first.
   */
  settleTimelines(reached: readonly WalPosition[] = []): number {
    const log = path.join(this.data, "pg_wal");
    const files = readdirSync(log).filter((name) => /^[0-9A-F]{8}\.history$/.test(name));
    const isOwn = (name: string): boolean => {
      const text = readFileSync(path.join(log, name), "utf8");
      return isHistory(text) && !isBeyond(reached, Number.parseInt(name, 16), text);
    };
    const last = Math.max(1, ...files.filter(isOwn).map((name) => Number.parseInt(name, 16)));
    const above = files.filter((name) => Number.parseInt(name, 16) > last);
    for (const name of above) rmSync(path.join(log, name));
    if (above.length > 0) syncFolder(log);
    this.reserveTimelines(last);
    return last;
  }

  /** From now on it starts as a standby, whatever it was. */
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

  /** For a program that works on the folder while nothing serves it. `becomeStandby` comes before the next start. */
  leaveStandby(): void {
    rmSync(path.join(this.data, "standby.signal"), { force: true });
  }

  /** The texts of the settings that lie in the data folder: pg_rewind would bring those of the other server. */
  keepConfiguration(): () => void {
    const files = ["postgresql.conf", "pg_hba.conf", "pg_ident.conf"].map((name) => path.join(this.data, name));
    const kept = files.filter((file) => existsSync(file)).map((file) => [file, readFileSync(file, "utf8")] as const);
    return () => {
      for (const [file, text] of kept) this.#write(file, text);
    };
  }

  /** The process that serves this folder now. */
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

/** It has a line for at least one timeline that it begins with. Placeholders have none, and timeline 1 has no file. */
function isHistory(text: string): boolean {
  return /^\s*\d+\s/m.test(text);
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

/** By the command that starts it: `… postgres -D FOLDER …`, behind whatever changes the user. Throws CONFIG_INVALID. */
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
