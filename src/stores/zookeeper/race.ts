// The race: taking the seat of a name, and giving it back (seat.ts has the layout).
//
// ARGUMENT, that no two are granted at one instant. A grant is one multi that raises the epoch over the version that was read and makes the seat. ZooKeeper applies a multi
//   whole or not at all, in the one order of all writes, and does not make a node that exists: so a seat is made only after the one before it is gone. A seat goes in four cases: ZooKeeper, which judges, ends its
//   session; its holder gives it back, which is after its work (law 8: drain, then release); its own session, whose earlier term is over, takes it with another bid;
//   or an operator deletes it, which is a takeover by force (law 14). No claim here removes the seat of another session, whatever version it names.
// ARGUMENT, that nothing is done to a successor. The path of a seat is the same for every holder, so a path proves nothing. Everything that a holder does (renew, give back, write a
//   memo, announce) checks in the same multi that the epoch has the version of its own grant. After another grant the epoch has a greater version, and the whole multi is refused.
// ARGUMENT, that a try is granted once. A multi that arrives late finds another version of the epoch than the one that it was made for, unless nothing was granted since. A claim
//   that is sent again finds its bid in the epoch: if the seat is gone, that term has been given back, and the bid is not granted again.
import { unknown, type Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { CODE, errorOfCode } from "../../clients/zookeeper/errors.ts";
import { ANY, EPHEMERAL, type Part, type PartAnswer, PERSISTENT } from "../../clients/zookeeper/messages.ts";
import { type Claim, type Claimed, type Hold, type Question, type Seat, VACANT } from "../contract.ts";
import { granting } from "./bans.ts";
import { ensureNodes } from "./domain.ts";
import type { ZooKeeperLink } from "./link.ts";
import type { TreePlace } from "./place.ts";
import { holdOf, recordOf, sessionOfId } from "./record.ts";
import {
  checkChildren,
  epochData,
  foreignNode,
  isVacantAs,
  type Paths,
  pathsOf,
  type Seen,
  see,
  seatOf,
} from "./seat.ts";
import { checkRoom, type HeldSession, type ZooKeeperOwnEntry } from "./sessions.ts";

/** A node that was read may have changed when it is written over. */
const TRIES = 3;

export async function take(link: ZooKeeperLink, held: HeldSession, place: TreePlace, claim: Claim): Promise<Claimed> {
  const { name, bid } = claim;
  const paths = pathsOf(place.chroot, name);
  checkRoom(held, paths.seat);
  held.doubted.add(name);
  for (let tried = 0; tried < TRIES; tried++) {
    const seen = await see(link, place.chroot, name);
    if (isOwn(seen, held, bid)) return await standing(link, held, place, claim, seen);
    held.forget(name);
    if (!mayTake(seen, held, claim)) {
      held.doubted.delete(name);
      return { kind: "beaten", seat: seatOf(name, seen, place.domain) };
    }
    if (!seen.hasParent) await ensureNodes(link, paths.parent);
    const made = await make(link, held, paths, seen, claim);
    if (made === undefined) continue;
    held.note(name, made);
    held.doubted.delete(name);
    return { kind: "granted", hold: holdOf(name, bid, made.czxid, place.domain) };
  }
  return unknown("the seat changes faster than it can be claimed");
}

function isOwn({ seat }: Seen, { session }: HeldSession, bid: Claim["bid"]): boolean {
  return seat !== undefined && seat.record.bid === bid && seat.node.stat.ephemeralOwner === session.id;
}

function mayTake(seen: Seen, { session }: HeldSession, { over, bid }: Claim): boolean {
  if (over === undefined) return false;
  if (seen.seat !== undefined)
    return over === seen.version && seen.seat.node.stat.ephemeralOwner === session.id && isPair(seen);
  if (seen.epoch?.bid === bid) return false;
  return over === VACANT || isVacantAs(seen, over);
}

/** True if the seat and the epoch that were read belong together: no grant came between the two, and nobody else has written to the epoch. */
function isPair({ seat, epoch }: Seen): boolean {
  return seat !== undefined && epoch !== undefined && seat.node.stat.czxid === epoch.mzxid;
}

/** This takes one round trip. Undefined if something changed since it was read. */
async function make(
  link: ZooKeeperLink,
  held: HeldSession,
  paths: Paths,
  seen: Seen,
  claim: Claim,
): Promise<ZooKeeperOwnEntry | undefined> {
  const { parts, version } = grantOf(link, paths, seen, claim);
  const [written, listed] = await Promise.allSettled([
    granting(link, held, paths.seat, parts),
    link.children(paths.parent),
  ]);
  if (written.status === "rejected") throw written.reason;
  const { answers, zxid } = written.value;
  if (!isDone(answers, paths.seat)) return undefined;
  const checks = checksOf(paths, version);
  try {
    if (listed.status === "rejected") throw listed.reason;
    checkChildren(paths.parent, listed.value.found?.names ?? []);
  } catch (error) {
    // Somebody joined a line here between our reading and our writing: our nodes must not stay.
    if (error instanceof Refusal) await undo(link, paths, seen, version);
    throw error;
  }
  return { bid: claim.bid, path: paths.seat, czxid: zxid, value: claim.value, checks };
}

interface Grant {
  readonly parts: readonly Part[];
  /** The version of the epoch, once it is written. */
  readonly version: number;
}

function grantOf({ acl }: ZooKeeperLink, paths: Paths, { seat, epoch }: Seen, claim: Claim): Grant {
  const data = epochData((epoch?.count ?? 0) + 1, claim.bid);
  const removed: readonly Part[] = seat === undefined ? [] : [{ delete: paths.seat, version: ANY }];
  const raised: Part =
    epoch === undefined
      ? { create: paths.epoch, data, acl, flags: PERSISTENT }
      : { setData: paths.epoch, data, version: epoch.version };
  const made: Part = { create: paths.seat, data: recordOf(claim), acl, flags: EPHEMERAL };
  return { parts: [raised, ...removed, made], version: epoch === undefined ? 0 : epoch.version + 1 };
}

/** Checks that succeed only while the seat is that of the grant which gave the epoch this version. */
function checksOf(paths: Paths, version: number): readonly Part[] {
  return [
    { check: paths.epoch, version },
    { check: paths.seat, version: ANY },
  ];
}

/** False if the epoch or the seat is not as it was read. Throws for every other refusal. */
function isDone(answers: readonly PartAnswer[], path: string): boolean {
  const code = answers.map((answer) => answer.code).find((each) => each !== CODE.ok && each !== CODE.inconsistency);
  if (code === undefined) return answers.every((answer) => answer.code === CODE.ok);
  if (CHANGED.has(code)) return false;
  throw errorOfCode(code, path);
}

const CHANGED: ReadonlySet<number> = new Set([CODE.noNode, CODE.nodeExists, CODE.badVersion]);

async function undo(link: ZooKeeperLink, paths: Paths, { epoch }: Seen, version: number): Promise<void> {
  const gone: readonly Part[] =
    epoch === undefined ? [{ delete: paths.epoch, version }] : [{ check: paths.epoch, version }];
  await link.multi(paths.seat, [...gone, { delete: paths.seat, version: ANY }]);
}

/** A claim of the bid that holds the seat only changes the announced value. */
async function standing(
  link: ZooKeeperLink,
  held: HeldSession,
  { chroot, domain }: TreePlace,
  claim: Claim,
  seen: Seen,
): Promise<Claimed> {
  const { seat, epoch } = seen;
  const paths = pathsOf(chroot, claim.name);
  if (seat === undefined || epoch === undefined || !isPair(seen)) throw foreignNode(paths.epoch);
  const { czxid } = seat.node.stat;
  const checks = checksOf(paths, epoch.version);
  const announced: readonly Part[] =
    seat.record.value === claim.value ? [] : [{ setData: paths.seat, data: recordOf(claim), version: ANY }];
  // The nodes that were read prove nothing about a ban.
  if (announced.length > 0 || held.pass !== undefined) {
    const { answers } = await granting(link, held, paths.seat, [...checks, ...announced]);
    if (!isDone(answers, paths.seat)) return unknown("the seat went away while it was written to");
  }
  held.note(claim.name, { bid: claim.bid, path: paths.seat, czxid, value: claim.value, checks });
  held.doubted.delete(claim.name);
  return { kind: "granted", hold: holdOf(claim.name, claim.bid, czxid, domain) };
}

/** The condition is session and bid, by the epoch of the grant. */
export async function giveBack(
  link: ZooKeeperLink,
  held: HeldSession | undefined,
  { chroot }: Pick<TreePlace, "chroot">,
  session: string,
  { name, bid }: Hold,
): Promise<void> {
  const paths = pathsOf(chroot, name);
  const known = held?.entry(name);
  const isKnown = known?.bid === bid && held?.doubted.has(name) === false;
  if (!isKnown || !(await removed(link, paths, known.checks))) await removeOf(link, paths, chroot, session, name, bid);
  if (held === undefined || held.entry(name)?.bid !== bid) return;
  held.forget(name);
  held.doubted.delete(name);
}

async function removed(link: ZooKeeperLink, paths: Paths, checks: readonly Part[]): Promise<boolean> {
  const { answers } = await link.multi(paths.seat, [...checks, { delete: paths.seat, version: ANY }]);
  return isDone(answers, paths.seat);
}

/** Removes what is found now. A try that is still on its way is found later by a keep, as a stray. */
async function removeOf(
  link: ZooKeeperLink,
  paths: Paths,
  chroot: string,
  session: string,
  name: Hold["name"],
  bid: Hold["bid"],
): Promise<void> {
  for (let tried = 0; tried < TRIES; tried++) {
    const seen = await see(link, chroot, name);
    const { seat, epoch } = seen;
    if (seat?.record.bid !== bid || seat.node.stat.ephemeralOwner !== sessionOfId(session)) return;
    if (epoch === undefined || !isPair(seen)) throw foreignNode(paths.epoch);
    if (await removed(link, paths, checksOf(paths, epoch.version))) return;
  }
  throw new Error("the seat changes faster than it can be given back");
}

export async function lookAtSeat(
  link: ZooKeeperLink,
  { chroot, domain }: TreePlace,
  { name }: Question,
): Promise<Seat | Unknown> {
  return seatOf(name, await see(link, chroot, name), domain);
}
