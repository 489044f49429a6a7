// Decides whether a path still leads to the database that is open (file-system.ts says why that is asked at every call).
//
// For the file and its -shm, device and inode are compared. The log, -wal, is checked in another way where the kernel offers one. Since Linux 6.13, a stat of a
// file makes the next write give it a new time, and then a sync has to write the inode too. A commit that is waited for took 40 % longer because of that.
// So a descriptor of the log is kept open here, and the kernel is asked for the name of the file behind it (/proc/self/fd). That text changes
// as soon as the name was removed, moved, or given to another file, by any process and from any container: the kernel keeps the names of a local
// disk in one place, and no other disk is allowed. If the text has changed, or there is none, device and inode decide.
//
// A descriptor is kept of the log alone. Closing one of the file or of -shm would drop SQLite's locks on them; on the log SQLite has no locks.
import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { idOf } from "./file-system.ts";

export interface Identity {
  isSame(): boolean;
  /** Closes the descriptor. */
  close(): void;
}

/** Takes the identity of the database at `file`, as it is found by its names now. The database is open already. */
export function identify(file: string): Identity {
  const parts = [file, `${file}-shm`].map((part) => [part, idOf(part)] as const);
  const log = identifyLog(`${file}-wal`);
  return {
    isSame: () => parts.every(([part, id]) => idOf(part) === id) && log.isSame(),
    close: () => log.close(),
  };
}

function identifyLog(log: string): Identity {
  const id = idOf(log);
  const byId = (): boolean => idOf(log) === id;
  const descriptor = id === undefined ? undefined : descriptorOf(log, id);
  if (descriptor === undefined) return { isSame: byId, close: () => {} };
  const known = nameOf(descriptor);
  return {
    // The descriptor is ours until `close`, so its number cannot mean another file meanwhile.
    isSame: () => (known !== undefined && nameOf(descriptor) === known) || byId(),
    close: () => closeSync(descriptor),
  };
}

/** Opens the file for reading. Returns undefined if it no longer is the file of this id, or may not be opened. */
function descriptorOf(file: string, id: string): number | undefined {
  try {
    const descriptor = openSync(file, "r");
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    if (`${dev}:${ino}` === id) return descriptor;
    closeSync(descriptor);
  } catch {
    // Then only its id is compared.
  }
  return undefined;
}

/** The present path of the file, as the kernel says; undefined if the kernel says nothing. */
function nameOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}
