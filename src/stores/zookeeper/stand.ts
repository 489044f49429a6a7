// Joins the line and leaves it. A node of another client is never written.
//
// `granted` means that ZooKeeper says that my entry is there and no entry of the line is before it. ARGUMENT: entries are numbered by the parent's counter as they are made, in
// the one order of all writes, and no two have the same number (layout.ts). The list is read over the connection that made my entry, after that, so it shows every write that came before mine: each entry with a
// smaller number had been made by then, and one that the list does not show is gone for good. A session that moves to another server is refused there until that server
// has seen everything that the session has seen (lastZxid). So an old copy can show an entry before me that is gone, but can never hide one that is there.
//
// Before it makes an entry, a claim lists the line: to find an entry whose answer was lost, and to write nothing where there are foreign children. A session that has listed that line before,
// and has neither an entry nor an unanswered try there, need not do this: the list that comes with the entry shows the same, and then the entry is taken back.
//
// A session that speaks for a node makes its entry only with its pass. It is granted a seat only if the pass is still good after the list that shows its entry as the first (bans.ts).
//
// My entry is known by its GUID, made from session and bid, and is accepted only if it is bound to this very session (ephemeralOwner).
import { unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import { errorOfCode, isProblem, ZooKeeperError } from "../../clients/zookeeper/errors.ts";
import { ANY, EPHEMERAL_SEQUENTIAL, type NodeData } from "../../clients/zookeeper/messages.ts";
import type { Claim, Claimed, Hold } from "../contract.ts";
import { failureIn, granting } from "./bans.ts";
import { createIfMissing, ensureNodes } from "./domain.ts";
import {
  type LineEntry,
  entryPrefix,
  isSpent,
  type LayoutName,
  parentFlags,
  parentOf,
  readLine,
  sequenceOf,
  sessionPrefix,
  spentCounter,
} from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import type { TreePlace } from "./place.ts";
import { holdOf, readRecord, recordOf } from "./record.ts";
import { checkRoom, type HeldSession, type ZooKeeperOwnEntry } from "./sessions.ts";

/** ZooKeeper may remove an empty node between two requests. */
const TRIES = 3;

export async function join(link: ZooKeeperLink, held: HeldSession, place: TreePlace, claim: Claim): Promise<Claimed> {
  const claimed = await joinLine(link, held, place, claim);
  if (claimed.kind === "granted" && held.pass !== undefined) await confirmPass(link, held);
  return claimed;
}

/** This is called after the list. The entry exists by now, so a request that was not sent does not mean that the claim was not applied. */
async function confirmPass(link: ZooKeeperLink, held: HeldSession): Promise<void> {
  try {
    await granting(link, held, "claim", []);
  } catch (error) {
    if (!(error instanceof ZooKeeperError)) throw error;
    throw new Error("the entry stands, and it is not known whether its node is banned", { cause: error });
  }
}

async function joinLine(link: ZooKeeperLink, held: HeldSession, place: TreePlace, claim: Claim): Promise<Claimed> {
  const { name } = claim;
  const parent = parentOf(place.chroot, name);
  const known = held.entry(name);
  const isClear = held.isClear(name);
  held.doubted.add(name);
  const quick = isClear ? await makeEntry(link, held, place, claim, parent, true) : undefined;
  if (quick !== undefined && !hasOthersOf(held, place, quick)) return stood(held, place, claim, parent, quick);
  // The hint that leads to a claim came from the server of another connection. This server must not be behind that one, or the claim would wait for an entry that is gone.
  const [, line] = await Promise.all([link.sync(parent), listLine(link, place.layout, parent)]);
  held.noteListed(name);
  const own = await findOwn(link, held, place, claim, parent, line ?? []);
  if ("kind" in own) return own;
  if (own.entry !== undefined) {
    const entry = await announce(link, held, own.entry, known, claim);
    held.note(name, entry);
    if (!own.isDoubled) held.doubted.delete(name);
    return placeIn(parent, line ?? [], entry, claim, place.domain);
  }
  return stood(held, place, claim, parent, await makeEntry(link, held, place, claim, parent, line !== undefined));
}

function stood(held: HeldSession, { domain }: TreePlace, claim: Claim, parent: string, { entry, line }: Made): Claimed {
  held.doubted.delete(claim.name);
  held.note(claim.name, entry);
  return placeIn(parent, line, entry, claim, domain);
}

/** True if the line also has an entry of this session that it did not know of: then all its entries are sorted out as after a lost answer. */
function hasOthersOf({ id }: HeldSession, { layout }: TreePlace, { entry, line }: Made): boolean {
  const others = line.filter(({ node }) => !entry.path.endsWith(`/${node}`));
  return others.some(({ node }) => node.startsWith(sessionPrefix(layout, id)));
}

async function listLine(
  link: ZooKeeperLink,
  layout: LayoutName,
  parent: string,
): Promise<readonly LineEntry[] | undefined> {
  const { found } = await link.children(parent);
  return found === undefined ? undefined : readLine(layout, parent, found.names);
}

interface Own {
  readonly entry: ZooKeeperOwnEntry | undefined;
  /** More than one try was applied. */
  readonly isDoubled: boolean;
}

/** Returns an entry of this bid, or the answer that another bid of this session stands there. */
async function findOwn(
  link: ZooKeeperLink,
  held: HeldSession,
  { layout }: TreePlace,
  { name, bid }: Claim,
  parent: string,
  line: readonly LineEntry[],
): Promise<Own | Claimed> {
  const { session, id } = held;
  const ofSession = line.filter(({ node }) => node.startsWith(sessionPrefix(layout, id)));
  const [first, ...others] = ofSession;
  if (first === undefined) {
    held.forget(name);
    return { entry: undefined, isDoubled: false };
  }
  const path = `${parent}/${first.node}`;
  const known = held.entry(name);
  if (known?.path === path && known.bid === bid && (await isStill(link, known, session.id)))
    return { entry: known, isDoubled: others.length > 0 };
  const found = await link.data(path);
  if (found === undefined) return unknown("the entry went away while it was read");
  return readOwn(path, found, session.id, first.node.startsWith(entryPrefix(layout, id, bid)), bid, others.length > 0);
}

async function isStill(link: ZooKeeperLink, { path, czxid }: ZooKeeperOwnEntry, session: bigint): Promise<boolean> {
  const stat = await link.exists(path);
  return stat?.ephemeralOwner === session && stat.czxid === czxid;
}

function readOwn(
  path: string,
  { data, stat }: NodeData,
  session: bigint,
  isThisBid: boolean,
  bid: Claim["bid"],
  isDoubled: boolean,
): Own | Claimed {
  const record = readRecord(data);
  if (stat.ephemeralOwner !== session || record === undefined || (record.bid === bid) !== isThisBid)
    throw foreignEntry(path);
  if (!isThisBid) return { kind: "leftover", bid: record.bid };
  return { entry: entryOf(bid, path, stat.czxid, record.value), isDoubled };
}

function foreignEntry(path: string): Refusal {
  const message = `zookeeper: ${path} has the name of this candidate's own entry, and is not bound to its session, or somebody else has written to it. Nothing was overwritten. Find out who writes there, or use another name.`;
  return new Refusal("STORE_FOREIGN_DATA", message);
}

/** Nobody else makes a node of this path, because it contains session, bid and number. */
function entryOf(bid: Claim["bid"], path: string, czxid: bigint, value: string): ZooKeeperOwnEntry {
  return { bid, path, czxid, value, checks: [{ check: path, version: ANY }] };
}

/** A claim of a bid that already stands only changes the announced value. */
async function announce(
  link: ZooKeeperLink,
  held: HeldSession,
  entry: ZooKeeperOwnEntry,
  known: ZooKeeperOwnEntry | undefined,
  claim: Claim,
): Promise<ZooKeeperOwnEntry> {
  const written = known?.path === entry.path ? known.value : entry.value;
  if (written === claim.value) return { ...entry, value: written };
  const { answers } = await granting(link, held, entry.path, [
    { setData: entry.path, data: recordOf(claim), version: ANY },
  ]);
  const refused = failureIn(answers);
  if (refused !== undefined) throw errorOfCode(refused.code, entry.path);
  return { ...entry, value: claim.value };
}

interface Made {
  readonly entry: ZooKeeperOwnEntry;
  readonly line: readonly LineEntry[];
}

async function makeEntry(
  link: ZooKeeperLink,
  held: HeldSession,
  place: TreePlace,
  claim: Claim,
  parent: string,
  isThere: boolean,
): Promise<Made> {
  const prefix = `${parent}/${entryPrefix(place.layout, held.id, claim.bid)}`;
  checkRoom(held, prefix);
  for (let tried = isThere ? 0 : 1; ; tried++) {
    if (tried > 0) await makeParent(link, place, parent);
    try {
      return await createAndList(link, held, place, claim, parent, prefix);
    } catch (error) {
      if (tried === TRIES || !isProblem(error, "no-node")) throw error;
    }
  }
}

/** This takes one round trip: the list follows the entry on the same connection. */
async function createAndList(
  link: ZooKeeperLink,
  held: HeldSession,
  { layout }: TreePlace,
  claim: Claim,
  parent: string,
  prefix: string,
): Promise<Made> {
  const [created, listed] = await Promise.allSettled([
    createEntry(link, held, prefix, recordOf(claim)),
    listLine(link, layout, parent),
  ]);
  if (created.status === "rejected") throw created.reason;
  const { path, czxid } = created.value;
  const entry = entryOf(claim.bid, path, czxid, claim.value);
  if (isSpent(sequenceOf(layout, parent, path))) {
    await link.delete(path);
    throw spentCounter(parent, path.slice(parent.length + 1));
  }
  if (listed.status === "fulfilled") return { entry, line: listed.value ?? [] };
  if (listed.reason instanceof Refusal) await link.delete(path);
  throw listed.reason;
}

async function createEntry(
  link: ZooKeeperLink,
  held: HeldSession,
  prefix: string,
  data: Buffer,
): Promise<{ readonly path: string; readonly czxid: bigint }> {
  if (held.pass === undefined) {
    const { path, stat } = await link.create(prefix, data, EPHEMERAL_SEQUENTIAL);
    return { path, czxid: stat.czxid };
  }
  const { answers, zxid } = await granting(link, held, prefix, [
    { create: prefix, data, acl: link.acl, flags: EPHEMERAL_SEQUENTIAL },
  ]);
  const refused = failureIn(answers);
  if (refused !== undefined) throw errorOfCode(refused.code, prefix);
  const path = answers[0]?.path;
  if (path === undefined) throw new Error("the answer does not say which entry was made");
  return { path, czxid: zxid };
}

async function makeParent(link: ZooKeeperLink, { chroot, layout }: TreePlace, parent: string): Promise<void> {
  try {
    await createIfMissing(link, parent, Buffer.alloc(0), parentFlags(layout));
  } catch (error) {
    if (!isProblem(error, "no-node")) throw error;
    await ensureNodes(link, chroot);
    await createIfMissing(link, parent, Buffer.alloc(0), parentFlags(layout));
  }
}

function placeIn(
  parent: string,
  line: readonly LineEntry[],
  own: ZooKeeperOwnEntry,
  { name, bid }: Claim,
  domain: string,
): Claimed {
  const ahead = line.findIndex(({ node }) => `${parent}/${node}` === own.path);
  if (ahead < 0) return unknown("the entry went away while its place was looked for");
  const hold = holdOf(name, bid, own.czxid, domain);
  return ahead === 0 ? { kind: "granted", hold } : { kind: "waiting", hold, ahead };
}

/** The condition is session and bid: both are in the name of the node. */
export async function leave(
  link: ZooKeeperLink,
  held: HeldSession | undefined,
  { chroot, layout }: Pick<TreePlace, "chroot" | "layout">,
  session: string,
  { name, bid }: Hold,
): Promise<void> {
  const known = held?.entry(name);
  if (known?.bid === bid && held?.doubted.has(name) === false) await link.delete(known.path);
  else await deleteAllOf(link, parentOf(chroot, name), entryPrefix(layout, session, bid));
  if (held === undefined || held.entry(name)?.bid !== bid) return;
  held.forget(name);
  held.doubted.delete(name);
}

/** Deletes what is found now. A try that is still on its way is found later by a keep, as a stray. */
async function deleteAllOf(link: ZooKeeperLink, parent: string, prefix: string): Promise<void> {
  const { found } = await link.children(parent);
  const own = found?.names.filter((node) => node.startsWith(prefix)) ?? [];
  await Promise.all(own.map((node) => link.delete(`${parent}/${node}`)));
}
