// Where a group lives in the store: three kinds of elections, and the reserved memos of each.
//
//   partitions/GROUP/controller   its term assigns. Memos: the index, which tells members what has changed, and the chunks
//   partitions/GROUP/member/ID    the member's own seat. Memo: what the member says of itself
//   partitions/GROUP/registry     a lock, held for moments. Memo: which ids there are, and what operators have asked for
import { invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { bytesOf, flawOf } from "../base/text.ts";
import { RESERVED } from "../election/memo.ts";

/** Keys in the form that `writeReservedMemo` takes. `election.memo` takes them with RESERVED before them. */
export const INDEX_KEY = "partitions/index";
export const MEMBER_KEY = "partitions/member";
export const REGISTRY_KEY = "partitions/registry";
const CHUNK_KEY = "partitions/chunk/";

export const reserved = (key: string): string => `${RESERVED}${key}`;
export const chunkKey = (index: number): string => `${CHUNK_KEY}${index}`;

/** The number of the chunk that a memo holds, by its key; undefined: it is something else. */
export function chunkOfKey(key: string): number | undefined {
  const prefix = reserved(CHUNK_KEY);
  return key.startsWith(prefix) ? Number(key.slice(prefix.length)) : undefined;
}

export const controllerName = (group: string): string => `partitions/${group}/controller`;
export const memberName = (group: string, id: string): string => `partitions/${group}/member/${id}`;
export const registryName = (group: string): string => `partitions/${group}/registry`;

const GROUP_BYTES_MAX = 100;
const ID_BYTES_MAX = 64;

/** Problems with the name of a group; empty if there are none. */
export function problemsOfGroup(group: unknown): readonly string[] {
  return problemOf("the group", group, GROUP_BYTES_MAX);
}

export function problemsOfId(id: unknown): readonly string[] {
  return problemOf("the id", id, ID_BYTES_MAX);
}

export function checkGroup(group: unknown, call: string): asserts group is string {
  const problems = problemsOfGroup(group);
  if (problems.length > 0) throw invalidConfig(call, problems);
}

function problemOf(what: string, text: unknown, most: number): readonly string[] {
  const fits = typeof text === "string" && bytesOf(text) <= most && /^[^\s/\p{Cc}]+$/u.test(text);
  const flaw = fits ? flawOf(text) : `1 to ${most} bytes, without spaces and slashes`;
  return flaw === undefined ? [] : [`${what} ${show(text)}: ${flaw}`];
}
