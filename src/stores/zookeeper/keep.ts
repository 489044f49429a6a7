// A keep: one write that names every hold and changes nothing (guarantee.ts says what it proves). It checks for each entry whether it is there, so the whole write is refused if one is
// missing. A majority has agreed to the refusal too, so it proves as much. Then the entries are looked at one by one.
//
// A check asks whether a path exists, not which session owns its node: ZooKeeper has no check of the owner, and a look at each entry would cost as many reads as there are holds. In a
// line the check is enough. The path has a GUID and a number that ZooKeeper has drawn, so nobody makes it by accident. If somebody deletes an entry and makes the same path by hand,
// that node stands in the owner's place: nobody behind it leads until that node goes too, which the owner's watch and its next keep show. So this is the case of a record that was
// deleted (guarantee.ts, `recordDeleted`), and nothing worse. A claim does look at the owner: otherwise it would begin a term on somebody else's entry. In a race the path is the same
// for everybody, and the epoch is checked with it.
import { CODE } from "../../clients/zookeeper/errors.ts";
import { ANY, type Part } from "../../clients/zookeeper/messages.ts";
import type { Hold, KeepWish, Kept, Session } from "../contract.ts";
import { inTurns } from "../few-at-once.ts";
import { domainPath } from "./domain.ts";
import { entryPrefix, parentOf, partsOfPath } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import type { TreePlace } from "./place.ts";
import { readRecord } from "./record.ts";
import { pathsOf } from "./seat.ts";
import { granting } from "./bans.ts";
import type { HeldSession, ZooKeeperOwnEntry } from "./sessions.ts";

export async function keep(
  link: ZooKeeperLink,
  held: HeldSession,
  place: TreePlace,
  session: Session,
  holds: readonly Hold[],
  wish: KeepWish,
): Promise<Kept> {
  const { id, candidate, ttlMs, secret } = session;
  const lost = await renew(link, held, place, session, holds);
  const strays = wish.strays === false ? [] : await findStrays(link, place, session, holds);
  const kept = { id, candidate, ttlMs, ...(secret === undefined ? {} : { secret }) };
  return { kind: "kept", session: kept, lost, unsure: [], strays, road: link.road };
}

/** Sends the write, and returns the holds that are gone. */
async function renew(
  link: ZooKeeperLink,
  held: HeldSession,
  place: TreePlace,
  session: Session,
  holds: readonly Hold[],
): Promise<readonly Hold[]> {
  const known = holds.flatMap((hold) => knownEntry(held, hold) ?? []);
  const nothing: readonly Part[] = [{ check: domainPath(place.chroot), version: ANY }];
  const parts = known.length === 0 ? nothing : known.flatMap(({ checks }) => checks);
  const { answers } = await granting(link, held, "keep", parts);
  const isWhole = answers.every(({ code }) => code === CODE.ok);
  if (isWhole && known.length === holds.length) return [];
  const missing = await inTurns(holds, async (hold) =>
    (await stands(link, held, place, session, hold)) ? [] : [hold],
  );
  return missing.flat();
}

/** The bid alone is not enough: an entry that was deleted and joined again has another token. */
function knownEntry(held: HeldSession, { name, bid, token }: Hold): ZooKeeperOwnEntry | undefined {
  const entry = held.entry(name);
  if (entry === undefined || entry.bid !== bid) return undefined;
  return token === undefined || token.value === entry.czxid ? entry : undefined;
}

/** Compares the write that made the entry, which is the token; in a race the path is the same for everybody. */
async function stands(
  link: ZooKeeperLink,
  held: HeldSession,
  place: TreePlace,
  session: Session,
  hold: Hold,
): Promise<boolean> {
  const { token, bid } = hold;
  const path = knownEntry(held, hold)?.path ?? (await findPath(link, place, session, hold));
  if (path === undefined) return false;
  if (token === undefined && place.shape === "race") {
    const found = await link.data(path);
    return found?.stat.ephemeralOwner === held.session.id && readRecord(found.data)?.bid === bid;
  }
  const stat = await link.exists(path);
  if (stat === undefined) return false;
  return stat.ephemeralOwner === held.session.id && (token === undefined || stat.czxid === token.value);
}

/** Finds the path of a hold that this process has not claimed. */
async function findPath(
  link: ZooKeeperLink,
  { chroot, shape, layout }: TreePlace,
  session: Session,
  { name, bid }: Hold,
): Promise<string | undefined> {
  if (shape === "race") return pathsOf(chroot, name).seat;
  const parent = parentOf(chroot, name);
  const { found } = await link.children(parent);
  const node = found?.names.find((each) => each.startsWith(entryPrefix(layout, session.id, bid)));
  return node === undefined ? undefined : `${parent}/${node}`;
}

/** Finds entries of this session that were not sent along. A second entry of a hold that was sent is no stray: it goes when the hold is given back. */
async function findStrays(
  link: ZooKeeperLink,
  place: TreePlace,
  session: Session,
  holds: readonly Hold[],
): Promise<readonly Hold[]> {
  const sent = new Map(holds.map((hold) => [hold.name, hold.bid]));
  const paths = await link.ephemerals(place.chroot === "" ? "/" : place.chroot);
  const others = paths.flatMap((path) => {
    const parts = partsOfPath(place.chroot, path);
    return parts === undefined || isSent(place, session, parts.node, sent.get(parts.name)) ? [] : [{ path, ...parts }];
  });
  const strays = await inTurns(others, async ({ path, name }) => {
    const found = await link.data(path);
    const record = found && readRecord(found.data);
    return record === undefined || record.bid === sent.get(name) ? [] : [{ name, bid: record.bid }];
  });
  return strays.flat();
}

/** In a line, the name of the node decides. The name of a seat says nothing: its record has to be read. */
function isSent({ shape, layout }: TreePlace, session: Session, node: string, bid: Hold["bid"] | undefined): boolean {
  return shape === "line" && bid !== undefined && node.startsWith(entryPrefix(layout, session.id, bid));
}
