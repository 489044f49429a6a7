// The paths of an election, and how the children of an election's node are read. The layouts are those of the recipes that people run, so that their candidates and ours
// stand in one line. A node has children of one layout only: each recipe would sort the children of another wrongly, so a node with such children is refused.
//
//   latch      Curator's LeaderLatch                        /NAME/_c_UUID-latch-0000000007
//   selector   Curator's LeaderSelector, InterProcessMutex  /NAME/_c_UUID-lock-0000000007
//   kazoo      kazoo's Election and Lock                    /NAME/UUID__lock__0000000007
//
// The UUID is made from the session and the bid. So a client that lists the children finds its own entry after an answer was lost, and sees which entries belong to its session. A name is one
// node: characters that a path cannot contain are written with % escapes, so "a" and "a/b" are neighbours and neither lies in the other's line.
//
// The number is the parent's counter, of 32 bits, which ends after two thousand million candidates. A server keeps a counter only if it is greater than the one before, so from there on every further entry gets
// the last number again, or a negative one if several are made at one moment. Then nobody can tell which of two entries was first, and two candidates would lead. So a line with the last number, or with a negative
// one, is refused. Below the last number no two entries of a line have the same.
import { Refusal } from "../../base/refusal.ts";
import { show } from "../../base/show.ts";
import { flawOf } from "../../base/text.ts";
import { sha256Hex } from "../../clients/sha256.ts";
import { CONTAINER, PERSISTENT } from "../../clients/zookeeper/messages.ts";
import type { Bid, Name } from "../contract.ts";

export const LAYOUTS = ["latch", "selector", "kazoo"] as const;
export type LayoutName = (typeof LAYOUTS)[number];

const FORMS: Readonly<Record<LayoutName, RegExp>> = {
  latch: /latch-(-?\d{9,10})$/,
  selector: /lock-(-?\d{9,10})$/,
  kazoo: /__lock__(-?\d{9,10})$/,
};
/** The two nodes of a race (seat.ts). */
export const SEAT = "seat";
export const EPOCH = "epoch";

const READ_LOCK = /__rlock__-?\d{9,10}$/;

/** Everything that is kept beside the lines lies below this node. */
export const ROOT = ".conclave";

/** The flags of an election's node. ZooKeeper removes Curator's when it has been empty for a while, which kazoo could not bear. */
export function parentFlags(layout: LayoutName): number {
  return layout === "kazoo" ? PERSISTENT : CONTAINER;
}

/** The beginning of the node of an entry: the number follows. */
export function entryPrefix(layout: LayoutName, session: string, bid: Bid): string {
  const guid = `${session}${sha256Hex(bid).slice(0, 16)}`;
  if (layout === "kazoo") return `${guid}__lock__`;
  return `_c_${asUuid(guid)}-${layout === "latch" ? "latch" : "lock"}-`;
}

/** The beginning of the nodes of all entries of a session. */
export function sessionPrefix(layout: LayoutName, session: string): string {
  return layout === "kazoo" ? session : `_c_${asUuid(`${session}${"0".repeat(16)}`).slice(0, 19)}`;
}

function asUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export interface LineEntry {
  /** The last part of its path. */
  readonly node: string;
  readonly sequence: number;
}

/** Returns the entries of a line, the first one first. Throws a Refusal for a line that cannot be judged; nothing was written. */
export function readLine(layout: LayoutName, parent: string, children: readonly string[]): readonly LineEntry[] {
  const entries = children.map((node) => ({ node, sequence: sequenceOf(layout, parent, node) }));
  const last = entries.find(({ sequence }) => isSpent(sequence));
  if (last !== undefined) throw spentCounter(parent, last.node);
  return entries.toSorted((a, b) => a.sequence - b.sequence);
}

export function sequenceOf(layout: LayoutName, parent: string, node: string): number {
  const digits = FORMS[layout].exec(node)?.[1];
  if (digits === undefined) throw foreignChild(layout, parent, node);
  return Number(digits);
}

const LAST_SEQUENCE = 2 ** 31 - 1;

/** True for a number that several entries of a line may have. */
export function isSpent(sequence: number): boolean {
  return sequence < 0 || sequence >= LAST_SEQUENCE;
}

export function spentCounter(parent: string, node: string): Refusal {
  const message = `zookeeper: the counter of ${parent} is at its end (${node}): from here on entries have the same number, and nobody can tell which was first. Nothing was written. Use another name, or stop all candidates of this one and delete ${parent}.`;
  return new Refusal("STORE_UNSUPPORTED", message);
}

/** The layout of the line in which a node of this name would stand. Undefined if it would stand in none. */
export function layoutOf(node: string): LayoutName | undefined {
  return LAYOUTS.find((each) => FORMS[each].test(node));
}

function foreignChild(layout: LayoutName, parent: string, node: string): Refusal {
  const other = layoutOf(node);
  const what =
    node === SEAT || node === EPOCH
      ? "it belongs to a race, and this store has a line. Write ?shape=race, or use another name."
      : other !== undefined
        ? `it is of the layout "${other}", and this store has "${layout}". Each would sort the other's children wrongly. Write ?layout=${other}, or use another name.`
        : READ_LOCK.test(node)
          ? "it is a reader's lock of kazoo, which is no candidate. Use another name."
          : "it is no candidate of any known recipe. Use another name, or move that node away.";
  return new Refusal(
    "STORE_FOREIGN_DATA",
    `zookeeper: ${parent} has the child ${show(node)}: ${what} Nothing was written there.`,
  );
}

// ---- names

/** Names that are used by ZooKeeper or by conclave, or are not allowed. */
const RESERVED: ReadonlySet<string> = new Set([".", "..", ROOT, "zookeeper"]);

/** Names that stand in a path as they are, unless they are reserved. */
const PLAIN = /^[\w.:-]+$/;

/** Encodes a name as one part of a path. */
export function encodeName(name: Name): string {
  if (PLAIN.test(name) && !RESERVED.has(name)) return name;
  const flaw = flawOf(name);
  if (flaw !== undefined) throw new Refusal("STORE_UNSUPPORTED", `zookeeper: ${show(name)} cannot be kept: ${flaw}`);
  if (name === "") return "%";
  if (RESERVED.has(name)) return escape(name[0] ?? "") + name.slice(1);
  return Array.from(name, (sign) => (isPlain(sign) ? sign : escape(sign))).join("");
}

export function decodeName(part: string): Name | undefined {
  if (part === "%") return "";
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** ZooKeeper refuses control characters, surrogates and the characters around them. */
function isPlain(sign: string): boolean {
  const code = sign.codePointAt(0) ?? 0;
  if (sign === "/" || sign === "%" || code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  return code < 0xd800 || (code > 0xf8ff && code < 0xfff0);
}

function escape(sign: string): string {
  return [...Buffer.from(sign)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

export function parentOf(chroot: string, name: Name): string {
  return `${chroot}/${encodeName(name)}`;
}

/** The name and the node of the path of an entry, or undefined if it is not directly below an election's node. */
export function partsOfPath(chroot: string, path: string): { readonly name: Name; readonly node: string } | undefined {
  if (!path.startsWith(`${chroot}/`)) return undefined;
  const [part = "", node, more] = path.slice(chroot.length + 1).split("/");
  const name = decodeName(part);
  return node === undefined || more !== undefined || name === undefined ? undefined : { name, node };
}
