// Decides where a database file may live, and whether the path still leads to it.
//
// SQLite does not notice that its file was deleted or replaced: processes that have it open go on in the old one, others use the new one, and there
//   are two leaders for ever. The same happens if only -wal or -shm is replaced. So the identity of all three (device and inode) is read at opening and
//   compared at every call (identity.ts). The inode of an open file is not given to another file, so an equal identity means the same file.
// SQLite needs file locks, and memory that is shared between all processes that open the file. Network, FUSE and 9p file systems only seem to give one or both.
//
// The database file itself is never opened here: closing any descriptor of it would drop the locks that SQLite holds on it in this process (POSIX).
import { lstatSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { Refusal } from "../../base/refusal.ts";

/** For each f_type of statfs(2), the name of the file system. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x65735546, "FUSE or virtiofs"],
  [0x01021997, "9p"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x7461636f, "OCFS2"],
  [0x01161970, "GFS2"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x786f4256, "a VirtualBox shared folder"],
  [0xbacbacbc, "a VMware shared folder"],
]);
const OVERLAY = 0x794c7630;

/** Throws a Refusal if the folder of `file` is not suitable for a database. */
export function checkPlace(file: string, typeOf: (folder: string) => number = fileSystemType): void {
  const folder = path.dirname(file);
  if (!isFolder(folder)) {
    const message = `sqlite: the folder ${folder} does not exist. Create it, or use another path; only the folder of the default path is made for you.`;
    throw new Refusal("STORE_UNREACHABLE", message);
  }
  const type = typeOf(folder);
  const kind = REFUSED.get(type);
  if (kind !== undefined) {
    const message = `sqlite: ${folder} is on ${kind}, where file locks and shared memory cannot be relied on; two could lead. Use a local disk; for several hosts use a store with a server.`;
    throw new Refusal("STORE_UNSUPPORTED", message);
  }
  if (type === OVERLAY) warnOfOverlay(folder);
  checkMount(file);
}

/** Throws if this user may not look there. */
function isFolder(folder: string): boolean {
  try {
    return statSync(folder).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") throw error;
    return false;
  }
}

/** Returns 0 on systems where the numbers mean something else. */
function fileSystemType(folder: string): number {
  return process.platform === "linux" ? statfsSync(folder).type : 0;
}

const warned = new Set<string>();

function warnOfOverlay(folder: string): void {
  if (warned.has(folder)) return;
  warned.add(folder);
  process.emitWarning(
    `sqlite: ${folder} is on an overlay file system, most likely the inside of one container: processes in other containers have another file there, and elect a leader of their own. Mount a shared folder.`,
    { type: "ConclaveWarning", code: "CONCLAVE_OVERLAY" },
  );
}

/** A mount point or a second name of the file has its own -wal and -shm beside it: two halves of one database. */
function checkMount(file: string): void {
  const links = linksOf(file);
  const how =
    links !== undefined && links > 1
      ? "has a second name (a hard link)"
      : isMountPoint(file)
        ? "is a mount point by itself"
        : undefined;
  if (how === undefined) return;
  const message = `sqlite: ${file} ${how}; a process that opens it by the other name has another -wal beside it, and two could lead. Share the folder instead of the file.`;
  throw new Refusal("STORE_UNSUPPORTED", message);
}

/** The number of links of a file; a folder always has several. */
function linksOf(file: string): number | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.nlink : undefined;
}

function isMountPoint(file: string): boolean {
  try {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return lines.some((line) => unescape(line.split(" ")[4] ?? "") === file);
  } catch {
    return false; // there is no /proc here
  }
}

/** mountinfo writes a space as \040. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** The folder beside the database for the sockets of its processes (beacon.ts). */
export function lifeFolderOf(file: string): string {
  return `${file}-life`;
}

/** Device and inode of the file; undefined if there is no such file. */
export function idOf(file: string): string | undefined {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? undefined : `${found.dev}:${found.ino}`;
  } catch {
    return undefined;
  }
}

/** True if this process has the file of this id open. Only Linux tells this; elsewhere the answer is always true. */
export function isOpenHere(id: string): boolean {
  let descriptors: string[];
  try {
    descriptors = readdirSync("/proc/self/fd");
  } catch {
    return true;
  }
  return descriptors.some((descriptor) => idOf(`/proc/self/fd/${descriptor}`) === id);
}
