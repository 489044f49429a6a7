// The session at etcd is a lease. It is opened by its nonce, kept alive, and confirmed.
//
// LAW 6, proof: only an answered renewal that proves something extends a term. LeaseKeepAlive is answered from the memory of the member that believes that it leads etcd; older versions do not check whether that is
//   still so. So a keep here is two requests through one member: the renewal, then a linearizable read. It counts only if both carry the same member and raft term.
//   Argument: the member was in term T from before the renewal (etcd fills that header first) until after the read, so the renewal went to the leader of T. The read
//   was confirmed by a majority in term T, after the renewal: any leader of a later term was elected after that, and gives every lease its full ttl again.
//   So the judge, whichever member it is, counts from an instant no earlier than the send.
// The read costs nothing extra: it is the look at all holds that a keep needs anyway. LeaseTimeToLive beside it shows what else the lease carries, where that is wanted.
// A session without any holds is kept by LeaseKeepAlive alone, as in Go's client. That proves nothing, and the answer says so. Its witness is the member and
// the raft term that answered it: a later read through the same member and in the same term confirms it as the read of a keep does. The argument above does not depend
// on how much time lies between the two.
import { EtcdError, isLeaseNotFound, isPermissionDenied } from "../../clients/etcd/errors.ts";
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { Header, KeyValue, Operation } from "../../clients/etcd/messages.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { Hold, KeepWish, Kept, Session, SessionSpec } from "../contract.ts";
import { Banned } from "../banned.ts";
import { isNodeKey, noBan, recordNode, throwIfBanned } from "./bans.ts";
import { keyOf, keyTextOf, leaseOfNonce, leaseOfSession, nameOfKey, readRecord, sessionOfLease } from "./entry.ts";
import { inTurns, piecesOf } from "../few-at-once.ts";

/** etcd takes at most this many comparisons or operations in a transaction, unless another limit was set. */
export const READS_PER_TXN = 128;

/** `wasGranted`: this nonce was answered before, so its lease is over if it is not there. */
export async function openLease(
  link: EtcdLink,
  prefix: string,
  spec: SessionSpec,
  wasGranted: boolean,
  signal: StopSignal,
): Promise<Kept> {
  const lease = leaseOfNonce(spec.nonce);
  const seconds = wasGranted
    ? await grantedSeconds(link, lease, signal)
    : await grantOrFind(link, lease, Math.ceil(spec.ttlMs / 1000), signal);
  if (seconds === undefined) return { kind: "session-lost" };
  const refused = spec.node && (await recordNode(link, prefix, spec.node, lease, signal));
  if (refused !== undefined) return refused;
  const session = { id: sessionOfLease(lease), candidate: spec.candidate, ttlMs: seconds * 1000 };
  return { kind: "kept", session, lost: [], unsure: [], strays: [] };
}

async function grantOrFind(
  link: EtcdLink,
  lease: bigint,
  ttlSeconds: number,
  signal: StopSignal,
): Promise<number | undefined> {
  try {
    return (await link.grantLease(lease, ttlSeconds, signal)).ttlSeconds;
  } catch (error) {
    // An earlier try of this opening was applied.
    if (error instanceof EtcdError && error.problem === "lease-exists")
      return await grantedSeconds(link, lease, signal);
    throw error;
  }
}

async function grantedSeconds(link: EtcdLink, lease: bigint, signal: StopSignal): Promise<number | undefined> {
  const found = await link.timeToLive(lease, false, signal);
  return found.ttlSeconds < 0 || found.grantedSeconds <= 0 ? undefined : found.grantedSeconds;
}

export async function keepLease(
  link: EtcdLink,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  wish: KeepWish,
  signal: StopSignal,
): Promise<Kept> {
  const lease = leaseOfSession(session.id);
  const { id, candidate, ttlMs } = session;
  const renewed = await link.keepAlive(lease, signal);
  if (renewed.ttlSeconds <= 0) return { kind: "session-lost" };
  const kept = { kind: "kept", session: { id, candidate, ttlMs }, lost: [], unsure: [], strays: [] } as const;
  const unproven = { proves: false, witness: witnessOf(renewed.header) } as const;
  if (wish.proof === false && wish.strays === false) return { ...kept, ...unproven };
  const [lost, strays] = await Promise.all([
    wish.proof === false ? [] : orBanned(readConfirmed(link, prefix, session, holds, renewed.header, signal)),
    wish.strays === false ? [] : findStrays(link, prefix, session, holds, signal),
  ]);
  if (strays === "session-lost" || lost === "session-lost") return { kind: "session-lost" };
  return wish.proof === false ? { ...kept, strays, ...unproven } : { ...kept, lost, strays };
}

/** The read that confirms a renewal also shows a ban. The lease was renewed all the same, and expires by itself. */
async function orBanned(lost: Promise<readonly Hold[]>): Promise<readonly Hold[] | "session-lost"> {
  try {
    return await lost;
  } catch (error) {
    if (error instanceof Banned) return "session-lost";
    throw error;
  }
}

/** The witness of a renewal, or of the linearizable read that confirms it. The two are equal if one member answered both in one raft term of one cluster. */
export function witnessOf({ clusterId, memberId, raftTerm }: Header): string {
  return `${clusterId.toString(16)}/${memberId.toString(16)}/${raftTerm}`;
}

/** Finds what else the lease carries. This also shows that the lease is there: before 3.4.38 and 3.5.23, etcd may answer that a lease is renewed although it is gone. */
async function findStrays(
  link: EtcdLink,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  signal: StopSignal,
): Promise<readonly Hold[] | "session-lost"> {
  const carried = await link.timeToLive(leaseOfSession(session.id), true, signal);
  if (carried.ttlSeconds < 0) return "session-lost";
  const known = new Set(holds.map(({ name }) => keyOf(prefix, name, session.id).toString("latin1")));
  const unknown = carried.keys.filter((key) => !known.has(key.toString("latin1")) && !isNodeKey(prefix, key));
  return unknown.length === 0 ? [] : await readStrays(link, prefix, unknown, signal);
}

/** Returns the holds that are gone, as they were read after the renewal whose header is given. Throws if the read does not confirm that renewal. */
async function readConfirmed(
  link: EtcdLink,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  renewal: Header,
  signal: StopSignal,
): Promise<readonly Hold[]> {
  const read =
    holds.length === 0
      ? [{ header: await readNothing(link, prefix, session, signal), lost: [] }]
      : await inTurns(piecesOf(holds, READS_PER_TXN), (some) => findLost(link, prefix, session, some, signal));
  // All reads are of one member, whose term only grows. So all were read in the renewal's term if none was read in a later one.
  if (read.some(({ header }) => header.memberId !== renewal.memberId || header.raftTerm !== renewal.raftTerm))
    throw new EtcdError(
      "other",
      "unknown",
      "etcd changed its leader between the renewal and the read that confirms it",
    );
  return read.flatMap(({ lost }) => lost);
}

interface Found {
  readonly header: Header;
  readonly lost: readonly Hold[];
}

/**
 * The token is the create revision, so one transaction that compares them all says whether any is gone, and returns no keys. They are read only if one is gone. The transaction must
 * contain a read all the same: etcd answers a transaction without any read from the member's own memory, without asking the others, and that confirms nothing.
 */
async function findLost(
  link: EtcdLink,
  prefix: string,
  session: Session,
  holds: readonly Hold[],
  signal: StopSignal,
): Promise<Found> {
  const keys = holds.map((hold) => keyTextOf(prefix, hold.name, session.id));
  const compare = holds.flatMap(({ token }, index) =>
    token === undefined ? [] : [{ key: keys[index] ?? prefixKey(prefix), createRevision: token.value }],
  );
  if (compare.length === holds.length) {
    const reads: Operation[] = [{ range: { key: keys[0] ?? prefixKey(prefix), keysOnly: true } }];
    const all = [...compare, ...noBan(prefix, session)];
    const { header, succeeded } = await link.txn({ compare: all, success: reads, failure: reads }, signal);
    if (succeeded) return { header, lost: [] };
  }
  await throwIfBanned(link, prefix, session, signal);
  const { header, entries } = await readKeys(link, keys, signal);
  return { header, lost: holds.filter((hold, index) => !isSame(entries[index], hold)) };
}

/** The bid alone is not enough: a claim that is applied twice, the second time after a deletion, makes another entry with another token. */
function isSame(entry: KeyValue | undefined, hold: Hold): boolean {
  if (entry === undefined) return false;
  return hold.token === undefined
    ? readRecord(entry.value)?.bid === hold.bid
    : entry.createRevision === hold.token.value;
}

/** Reads keys, at most as many as one transaction can read. */
async function readKeys(
  link: EtcdLink,
  keys: readonly (Buffer | string)[],
  signal: StopSignal,
): Promise<{ readonly header: Header; readonly entries: readonly (KeyValue | undefined)[] }> {
  const success = keys.map((key): Operation => ({ range: { key } }));
  const { header, responses } = await link.txn({ compare: [], success, failure: [] }, signal);
  return { header, entries: responses.map(({ kvs }) => kvs[0]) };
}

/** A key that belongs to nobody. */
function prefixKey(prefix: string): Buffer {
  return Buffer.from(`${prefix}conclave`);
}

/** A session without holds is confirmed by a read of nothing. Rights are checked after the read was confirmed, so a refusal confirms it too. */
async function readNothing(link: EtcdLink, prefix: string, session: Session, signal: StopSignal): Promise<Header> {
  try {
    await throwIfBanned(link, prefix, session, signal);
    return (await link.range({ key: prefixKey(prefix), limit: 1, keysOnly: true }, signal)).header;
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    return (await link.timeToLive(0n, false, signal)).header;
  }
}

/** Reads the keys of this lease that were not sent along, as far as they are entries of ours. */
async function readStrays(
  link: EtcdLink,
  prefix: string,
  keys: readonly Buffer[],
  signal: StopSignal,
): Promise<readonly Hold[]> {
  const read = await inTurns(piecesOf(keys, READS_PER_TXN), (some) => readKeys(link, some, signal));
  return read
    .flatMap(({ entries }) => entries)
    .flatMap((entry) => {
      const record = entry && readRecord(entry.value);
      const name = entry && nameOfKey(prefix, entry.key);
      return record === undefined || name === undefined ? [] : [{ name, bid: record.bid }];
    });
}

/** Ends the lease and everything bound to it. A lease that is already gone counts as ended. */
export async function endLease(link: EtcdLink, session: Pick<Session, "id">, signal: StopSignal): Promise<void> {
  try {
    await link.revokeLease(leaseOfSession(session.id), signal);
  } catch (error) {
    if (!isLeaseNotFound(error)) throw error;
  }
}
