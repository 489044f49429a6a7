// @ts-check
// What takes long to fetch or to compile and never changes, such as another Node: kept in ~/.cache/conclave, so that it outlives `npm ci`.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/** Where it is kept. @returns {string} */
export function cacheFolder() {
  return path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "conclave");
}

/**
 * The folder of that name; if there is none yet, `fill` makes what belongs into it. Made aside and renamed, so that what is there is complete.
 * @param {string} name says everything on which the content depends
 * @param {(folder: string) => Promise<void>} fill throws if it cannot
 * @returns {Promise<string>}
 */
export async function cached(name, fill) {
  const place = path.join(cacheFolder(), name);
  if (existsSync(place)) return place;
  mkdirSync(path.dirname(place), { recursive: true });
  const aside = mkdtempSync(path.join(cacheFolder(), "making-"));
  try {
    await fill(aside);
    renameSync(aside, place);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(place)) throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return place;
}
