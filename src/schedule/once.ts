// A key that is run once per fleet: `conclave run --once KEY`. One memo of the election lists the last keys and what became of each. As with schedules, the mark is written before the
// command begins (no key begins twice), or, with "success", after it has ended well (none is missing; a key whose runner died or failed is begun again).
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import type { Election } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { isoOf } from "./mark-text.ts";

/** How many keys are remembered. A key older than these would begin again. */
export const ONCE_KEPT = 50;
/** Characters of a key. */
export const ONCE_KEY_MAX = 64;

export interface OnceEntry {
  readonly key: string;
  readonly state: "begun" | "done";
  /** When that was noted, by the clock of its writer. For people. */
  readonly at: string;
}

const KEY = "once";

/** What the list says of a key; undefined if the key is not in it. */
export async function readOnce(election: Election<UnfencedTerm>, key: string): Promise<OnceEntry | undefined> {
  return entriesOf((await election.memo(RESERVED + KEY))?.value).find((entry) => entry.key === key);
}

/** Resolves when the mark is written for good. Reads the list first, in the same term: only this term writes the list. */
export async function noteOnce(
  election: Election<UnfencedTerm>,
  term: UnfencedTerm,
  key: string,
  state: OnceEntry["state"],
  wallMs: number,
): Promise<void> {
  const others = entriesOf((await election.memo(RESERVED + KEY))?.value).filter((entry) => entry.key !== key);
  const entry: OnceEntry = { key, state, at: isoOf(wallMs) };
  await writeReservedMemo(term, KEY, JSON.stringify([...others, entry].slice(-ONCE_KEPT)));
}

function entriesOf(text: string | undefined): readonly OnceEntry[] {
  if (text === undefined) return [];
  const entries = parsed(text);
  if (Array.isArray(entries) && entries.every(isEntry)) return entries;
  throw new ConclaveError(
    "STORE_FOREIGN_DATA",
    `the memo ${RESERVED}${KEY} says ${show(text)}, which is no list of keys. Nothing is begun.`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isEntry(entry: unknown): entry is OnceEntry {
  const { key, state } = (entry ?? {}) as Partial<OnceEntry>;
  return typeof key === "string" && (state === "begun" || state === "done");
}
