// The item of the Amazon DynamoDB Lock Client (Java), so that candidates of both kinds stand for the same names: one item for each name, renewed by itself.
//
//   KEY (S)                    the name
//   ownerName (S)              the owner: here the candidate's id and the bid, so that no two attempts look alike
//   leaseDuration (S)          milliseconds, as a text
//   recordVersionNumber (S)    a UUID, new with every renewal
//   data (B)                   whatever the owner wants to say; here the value of the election
//   isReleased (S)             "1": given back, the item stays
import { asBid, asVersion, type Bid, type Name, type Seat, type Version } from "../contract.ts";
import type { Item } from "../../clients/dynamodb/client.ts";
import { foreignItem, type DynamoWhereabouts } from "./refusals.ts";

export interface LockItem {
  readonly owner: string;
  readonly ttlMs: number;
  readonly rvn: string;
  readonly value: string;
  readonly isReleased: boolean;
}

const SIGN = "#";

/** The text of `ownerName`. */
export function ownerOf(candidate: string, bid: Bid): string {
  return `${candidate}${SIGN}${bid}`;
}

export function readLock(key: string, item: Item | undefined, where: DynamoWhereabouts): LockItem | undefined {
  if (item === undefined) return undefined;
  const owner = item["ownerName"]?.S;
  const rvn = item["recordVersionNumber"]?.S;
  const lease = item["leaseDuration"]?.S ?? "";
  if (owner === undefined || rvn === undefined || !/^[1-9]\d{0,14}$/.test(lease))
    throw foreignItem(key, "it is no item of the lock client", where);
  const { B: data } = item["data"] ?? {};
  const value = data === undefined ? "" : new TextDecoder().decode(data);
  return { owner, rvn, ttlMs: Number(lease), value, isReleased: item["isReleased"] !== undefined };
}

export function itemOf(owner: string, ttlMs: number, rvn: string, value: string): Item {
  const data = value === "" ? {} : { data: { B: new TextEncoder().encode(value) } };
  return { ownerName: { S: owner }, leaseDuration: { S: `${ttlMs}` }, recordVersionNumber: { S: rvn }, ...data };
}

/** If there is no item, nobody can tell whether there was one: their release deletes the item. */
export function versionOf(lock: LockItem | undefined): Version {
  return asVersion(lock === undefined ? "none" : `${lock.isReleased ? "free" : "held"}:${lock.rvn}`);
}

export function seatOf(name: Name, lock: LockItem | undefined): Seat {
  const version = versionOf(lock);
  if (lock === undefined || lock.isReleased) return { name, version, state: "vacant" };
  const at = lock.owner.lastIndexOf(SIGN);
  const holder =
    at < 0 ? { candidate: lock.owner } : { candidate: lock.owner.slice(0, at), bid: asBid(lock.owner.slice(at + 1)) };
  return { name, version, state: "held", holder: { ...holder, value: lock.value }, ttlMs: lock.ttlMs };
}
