// The layout of a race in ZooKeeper, and how it is read. It has the form of Kafka's controller: one ephemeral node that all candidates want, and a number beside it.
//
//   CHROOT/NAME/seat    ephemeral: the holder's record, bound to the holder's session
//   CHROOT/NAME/epoch   persistent: {"epoch":7,"bid":"…"}, how often the seat was taken, and by which attempt the last time
//
// INVARIANT  a seat and the epoch that counts it are written by one multi: seat.czxid = epoch.mzxid, until somebody else writes to the epoch
// INVARIANT  every grant raises the version of the epoch, so a multi that checks for the version of my grant is refused once another was granted
import { Refusal } from "../../base/refusal.ts";
import { show } from "../../base/show.ts";
import type { NodeData } from "../../clients/zookeeper/messages.ts";
import { asBid, asVersion, type Bid, type Name, type Seat, type Version } from "../contract.ts";
import { EPOCH, layoutOf, parentOf, SEAT } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import { holderOf, readRecord, type Record } from "./record.ts";

export interface Paths {
  readonly parent: string;
  readonly seat: string;
  readonly epoch: string;
}

export function pathsOf(chroot: string, name: Name): Paths {
  const parent = parentOf(chroot, name);
  return { parent, seat: `${parent}/${SEAT}`, epoch: `${parent}/${EPOCH}` };
}

interface Epoch {
  readonly count: number;
  /** The bid of the attempt that took the seat last. */
  readonly bid: Bid;
  /** The version of the node's data, as a multi compares it. */
  readonly version: number;
  readonly mzxid: bigint;
}

export interface Seen {
  /** Undefined if nobody has the seat. */
  readonly seat: { readonly record: Record; readonly node: NodeData } | undefined;
  /** Undefined if the name was never held. */
  readonly epoch: Epoch | undefined;
  /** True if the election's node is there. */
  readonly hasParent: boolean;
  readonly version: Version;
}

/** This takes one round trip. Throws a Refusal if the node is no race; nothing was written. The parts need not be of one instant: only the multi that follows decides. */
export async function see(link: ZooKeeperLink, chroot: string, name: Name): Promise<Seen> {
  const paths = pathsOf(chroot, name);
  const [, { found, zxid }, seat, epoch] = await Promise.all([
    link.sync(paths.parent),
    link.children(paths.parent),
    link.data(paths.seat),
    link.data(paths.epoch),
  ]);
  checkChildren(paths.parent, found?.names ?? []);
  const read = { seat: seat && readSeat(paths.seat, seat), epoch: epoch && readEpoch(paths.epoch, epoch) };
  return { ...read, hasParent: found !== undefined, version: versionOf(read, zxid) };
}

/** A child that a line or somebody else left does not belong to a race: a candidate that counts children and one that counts seats would both lead. */
export function checkChildren(parent: string, children: readonly string[]): void {
  const foreign = children.find((child) => child !== SEAT && child !== EPOCH);
  if (foreign === undefined) return;
  const layout = layoutOf(foreign);
  const what =
    layout === undefined
      ? "it is no part of a race. Use another name, or move that node away."
      : `it stands in a line (layout ${show(layout)}), and this store has the shape "race". Write ?layout=${layout} instead of ?shape=race, or use another name.`;
  throw new Refusal(
    "STORE_FOREIGN_DATA",
    `zookeeper: ${parent} has the child ${show(foreign)}: ${what} Nothing was written there.`,
  );
}

/** The version of a held seat is the write that made it, and that of a vacant one is the grant before it: neither repeats. If the seat was never held, its version is the write at which that was seen. */
function versionOf({ seat, epoch }: Pick<Seen, "seat" | "epoch">, zxid: bigint): Version {
  if (seat !== undefined) return asVersion(`${seat.node.stat.czxid}`);
  return asVersion(epoch === undefined ? `${NEVER}${zxid}` : `gone@${epoch.mzxid}`);
}

const NEVER = "never@";

/** True if a claim over `version` may take a seat that nobody has. */
export function isVacantAs({ seat, epoch, version }: Seen, over: Version): boolean {
  if (seat !== undefined) return false;
  return over === version || (epoch === undefined && over.startsWith(NEVER));
}

export function seatOf(name: Name, { seat, version }: Seen, domain: string): Seat {
  return seat === undefined ? { name, version, state: "vacant" } : shown(name, seat, domain);
}

/** Throws a Refusal for a node that is not ours. */
export function heldSeat(name: Name, path: string, node: NodeData, domain: string): Seat {
  return shown(name, readSeat(path, node), domain);
}

function shown(name: Name, { node, record }: NonNullable<Seen["seat"]>, domain: string): Seat {
  const version = asVersion(`${node.stat.czxid}`);
  return { name, version, state: "held", holder: holderOf(SEAT, node, domain), ttlMs: record.ttlMs };
}

function readSeat(path: string, node: NodeData): NonNullable<Seen["seat"]> {
  const record = readRecord(node.data);
  if (record === undefined) throw foreignNode(path);
  return { record, node };
}

function readEpoch(path: string, { data, stat }: NodeData): Epoch {
  try {
    const { epoch, bid } = JSON.parse(data.toString("utf8")) as { readonly [key: string]: unknown };
    if (typeof epoch !== "number" || typeof bid !== "string") throw foreignNode(path);
    return { count: epoch, bid: asBid(bid), version: stat.version, mzxid: stat.mzxid };
  } catch {
    throw foreignNode(path);
  }
}

export function epochData(count: number, bid: Bid): Buffer {
  return Buffer.from(JSON.stringify({ epoch: count, bid }));
}

export function foreignNode(path: string): Refusal {
  const message = `zookeeper: ${path} is not what this store has written: somebody else writes there. Nothing was overwritten. Find out who, or use another name.`;
  return new Refusal("STORE_FOREIGN_DATA", message);
}
