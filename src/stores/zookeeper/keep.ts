// A keep: one write that names every hold and changes nothing (guarantee.ts says what it proves). Since it asks of each entry whether it is there, all of it is
// refused if one is missing; but a majority has agreed to the refusal too, so it proves as much. Then the entries are looked at one by one.
import { CODE } from "../../clients/zookeeper/errors.ts";
import { ANY, type Part } from "../../clients/zookeeper/messages.ts";
import type { Hold, KeepWish, Kept, Session } from "../contract.ts";
import { inTurns } from "../turns.ts";
import { domainPath } from "./domain.ts";
import { entryPrefix, parentOf, partsOfPath } from "./layout.ts";
import type { Link } from "./link.ts";
import { readRecord } from "./record.ts";
import type { HeldSession } from "./sessions.ts";
import type { Place } from "./stand.ts";

export async function keep(
  link: Link,
  held: HeldSession,
  place: Place,
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

/** Sends the write, and says which of the holds are gone. */
async function renew(
  link: Link,
  held: HeldSession,
  place: Place,
  session: Session,
  holds: readonly Hold[],
): Promise<readonly Hold[]> {
  const known = holds.flatMap((hold) => pathOf(held, hold) ?? []);
  const parts = (known.length === 0 ? [domainPath(place.chroot)] : known).map((path): Part => ({
    check: path,
    version: ANY,
  }));
  const { answers } = await link.multi("keep", parts);
  const isWhole = answers.every(({ code }) => code === CODE.ok);
  if (isWhole && known.length === holds.length) return [];
  const missing = await inTurns(holds, async (hold) =>
    (await stands(link, held, place, session, hold)) ? [] : [hold],
  );
  return missing.flat();
}

/** Not by the bid alone: an entry that was deleted and joined again has another token. */
function pathOf(held: HeldSession, { name, bid, token }: Hold): string | undefined {
  const entry = held.entry(name);
  if (entry === undefined || entry.bid !== bid) return undefined;
  return token === undefined || token.value === entry.czxid ? entry.path : undefined;
}

async function stands(link: Link, held: HeldSession, place: Place, session: Session, hold: Hold): Promise<boolean> {
  const path = pathOf(held, hold) ?? (await findPath(link, place, session, hold));
  const stat = path === undefined ? undefined : await link.exists(path);
  if (stat === undefined) return false;
  return stat.ephemeralOwner === held.session.id && (hold.token === undefined || stat.czxid === hold.token.value);
}

/** Of a hold that this process has not claimed. */
async function findPath(
  link: Link,
  { chroot, layout }: Place,
  session: Session,
  { name, bid }: Hold,
): Promise<string | undefined> {
  const parent = parentOf(chroot, name);
  const { found } = await link.children(parent);
  const node = found?.names.find((each) => each.startsWith(entryPrefix(layout, session.id, bid)));
  return node === undefined ? undefined : `${parent}/${node}`;
}

/** Entries of this session that were not sent along. A second entry of a hold that was is no stray: it goes when the hold is given back. */
async function findStrays(
  link: Link,
  place: Place,
  session: Session,
  holds: readonly Hold[],
): Promise<readonly Hold[]> {
  const known = new Map(holds.map((hold) => [hold.name, entryPrefix(place.layout, session.id, hold.bid)]));
  const paths = await link.ephemerals(place.chroot === "" ? "/" : place.chroot);
  const others = paths.flatMap((path) => {
    const parts = partsOfPath(place.chroot, path);
    const prefix = parts && known.get(parts.name);
    return parts === undefined || (prefix !== undefined && parts.node.startsWith(prefix)) ? [] : [{ path, ...parts }];
  });
  const strays = await inTurns(others, async ({ path, name }) => {
    const found = await link.data(path);
    const record = found && readRecord(found.data);
    return record === undefined ? [] : [{ name, bid: record.bid }];
  });
  return strays.flat();
}
