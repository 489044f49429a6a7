// The content of an entry's node: JSON with the candidate, the bid, the ttl and the value that the leader announces. Curator and kazoo show it as the participant's id. Any
// other content belongs to another program.
import type { NodeData } from "../../clients/zookeeper/messages.ts";
import {
  asBid,
  asVersion,
  type Bid,
  type Claim,
  type Hold,
  type Holder,
  type Name,
  type Version,
} from "../contract.ts";

export interface Record {
  readonly candidate: string;
  readonly bid: Bid;
  readonly ttlMs: number;
  readonly value: string;
  /** The node that its session speaks for. If undefined, the session obeys no ban (bans.ts). */
  readonly node?: string | undefined;
}

export function recordOf({ session, bid, value }: Claim): Buffer {
  const { candidate: id, ttlMs, node } = session;
  return Buffer.from(JSON.stringify({ id, bid, ttlMs, value, node }));
}

/** Returns undefined if the record is not one of ours. */
export function readRecord(data: Buffer): Record | undefined {
  if (data[0] !== 0x7b) return undefined;
  try {
    const { id, bid, ttlMs, value, node } = JSON.parse(data.toString("utf8")) as { [key: string]: unknown };
    if (typeof id !== "string" || typeof bid !== "string" || typeof ttlMs !== "number" || typeof value !== "string")
      return undefined;
    return { candidate: id, bid: asBid(bid), ttlMs, value, node: typeof node === "string" ? node : undefined };
  } catch {
    return undefined;
  }
}

/** The holder is the first in the line. A candidate of Java or Python is known by what it wrote, or by its node. */
export function holderOf(node: string, { data, stat }: NodeData, domain: string): Holder {
  const record = readRecord(data);
  const token = stat.czxid;
  if (record !== undefined) return { candidate: record.candidate, bid: record.bid, token, domain, value: record.value };
  const text = data.toString("utf8");
  return { candidate: text === "" ? node : text, token, domain, value: text };
}

export function holdOf(name: Name, bid: Bid, czxid: bigint, domain: string): Hold {
  return { name, bid, token: { domain, value: czxid, bid } };
}

/** Numbers of writes only grow, so no two entries and no two absences have the same version. */
export function versionOf(first: bigint | undefined, zxid: bigint): Version {
  return asVersion(first === undefined ? `gone@${zxid}` : `${first}`);
}

export function idOfSession(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16).padStart(16, "0");
}

/** Returns undefined if the id is not that of a ZooKeeper session. */
export function sessionOfId(id: string): bigint | undefined {
  return /^[0-9a-f]{16}$/.test(id) ? BigInt.asIntN(64, BigInt(`0x${id}`)) : undefined;
}
