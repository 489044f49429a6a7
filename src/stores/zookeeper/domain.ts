// The domain of tokens: a random id that is made once below the chroot and never changed. The numbers of writes belong to the whole ensemble. A restored or another
// ensemble has other numbers, and there the node of the domain has another id, or is made anew.
import { Refusal } from "../../base/refusal.ts";
import { isProblem } from "../../clients/zookeeper/errors.ts";
import { ANY, PERSISTENT } from "../../clients/zookeeper/messages.ts";
import type { ZooKeeperLink } from "./link.ts";
import { ROOT } from "./layout.ts";

export function domainPath(chroot: string): string {
  return `${chroot}/${ROOT}/domain`;
}

export async function findDomain(link: ZooKeeperLink, chroot: string): Promise<string> {
  const path = domainPath(chroot);
  const found = await link.data(path);
  if (found !== undefined) return readDomain(path, found.data);
  await ensureNodes(link, `${chroot}/${ROOT}`);
  await createIfMissing(link, path, Buffer.from(crypto.randomUUID()));
  const made = await link.data(path);
  if (made === undefined) throw new Error(`${path} went away while it was made`);
  return readDomain(path, made.data);
}

const RANDOM_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * SAFETY: a guard compares tokens of one domain by their values. Those of two ensembles do not compare, and only the random id keeps them apart. A node that somebody has made by hand, or copied without
 * its content, may say the same in both: then an old token of the one would pass for a new one of the other.
 */
function readDomain(path: string, data: Buffer): string {
  const text = data.toString("utf8");
  if (RANDOM_ID.test(text)) return text;
  throw new Refusal(
    "STORE_FOREIGN_DATA",
    `zookeeper: ${path} has no id in it that this store has made (${text === "" ? "it is empty" : `it has ${data.length} bytes`}), so tokens could not be told from those of another ensemble. Nothing was written. Restore its content; or, if it never had any, delete the node: it is made again.`,
  );
}

/** A write to which a majority agrees, and which changes nothing. A read after it over the same connection shows every write that was answered before. */
export async function confirmMajority(link: ZooKeeperLink, chroot: string): Promise<void> {
  await link.multi("read", [{ check: domainPath(chroot), version: ANY }]);
}

/** Makes each part of a path, from the top. A node that exists is left as it is, and one that may not be read is taken to exist: if it does not, nothing can be made below it. */
export async function ensureNodes(link: ZooKeeperLink, path: string): Promise<void> {
  const parts = path.split("/").slice(1);
  for (let depth = 1; depth <= parts.length; depth++) {
    const above = `/${parts.slice(0, depth).join("/")}`;
    if (!(await isThere(link, above))) await createIfMissing(link, above, Buffer.alloc(0));
  }
}

/** Since 3.9 a server says whether a node exists only to those who may read it. */
async function isThere(link: ZooKeeperLink, path: string): Promise<boolean> {
  try {
    return (await link.exists(path)) !== undefined;
  } catch (error) {
    if (isProblem(error, "denied")) return true;
    throw error;
  }
}

export async function createIfMissing(
  link: ZooKeeperLink,
  path: string,
  data: Buffer,
  flags: number = PERSISTENT,
): Promise<void> {
  try {
    await link.create(path, data, flags);
  } catch (error) {
    if (!isProblem(error, "node-exists")) throw error;
  }
}
