// Files that survive a crash: each is whole or not there at all, and stays once it was promised. A file becomes visible by a rename or a link after its bytes are
// on the disk, and the folder that names it is synced before the caller is told.
//
// Assumes that fsync tells the truth and that rename and link are atomic: local file systems, and network ones that say so.
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";

/** A part of a file's name that stands for `text` and nothing else, also where names ignore case or rewrite letters with accents. */
export function fileNameOf(text: string): string {
  return text.replaceAll(/[^a-z0-9_.-]/gu, (letter) => Buffer.from(letter).toString("hex").replaceAll(/../g, "%$&"));
}

/** Writes a file that must not exist yet, under the first free name of `nameOf(0)`, `nameOf(1)`, …; returns the name. */
export async function writeNew(nameOf: (attempt: number) => string, content: Uint8Array): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const name = nameOf(attempt);
    const file = await unless("EEXIST", open(name, "wx"));
    if (file === undefined) continue;
    await fill(file, content);
    return name;
  }
}

async function fill(file: FileHandle, content: Uint8Array): Promise<void> {
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Creates an empty file; does nothing if it exists. */
export async function touch(name: string): Promise<void> {
  await (await open(name, "a")).close();
}

/** True if `from` was renamed; false if it is gone. */
export async function renameIfThere(from: string, to: string): Promise<boolean> {
  return (await unless("ENOENT", rename(from, to).then(yes))) ?? false;
}

export type Linked = "linked" | "exists" | "gone";

/** A second name for the same file, never over another. */
export async function linkNew(from: string, to: string): Promise<Linked> {
  const linked = link(from, to).then((): Linked => "linked");
  return (
    (await unless(
      "ENOENT",
      unless("EEXIST", linked).then((made) => made ?? "exists"),
    )) ?? "gone"
  );
}

export async function removeIfThere(name: string): Promise<void> {
  await unless("ENOENT", unlink(name));
}

/** Makes the names in a folder as durable as the files. Windows cannot sync a folder, and keeps names in its journal. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `undefined` if it failed with that very code. */
export async function unless<T>(code: string, promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined;
    throw error;
  }
}

const yes = (): true => true;
