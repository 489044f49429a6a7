// @ts-check
// A disk that can stall: a file system in a file, mounted over a loop device. While it is frozen every write to it waits, as on a disk that has stopped
// answering; nothing fails. Needs root and e2fsprogs.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { doUntil, runCommand } from "./process.mjs";

/**
 * @typedef {object} Disk
 * @property {string} folder
 * @property {() => () => void} stall returns how to let it go on
 * @property {() => void} remove
 */

/** @param {string} base a folder for the file and the mount @param {string} name @returns {Disk} */
export function openDisk(base, name) {
  const folder = path.join(base, name);
  const file = path.join(base, `${name}.img`);
  mkdirSync(folder, { recursive: true });
  runCommand(["truncate", "-s", "300M", file]);
  runCommand(["mkfs.ext4", "-q", "-F", file]);
  const unmount = doUntil(["mount", "-o", "loop", file, folder], ["umount", "-l", folder]);
  return {
    folder,
    stall: () => doUntil(["fsfreeze", "-f", folder], ["fsfreeze", "-u", folder]),
    remove: unmount,
  };
}
