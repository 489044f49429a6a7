// An entry in the line: one key for each candidate and name, laid out as in Go's `concurrency.Election` and `Mutex`, so that `etcdctl elect`, `etcdctl lock`
// and every Go program stand in the same line. The key is NAME/ and the lease in hexadecimal, and it is bound to the lease. Its create revision is its place and its token.
// Only the value is ours: JSON with the candidate, the bid, the ttl and the value that the leader announces. An entry with any other value belongs to another program.
//
// A key with a further / in it belongs to an election of a longer name ("a" and "a/b" share a prefix), and is not in this line. A key right below NAME/
// that is bound to no lease never goes away by itself: it is somebody's data, not an entry.
import { ConclaveError } from "../../base/errors.ts";
import { Refusal } from "../../base/refusal.ts";
import { show } from "../../base/show.ts";
import { flawOf } from "../../base/text.ts";
import type { KeyValue } from "../../clients/etcd/messages.ts";
import { rangeEndOf } from "../../clients/etcd/messages.ts";
import { sha256 } from "../../clients/sha256.ts";
import { asBid, asVersion, type Bid, type Hold, type Holder, type Name, type Version } from "../contract.ts";

export interface Line {
  readonly name: Name;
  /** NAME/, after the store's prefix. */
  readonly start: Buffer;
  readonly end: Buffer;
}

export function lineOf(prefix: string, name: Name): Line {
  const start = Buffer.from(startOf(prefix, name));
  return { name, start, end: rangeEndOf(start) };
}

export function keyOf(prefix: string, name: Name, session: string): Buffer {
  return Buffer.from(keyTextOf(prefix, name, session));
}

export function keyTextOf(prefix: string, name: Name, session: string): string {
  return `${startOf(prefix, name)}${session}`;
}

/** Everything that is kept beside the lines lies below this: no name may have it as a part. */
export const ROOT = ".conclave";

function startOf(prefix: string, name: Name): string {
  if (name.includes(ROOT) && name.split("/").includes(ROOT)) throw reservedName(name);
  const flaw = flawOf(name);
  if (flaw !== undefined) throw new ConclaveError("CONFIG_INVALID", `etcd: ${show(name)} cannot be kept: ${flaw}`);
  return `${prefix}${name}/`;
}

function reservedName(name: Name): Refusal {
  const message = `etcd: ${show(name)} is no name for an election here: "${ROOT}" is kept for conclave itself. Use another name.`;
  return new Refusal("STORE_UNSUPPORTED", message);
}

/** The same nonce gives the same lease. The id has 63 bits, because etcd's are positive. */
export function leaseOfNonce(nonce: string): bigint {
  const id = sha256(nonce).digest().readBigUInt64BE() & 0x7fff_ffff_ffff_ffffn;
  return id === 0n ? 1n : id;
}

/** Writes the id as Go does: lower case, no leading zeros. */
export function sessionOfLease(lease: bigint): string {
  return lease.toString(16);
}

export function leaseOfSession(session: string): bigint {
  return /^[0-9a-f]{1,16}$/.test(session) ? BigInt(`0x${session}`) : 0n;
}

export type Kind = "entry" | "other election" | "data";

export function kindOf(line: Line, { key, lease }: KeyValue): Kind {
  if (key.subarray(line.start.length).includes("/")) return "other election";
  return lease === 0n ? "data" : "entry";
}

/** The name of the election to which a key of any line belongs, or undefined if the key does not have the form of an entry. */
export function nameOfKey(prefix: string, key: Buffer): Name | undefined {
  const text = key.toString("utf8");
  const slash = text.lastIndexOf("/");
  return text.startsWith(prefix) && slash > prefix.length ? text.slice(prefix.length, slash) : undefined;
}

interface Record {
  readonly candidate: string;
  readonly bid: Bid;
  readonly ttlMs: number;
  readonly value: string;
}

export function writeRecord({ candidate, bid, ttlMs, value }: Record): Buffer {
  return Buffer.from(JSON.stringify({ id: candidate, bid, ttlMs, value }));
}

/** Returns undefined if the record is not one of ours. */
export function readRecord(value: Buffer): Record | undefined {
  if (value[0] !== 0x7b) return undefined;
  try {
    const { id, bid, ttlMs, value: announced } = JSON.parse(value.toString("utf8")) as { [key: string]: unknown };
    if (typeof id !== "string" || typeof bid !== "string" || typeof ttlMs !== "number" || typeof announced !== "string")
      return undefined;
    return { candidate: id, bid: asBid(bid), ttlMs, value: announced };
  } catch {
    return undefined;
  }
}

/** The holder is the first in the queue. A Go candidate is known by what it wrote. A candidate of `etcdctl lock`, which writes nothing, is known by its lease. */
export function holderOf(line: Line, entry: KeyValue, domain: string): Holder {
  const record = readRecord(entry.value);
  const token = entry.createRevision;
  if (record !== undefined) return { candidate: record.candidate, bid: record.bid, token, domain, value: record.value };
  const text = entry.value.toString("utf8");
  const candidate = text === "" ? entry.key.subarray(line.start.length).toString("utf8") : text;
  return { candidate, token, domain, value: text };
}

export function holdOf(name: Name, bid: Bid, entryRevision: bigint, domain: string): Hold {
  return { name, bid, token: { domain, value: entryRevision, bid } };
}

/** Revisions of the whole store only grow, so no two entries and no two absences have the same version. */
export function versionOf(first: KeyValue | undefined, revision: bigint): Version {
  return asVersion(first === undefined ? `gone@${revision}` : `${first.createRevision}`);
}

export function domainOf(clusterId: bigint): string {
  return clusterId.toString(16);
}
