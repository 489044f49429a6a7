// Whether a path still leads to the database that is open (file-system.ts says why that is asked at every call).
//
// The file and its -shm are asked for their device and inode. The log, -wal, is asked in another way where the kernel has one: since Linux 6.13 a stat of a
// file makes the next write give it a new time, and then a sync has to write the inode too. A commit that is waited for took 40 % longer for that.
// So a descriptor of the log is kept open here, and the kernel is asked under which name it knows what is behind it (/proc/self/fd). That text is another one
// as soon as the name was removed, moved, or given to another file, by any process and from any container: the kernel keeps names of a local
// disk in one place, and no other disk is allowed. Where the text has changed, or there is none, device and inode decide.
//
// The descriptor is of the log alone. To close one of the file or of -shm would drop SQLite's locks on them; on the log SQLite has none.
import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { idOf } from "./file-system.ts";

export interface Identity {
  isSame(): boolean;
  /** Gives the descriptor back. */
  close(): void;
}

/** Of the database at `file`, as it is found by its names now. It is open already. */
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
    // The descriptor is ours until `close`, so its number cannot have come to mean another file.
    isSame: () => (known !== undefined && nameOf(descriptor) === known) || byId(),
    close: () => closeSync(descriptor),
  };
}

/** Open for reading; undefined if it is not the file of this id any more, or may not be opened. */
function descriptorOf(file: string, id: string): number | undefined {
  try {
    const descriptor = openSync(file, "r");
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    if (`${dev}:${ino}` === id) return descriptor;
    closeSync(descriptor);
  } catch {
    // Then its id alone tells.
  }
  return undefined;
}

/** Where the kernel says that it is now; undefined where it says nothing. */
function nameOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}
