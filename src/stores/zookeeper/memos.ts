// Memos in ZooKeeper: one node each, under a root of their own. They are never below an election's node, because Curator takes every child for a candidate.
//
//   CHROOT/.conclave/memo/NAME/KEY     the memo, as JSON
//
// ARGUMENT: one multi checks that the term's own entry is there, and writes over the version that was read. In a line the path of the entry has the parent's counter in it, and
// this process made it at the write that is the token; in a race the check of the epoch says that nothing was granted since. If the entry is gone, because it was given back or
// deleted, or because its session expired, nothing is written. An entry that was granted is the first, and stays the first while it is there. A session that speaks for a node writes with
// its pass, and the effect of a ban is a part of the same multi (bans.ts).
import type { Refused } from "../../base/outcome.ts";
import { CODE, errorOfCode } from "../../clients/zookeeper/errors.ts";
import { ownNode, unbannedNode } from "../../lease/ban-rule.ts";
import { type NodeData, type Part, PERSISTENT, type Stat } from "../../clients/zookeeper/messages.ts";
import {
  asBid,
  asVersion,
  type StoredMemo,
  type MemosRead,
  type MemoWrite,
  type MemoWritten,
  type Name,
  type Session,
  type Version,
} from "../contract.ts";
import { MEMOS, tooLarge, tooMany } from "../memos.ts";
import { inTurns } from "../few-at-once.ts";
import { CHANGED, failureIn, granting, readTarget, type Target } from "./bans.ts";
import { confirmMajority, ensureNodes } from "./domain.ts";
import { decodeName, encodeName, ROOT } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import type { HeldSession } from "./sessions.ts";

export function memoRoot(chroot: string, name: Name): string {
  return `${chroot}/${ROOT}/memo/${encodeName(name)}`;
}

export function memoPath(chroot: string, name: Name, key: string): string {
  return `${memoRoot(chroot, name)}/${encodeName(key)}`;
}

/** Another ban of the same node may be written at the same time. */
const TRIES = 10;

/** Ends a session that another process has opened. */
export type EndSession = (session: Pick<Session, "id" | "secret" | "ttlMs">) => Promise<void>;

export async function writeMemo(
  link: ZooKeeperLink,
  held: HeldSession,
  chroot: string,
  write: MemoWrite,
  endSession: EndSession,
): Promise<MemoWritten> {
  const { session, hold, over, ban } = write;
  const own = held.entry(hold.name);
  if (hold.token === undefined || own?.bid !== hold.bid || own.czxid !== hold.token.value) return { kind: "seat-lost" };
  const refused = ownNode("zookeeper", session, ban) ?? tooLarge("zookeeper", write, MEMOS);
  if (refused !== undefined) return refused;
  const path = memoPath(chroot, hold.name, write.key);
  if (over === undefined && (await makeRoom(link, memoRoot(chroot, hold.name))) >= MEMOS.keys) {
    if ((await link.data(path)) === undefined) return tooMany("zookeeper", hold.name, MEMOS);
  }
  for (let tried = 0; tried < TRIES; tried++) {
    const target = ban && (await readTarget(link, chroot, hold.name, ban));
    if (ban?.endsSessions === true && target?.isBanned !== true) return unbannedNode("zookeeper", ban.node);
    const written = await writeOnce(link, held, write, path, own.checks, target);
    if (written === undefined) continue;
    if (written.kind === "written" && target !== undefined) await endAll(target, endSession);
    return written;
  }
  throw new Error("the bans of the node change faster than one can be written");
}

/** Undefined means that nothing was written, because the gate of the node that is banned has changed since it was read. */
async function writeOnce(
  link: ZooKeeperLink,
  held: HeldSession,
  write: MemoWrite,
  path: string,
  seat: readonly Part[],
  target: Target | undefined,
): Promise<MemoWritten | undefined> {
  const effect = target === undefined ? [] : [target.effect];
  const { answers, zxid } = await granting(link, held, path, [...seat, partOf(write, path, link), ...effect]);
  const memo = answers[seat.length];
  const refused = failureIn(answers);
  if (refused === undefined) return { kind: "written", version: versionOf(memo?.stat ?? { czxid: zxid, version: 0 }) };
  if (!CHANGED.has(refused.code)) throw errorOfCode(refused.code, path);
  if (refused.index < seat.length) return { kind: "seat-lost" };
  if (refused.index > seat.length) return undefined;
  const stands = await link.data(path);
  const answer = notWritten(write, path, stands);
  if (answer.kind !== "written" || stands === undefined || target === undefined || target.speakers.length === 0)
    return answer;
  // A first try of this write was applied, and may have ended no sessions. So the sessions to end are decided anew, in one step as before.
  const again = await granting(link, held, path, [...seat, { check: path, version: stands.stat.version }, ...effect]);
  return again.answers.every(({ code }) => code === CODE.ok) ? answer : undefined;
}

/** The memo is written by now. An error here leaves the outcome unknown, so the write is sent again and ends the sessions that are left. */
async function endAll({ speakers }: Target, endSession: EndSession): Promise<void> {
  try {
    await inTurns(speakers, endSession);
  } catch (error) {
    throw new Error("the memo is written, and not every session is ended", { cause: error });
  }
}

function partOf(write: MemoWrite, path: string, { acl }: ZooKeeperLink): Part {
  const data = valueOf(write);
  if (write.over === undefined) return { create: path, data, acl, flags: PERSISTENT };
  return { setData: path, data, version: Number(write.over.split(".")[1]) };
}

/** Makes the root of the memos if need be, and returns how many memos the name has. */
async function makeRoom(link: ZooKeeperLink, root: string): Promise<number> {
  const stat = await link.exists(root);
  if (stat !== undefined) return stat.numChildren;
  await ensureNodes(link, root);
  return 0;
}

/** The version is the write that made the node, and how often it was written since. A node that was deleted and made anew has another first part. */
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

export async function readMemos(
  link: ZooKeeperLink,
  chroot: string,
  name: Name,
  key: string | undefined,
): Promise<MemosRead> {
  await confirmMajority(link, chroot);
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

async function keysBelow(link: ZooKeeperLink, root: string): Promise<readonly string[]> {
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
