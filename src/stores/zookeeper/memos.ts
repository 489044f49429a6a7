// Memos in ZooKeeper: one node each, under a root of their own. Never below an election's node: Curator takes every child for a candidate.
//
//   CHROOT/.conclave/memo/NAME/KEY     the memo, as JSON
//
// ARGUMENT: one multi checks that the term's own entry is there, and writes over the version that was read. In a line the path of the entry has the parent's counter in it, and
// this process made it at the write that is the token; in a race the check of the epoch says that nobody was granted since. If the entry is gone, because it was given back,
// deleted, or its session ran out, nothing is written. An entry that was granted is the first, and stays the first while it is there.
import type { Refused } from "../../base/outcome.ts";
import { CODE } from "../../clients/zookeeper/errors.ts";
import { ANY, type NodeData, type Part, PERSISTENT, type Stat } from "../../clients/zookeeper/messages.ts";
import {
  asBid,
  asVersion,
  type StoredMemo,
  type MemosRead,
  type MemoWrite,
  type MemoWritten,
  type Name,
  type Version,
} from "../contract.ts";
import { MEMOS, tooLarge, tooMany } from "../memos.ts";
import { inTurns } from "../turns.ts";
import { domainPath, ensureNodes } from "./domain.ts";
import { decodeName, encodeName, ROOT } from "./layout.ts";
import type { Link } from "./link.ts";
import type { HeldSession } from "./sessions.ts";

export function memoRoot(chroot: string, name: Name): string {
  return `${chroot}/${ROOT}/memo/${encodeName(name)}`;
}

export function memoPath(chroot: string, name: Name, key: string): string {
  return `${memoRoot(chroot, name)}/${encodeName(key)}`;
}

export async function writeMemo(link: Link, held: HeldSession, chroot: string, write: MemoWrite): Promise<MemoWritten> {
  const { hold, over } = write;
  const own = held.entry(hold.name);
  if (hold.token === undefined || own?.bid !== hold.bid || own.czxid !== hold.token.value) return { kind: "seat-lost" };
  const large = tooLarge("zookeeper", write, MEMOS);
  if (large !== undefined) return large;
  const path = memoPath(chroot, hold.name, write.key);
  if (over === undefined && (await makeRoom(link, memoRoot(chroot, hold.name))) >= MEMOS.keys) {
    const stands = await link.data(path);
    return stands === undefined ? tooMany("zookeeper", hold.name, MEMOS) : notWritten(write, path, stands);
  }
  const { answers, zxid } = await link.multi(path, [...own.checks, partOf(write, path, link)]);
  const memo = answers.at(-1);
  if (answers.every(({ code }) => code === CODE.ok))
    return { kind: "written", version: versionOf(memo?.stat ?? { czxid: zxid, version: 0 }) };
  if (answers.slice(0, -1).some(({ code }) => code === CODE.noNode || code === CODE.badVersion))
    return { kind: "seat-lost" };
  return notWritten(write, path, await link.data(path));
}

function partOf(write: MemoWrite, path: string, { acl }: Link): Part {
  const data = valueOf(write);
  if (write.over === undefined) return { create: path, data, acl, flags: PERSISTENT };
  return { setData: path, data, version: Number(write.over.split(".")[1]) };
}

/** How many memos the name has. */
async function makeRoom(link: Link, root: string): Promise<number> {
  const stat = await link.exists(root);
  if (stat !== undefined) return stat.numChildren;
  await ensureNodes(link, root);
  return 0;
}

/** The write that made the node, and how often it was written since. A node that was deleted and made anew has another first part. */
function versionOf({ czxid, version }: Pick<Stat, "czxid" | "version">): Version {
  return asVersion(`${czxid}.${version}`);
}

function notWritten({ hold, key, value, n }: MemoWrite, path: string, stands: NodeData | undefined): MemoWritten {
  if (stands === undefined) return { kind: "conflict", memo: undefined };
  const memo = memoOf(key, path, stands);
  if ("kind" in memo) return memo;
  const isSame = memo.token.bid === hold.bid && memo.token.value === hold.token?.value && memo.n === n;
  return isSame && memo.value === value ? { kind: "written", version: memo.version } : { kind: "conflict", memo };
}

/** A write to which a majority agrees comes first: what is read after it over the same connection shows every write that was answered before. */
export async function readMemos(link: Link, chroot: string, name: Name, key: string | undefined): Promise<MemosRead> {
  await link.multi("read", [{ check: domainPath(chroot), version: ANY }]);
  const root = memoRoot(chroot, name);
  const keys = key === undefined ? await keysBelow(link, root) : [key];
  const read = await inTurns(keys, async (each) => {
    const path = memoPath(chroot, name, each);
    const found = await link.data(path);
    return found === undefined ? undefined : memoOf(each, path, found);
  });
  const memos: StoredMemo[] = [];
  for (const memo of read) {
    if (memo === undefined) continue;
    if ("kind" in memo) return memo;
    memos.push(memo);
  }
  return { kind: "memos", memos: memos.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
}

async function keysBelow(link: Link, root: string): Promise<readonly string[]> {
  const { found } = await link.children(root);
  return (found?.names ?? []).flatMap((node) => decodeName(node) ?? []);
}

function valueOf({ hold, value, n }: MemoWrite): Buffer {
  const { domain, value: token, bid } = hold.token ?? { domain: "", value: 0n, bid: hold.bid };
  return Buffer.from(JSON.stringify({ domain, token: `${token}`, bid, n, value }));
}

function memoOf(key: string, path: string, { data, stat }: NodeData): StoredMemo | Refused {
  try {
    const { domain, token, bid, n, value } = JSON.parse(data.toString("utf8")) as { [field: string]: unknown };
    if (typeof domain !== "string" || typeof token !== "string" || typeof bid !== "string") return foreign(path);
    if (typeof value !== "string" || typeof n !== "number") return foreign(path);
    return { key, value, token: { domain, value: BigInt(token), bid: asBid(bid) }, n, version: versionOf(stat) };
  } catch {
    return foreign(path);
  }
}

function foreign(path: string): Refused {
  const message = `zookeeper: ${path} is no memo: somebody else has written to it. Nothing was overwritten. Find out who writes there, or delete that node.`;
  return { kind: "refused", code: "STORE_FOREIGN_DATA", message, retryable: false };
}
