// Looks at lines: the first entry of each line, and the place of one's own. A look uses the driver's own connection, so that it extends no session. It follows a
// `sync`, so that it is no older than what the leader of the ensemble knew when it was asked.
import { unknown, type Unknown } from "../../base/outcome.ts";
import type { Name, Question, Seat, ShownNext, ShownNodeless, Token } from "../contract.ts";
import { inTurns } from "../few-at-once.ts";
import { confirmMajority } from "./domain.ts";
import { type LineEntry, entryPrefix, parentOf, readLine } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import { holderOf, readRecord, versionOf } from "./record.ts";
import type { TreePlace } from "./place.ts";
import { pathsOf } from "./seat.ts";

/** The first entry of a line may leave between its listing and its reading. */
const TRIES = 5;

export interface SeenLine {
  readonly parent: string;
  readonly entries: readonly LineEntry[];
  readonly zxid: bigint;
}

/** This takes one round trip. */
export async function seeLine(
  link: ZooKeeperLink,
  { chroot, layout }: TreePlace,
  name: string,
  watch = false,
): Promise<SeenLine> {
  const parent = parentOf(chroot, name);
  const [, { found, zxid }] = await Promise.all([link.sync(parent), link.children(parent, watch)]);
  return { parent, entries: found === undefined ? [] : readLine(layout, parent, found.names), zxid };
}

export async function lookAt(link: ZooKeeperLink, place: TreePlace, question: Question): Promise<Seat | Unknown> {
  for (let tried = 0; tried < TRIES; tried++) {
    const seat = await lookOnce(link, place, question);
    if (seat !== undefined) return seat;
  }
  return unknown("the first of the line changes faster than it can be read");
}

async function lookOnce(link: ZooKeeperLink, place: TreePlace, question: Question): Promise<Seat | undefined> {
  const { name } = question;
  const { parent, entries, zxid } = await seeLine(link, place, name);
  const where = placeOf(place, question, entries);
  const [first] = entries;
  if (first === undefined) return { name, version: versionOf(undefined, zxid), state: "vacant", place: where };
  const data = await link.data(`${parent}/${first.node}`);
  if (data === undefined) return undefined;
  return {
    name,
    version: versionOf(data.stat.czxid, zxid),
    state: "held",
    holder: holderOf(first.node, data, place.domain),
    ttlMs: readRecord(data.data)?.ttlMs,
    place: where,
  };
}

/** Finds the place by the name of the node, which contains session and bid. */
function placeOf({ layout }: TreePlace, { bid, session }: Question, entries: readonly LineEntry[]): Seat["place"] {
  if (bid === undefined) return undefined;
  const ahead = entries.findIndex(({ node }) => node.startsWith(entryPrefix(layout, session?.id ?? "", bid)));
  return ahead < 0 ? { present: false, ahead: 0 } : { present: true, ahead };
}

/** Shows the candidate behind the entry that was made by write `token.value`, if that entry is the first. */
export async function showNext(link: ZooKeeperLink, place: TreePlace, name: Name, token: Token): Promise<ShownNext> {
  const { parent, entries } = await seeLine(link, place, name);
  const [first, second] = await Promise.all(entries.slice(0, 2).map(({ node }) => link.data(`${parent}/${node}`)));
  if (first?.stat.czxid !== token.value || place.domain !== token.domain) return { kind: "not-leading" };
  const candidate = second && holderOf(entries[1]?.node ?? "", second, place.domain).candidate;
  return entries.length > 1 && candidate === undefined
    ? unknown("the second of the line went away while it was read")
    : { kind: "next", candidate };
}

/**
 * Shows the candidates whose record names no node: those of other programs, those of earlier versions, and those that gave none. A record with a node was written only with a pass (bans.ts). First a write is sent to
 * which a majority agrees, so that every candidate that has joined before is shown.
 */
export async function showNodeless(link: ZooKeeperLink, place: TreePlace, name: Name): Promise<ShownNodeless> {
  await confirmMajority(link, place.chroot);
  const paths = await pathsOfAll(link, place, name);
  const shown = await inTurns(paths, async (path) => {
    const found = await link.data(path);
    if (found === undefined || readRecord(found.data)?.node !== undefined) return [];
    return [holderOf(path.slice(path.lastIndexOf("/") + 1), found, place.domain).candidate];
  });
  return { kind: "nodeless", candidates: shown.flat() };
}

async function pathsOfAll(link: ZooKeeperLink, place: TreePlace, name: Name): Promise<readonly string[]> {
  if (place.shape === "race") return [pathsOf(place.chroot, name).seat];
  const { parent, entries } = await seeLine(link, place, name);
  return entries.map(({ node }) => `${parent}/${node}`);
}
