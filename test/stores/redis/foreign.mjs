// @ts-check
// Locks of published packages of Redlock, to stand in one election with ours: `openForeign(kind, urls)`. Started as a program, it is a holder in a process of its own, which a test can kill:
// it takes the lock, trying every 50 ms, says "held", extends it all the time, and gives it back when it is told "release".
//   arguments: KIND URL,URL,… NAME TTL_MS
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Redlock } from "@sesamecare-oss/redlock";
import { Redis } from "ioredis";
// @ts-expect-error It has no types.
import Redlock4 from "redlock";

/** @typedef {{ extend(ttlMs: number): Promise<ForeignLock>, release(): Promise<unknown> }} ForeignLock */
/** @typedef {{ acquire(name: string, ttlMs: number): Promise<ForeignLock>, close(): void }} ForeignLocks acquire: tries once, and rejects if another has it */

export const KINDS = /** @type {const} */ (["redlock", "@sesamecare-oss/redlock"]);

/** @param {string} kind @param {readonly string[]} urls @returns {ForeignLocks} */
export function openForeign(kind, urls) {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on("error", () => {});
  const close = () => clients.forEach((client) => client.disconnect());
  if (kind === "redlock") {
    const locks = new Redlock4(clients, { retryCount: 0 });
    locks.on("clientError", () => {});
    return { acquire: async (name, ttlMs) => ofFour(await locks.lock(name, ttlMs)), close };
  }
  const locks = new Redlock(clients, { retryCount: 0 });
  return { acquire: (name, ttlMs) => locks.acquire([name], ttlMs), close };
}

/** @param {any} lock @returns {ForeignLock} */
function ofFour(lock) {
  return { extend: async (ttlMs) => ofFour(await lock.extend(ttlMs)), release: () => lock.unlock() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await holdOne(process.argv.slice(2));

/** @param {readonly string[]} args */
async function holdOne([kind = "", urls = "", name = "", ttl = ""]) {
  const [locks, ttlMs] = [openForeign(kind, urls.split(",")), Number(ttl)];
  /** @type {ForeignLock | undefined} */
  let lock;
  let isReleasing = false;
  createInterface({ input: process.stdin })
    .on("close", () => process.exit(0)) // the test is gone
    .on("line", () => (isReleasing = true));
  for (;;) {
    const wasHeld = lock !== undefined;
    if (isReleasing) {
      await lock?.release();
      process.exit(0);
    }
    // An extension that fails is a lock that is lost: this holder does not try again.
    lock = wasHeld ? await lock?.extend(ttlMs) : await locks.acquire(name, ttlMs).catch(() => undefined);
    if (!wasHeld && lock !== undefined) process.stdout.write("held\n");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
