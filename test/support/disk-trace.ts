// A disk, as it would be found after a cut of the power: made from the system calls of a real process (strace), of which only what it had synced counts.
// Pessimistic where POSIX leaves a choice: bytes are there once their file was synced, a name comes and goes once its folder was synced.
// Not modelled: bytes written through a memory map. SQLite maps -shm alone, which it makes anew after a restart of the host.
import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";

const TRACED = "openat,pwrite64,write,fsync,fdatasync,ftruncate,unlink";

/** A command that writes what follows it does, to `file`. */
export function tracing(file: string): readonly string[] {
  return ["strace", "-f", "-y", "-xx", "-s", "100000", "-e", `trace=${TRACED}`, "-o", file];
}

export interface SystemCall {
  readonly name: string;
  /** Of the file concerned; empty if it has none (a pipe). */
  readonly path: string;
  readonly descriptor: number;
  readonly bytes: Buffer;
  /** Whatever stands after the bytes or the path. */
  readonly rest: string;
}

/** Those that succeeded, in the order in which they ended. */
export function* readTrace(file: string): Generator<SystemCall> {
  const begun = new Map<string, string>();
  for (const line of linesOf(file)) {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    const whole = resumed === undefined ? text : `${begun.get(thread) ?? ""}${resumed}`;
    if (whole.endsWith(" <unfinished ...>")) begun.set(thread, whole.slice(0, -" <unfinished ...>".length));
    else {
      const call = parse(whole);
      if (call !== undefined) yield call;
    }
  }
}

function* linesOf(file: string): Generator<string> {
  const descriptor = openSync(file, "r");
  const chunk = Buffer.alloc(2 ** 20);
  let rest = "";
  for (let length = -1; length !== 0;) {
    length = readSync(descriptor, chunk, 0, chunk.length, null);
    const lines = `${rest}${chunk.toString("latin1", 0, length)}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  closeSync(descriptor);
}

/** `fsync(27<\x2f…>) = 0`, `pwrite64(27<\x2f…>, "\x00…", 1, 4095) = 1`, `unlink("\x2f…") = 0`: with -xx all text is in escapes. */
function parse(text: string): SystemCall | undefined {
  const pattern = /^(\w+)\((?:(AT_FDCWD|\d+)(?:<([^>]*)>)?)?(?:, )?(?:"((?:\\x[0-9a-f]{2})*)")?(.*)\) += (\d+)/s;
  const [all, name = "", descriptor = "", file = "", quoted = "", rest = ""] = pattern.exec(text) ?? [];
  if (all === undefined) return undefined;
  const bytes = decode(quoted);
  const isByName = name === "openat" || name === "unlink";
  return { name, path: (isByName ? bytes : decode(file)).toString(), descriptor: Number(descriptor), bytes, rest };
}

function decode(escaped: string): Buffer {
  return Buffer.from(escaped.replaceAll("\\x", ""), "hex");
}

interface Inode {
  now: Buffer;
  synced: Buffer;
}

export class Disk {
  readonly #folder: string;
  /** What names lead to: as programs see it, and as it would be found. */
  readonly #names = new Map<string, Inode>();
  readonly #syncedNames = new Map<string, Inode>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  apply({ name, path: file, bytes, rest }: SystemCall): void {
    if (file === this.#folder && name.endsWith("sync")) this.#syncNames();
    if (path.dirname(file) !== this.#folder) return;
    if (name === "openat" && rest.includes("O_CREAT") && !this.#names.has(file))
      this.#names.set(file, { now: Buffer.alloc(0), synced: Buffer.alloc(0) });
    if (name === "unlink") this.#names.delete(file);
    const inode = this.#names.get(file);
    if (inode === undefined) return;
    if (name === "pwrite64") inode.now = overwritten(inode.now, bytes, Number(rest.split(", ").at(-1)));
    if (name === "ftruncate") inode.now = resized(inode.now, Number(rest.split(", ").at(-1)));
    if (name.endsWith("sync")) inode.synced = inode.now;
  }

  #syncNames(): void {
    this.#syncedNames.clear();
    for (const [name, inode] of this.#names) this.#syncedNames.set(name, inode);
  }

  /** File name → content, if the power were cut now. `part`: of what was written and not synced, nothing, the first half, or everything is there. */
  afterPowerLoss(part: Unsynced): ReadonlyMap<string, Buffer> {
    const names = part === "none" ? this.#syncedNames : this.#names;
    return new Map([...names].map(([name, inode]) => [path.basename(name), found(inode, part)]));
  }
}

export type Unsynced = "none" | "half" | "all";

function found({ now, synced }: Inode, part: Unsynced): Buffer {
  if (part !== "half") return part === "none" ? synced : now;
  let first = 0;
  while (first < now.length && now[first] === synced[first]) first++;
  const until = Math.floor((first + now.length) / 2);
  return Buffer.concat([now.subarray(0, until), synced.subarray(until)]);
}

/** A copy: what was synced must not change with what is written later. */
function overwritten(content: Buffer, bytes: Buffer, offset: number): Buffer {
  const grown = resized(content, Math.max(content.length, offset + bytes.length));
  bytes.copy(grown, offset);
  return grown;
}

function resized(content: Buffer, length: number): Buffer {
  const made = Buffer.alloc(length);
  content.copy(made);
  return made;
}
