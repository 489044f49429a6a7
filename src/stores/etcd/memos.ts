// Memos in etcd: one key each, without a lease, under a root of their own. They are never below an election's NAME/: `etcdctl elect` and Go's candidates take every key there
// for a candidate, and a key without a lease would make them wait for ever.
//
//   PREFIX.conclave/memo/NAME/KEY     the memo, as JSON; NAME and KEY with % escapes, so that neither has a further /
//   PREFIX.conclave/memo-keys/NAME    written with each new key: its version is their number
//
// No election may have a name with `.conclave` as one of its parts (entry.ts), so no line has these keys in it.
//
// ARGUMENT: one transaction, at its place in etcd's order of all writes, compares the create revision of the term's own entry, which is its token. If the entry is gone, because it was
// given back or deleted, or because its lease expired, the transaction writes nothing. An entry that is made anew has another revision. An entry that was granted is the first, and
// stays the first while it is there. The mod revision of the memo tells it from every other write of that key, because revisions of the store only grow.
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { type Compare, type KeyValue, type Operation, rangeEndOf } from "../../clients/etcd/messages.ts";
import type { Refused } from "../../base/outcome.ts";
import {
  asBid,
  asVersion,
  type StoredMemo,
  type MemosRead,
  type MemoWrite,
  type MemoWritten,
  type Name,
} from "../contract.ts";
import { MEMOS, tooLarge, tooMany } from "../memos.ts";
import { ownNode, unbannedNode } from "../../lease/ban-rule.ts";
import { banEffect, banStands, noBan, readBan, readTarget, sessionsOfKeys } from "./bans.ts";
import { keyOf, ROOT } from "./entry.ts";
import { endLease } from "./keep.ts";

export function memoRoot(prefix: string, name: Name): string {
  return `${prefix}${ROOT}/memo/${encodeURIComponent(name)}/`;
}

export function memoKey(prefix: string, name: Name, key: string): Buffer {
  return Buffer.from(memoRoot(prefix, name) + encodeURIComponent(key));
}

export function countKey(prefix: string, name: Name): string {
  return `${prefix}${ROOT}/memo-keys/${encodeURIComponent(name)}`;
}

export async function writeMemo(
  link: EtcdLink,
  prefix: string,
  write: MemoWrite,
  signal: StopSignal,
): Promise<MemoWritten> {
  const { session, hold, over, ban } = write;
  const { name, token } = hold;
  if (token === undefined) return { kind: "seat-lost" };
  const refused = ownNode("etcd", session, ban) ?? tooLarge("etcd", write, MEMOS);
  if (refused !== undefined) return refused;
  const key = memoKey(prefix, name, write.key);
  const count = Buffer.from(countKey(prefix, name));
  const entry = keyOf(prefix, name, session.id);
  const stands: Compare = over === undefined ? { key, createRevision: 0n } : { key, modRevision: BigInt(over) };
  const isNew: readonly Compare[] = over === undefined ? [{ key: count, versionBelow: BigInt(MEMOS.keys) }] : [];
  const counted: readonly Operation[] = over === undefined ? [{ put: { key: count, value: Buffer.alloc(0) } }] : [];
  const banned = session.node === undefined ? [] : [readBan(prefix, session.node)];
  const target = readTarget(prefix, name, ban);
  const seat = { key: entry, createRevision: token.value };
  const effect = banEffect(prefix, name, ban);
  const { header, succeeded, responses } = await link.txn(
    {
      compare: [seat, stands, ...isNew, ...noBan(prefix, session), ...banStands(prefix, name, ban)],
      success: [...target, { put: { key, value: valueOf(write) } }, ...counted, ...effect],
      failure: [...target, { range: { key: entry, keysOnly: true } }, { range: { key } }, ...banned],
    },
    signal,
  );
  const [isStanding, sessions] = target.map((_, index) => responses[index]?.kvs ?? []);
  const [shown, memo, ownBan] = responses.slice(target.length).map(({ kvs }) => kvs);
  const end = async (written: MemoWritten): Promise<MemoWritten> => {
    // In a first try, the transaction may have been answered but not the revocations. So each try ends all leases that it finds.
    try {
      for (const id of sessionsOfKeys(sessions ?? [])) await endLease(link, { id }, signal);
    } catch (error) {
      // The memo is written by now, so an error about a revocation must not count as an error about the memo. The outcome is unknown, and the write is sent again.
      throw new Error("the memo is written, and not every lease is revoked", { cause: error });
    }
    return written;
  };
  if (succeeded) return await end({ kind: "written", version: asVersion(`${header.revision}`) });
  if (shown?.[0]?.createRevision !== token.value) return { kind: "seat-lost" };
  if ((ownBan?.length ?? 0) > 0) return { kind: "session-lost" };
  if (isStanding?.length === 0) return unbannedNode("etcd", ban?.node ?? "");
  const answer = notWritten(write, memo?.[0]);
  return answer.kind === "written" ? await end(answer) : answer;
}

/** The seat belongs to this term. So another memo stands there, or this very write, or the name has no room. */
function notWritten({ hold, key, value, n, over }: MemoWrite, stands: KeyValue | undefined): MemoWritten {
  if (stands === undefined)
    return over === undefined ? tooMany("etcd", hold.name, MEMOS) : { kind: "conflict", memo: undefined };
  const memo = memoOf(key, stands);
  if ("kind" in memo) return memo;
  const isSame = memo.token.bid === hold.bid && memo.token.value === hold.token?.value && memo.n === n;
  return isSame && memo.value === value ? { kind: "written", version: memo.version } : { kind: "conflict", memo };
}

export async function readMemos(
  link: EtcdLink,
  prefix: string,
  name: Name,
  key: string | undefined,
  signal: StopSignal,
): Promise<MemosRead> {
  const root = Buffer.from(memoRoot(prefix, name));
  const range = key === undefined ? { key: root, rangeEnd: rangeEndOf(root) } : { key: memoKey(prefix, name, key) };
  const { kvs } = await link.range(range, signal);
  const memos: StoredMemo[] = [];
  for (const kv of kvs) {
    const own = keyBelow(root, kv);
    const memo = own === undefined ? foreign(kv) : memoOf(own, kv);
    if ("kind" in memo) return memo;
    memos.push(memo);
  }
  return { kind: "memos", memos: memos.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** Undefined for a key that is not written as ours are. */
function keyBelow(root: Buffer, { key }: KeyValue): string | undefined {
  try {
    return decodeURIComponent(key.subarray(root.length).toString("utf8"));
  } catch {
    return undefined;
  }
}

function valueOf({ hold, value, n }: MemoWrite): Buffer {
  const { domain, value: token, bid } = hold.token ?? { domain: "", value: 0n, bid: hold.bid };
  return Buffer.from(JSON.stringify({ domain, token: `${token}`, bid, n, value }));
}

function memoOf(key: string, kv: KeyValue): StoredMemo | Refused {
  try {
    const { domain, token, bid, n, value } = JSON.parse(kv.value.toString("utf8")) as { [field: string]: unknown };
    if (typeof domain !== "string" || typeof token !== "string" || typeof bid !== "string") return foreign(kv);
    if (typeof value !== "string" || typeof n !== "number") return foreign(kv);
    const of = { domain, value: BigInt(token), bid: asBid(bid) };
    return { key, value, token: of, n, version: asVersion(`${kv.modRevision}`) };
  } catch {
    return foreign(kv);
  }
}

function foreign({ key }: KeyValue): Refused {
  const message = `etcd: ${key.toString("utf8")} is no memo: somebody else has written to it. Nothing was overwritten. Find out who writes there, or delete that key.`;
  return { kind: "refused", code: "STORE_FOREIGN_DATA", message, retryable: false };
}
