// What operators ask of schedules: to list the marks that a store has, and to set a mark anew.
import { writeReservedMemo } from "../election/memo.ts";
import type { UnfencedTerm } from "../election/term.ts";
import type { Call, Store } from "../stores/contract.ts";
import { readAllMemos } from "../stores/memos.ts";
import type { Mark } from "./mark.ts";
import { formatMark, parseMark } from "./mark-text.ts";
import { OF_SCHEDULES, SCHEDULE_PREFIX } from "./marks.ts";

export interface MarkedSchedule {
  readonly key: string;
  readonly token: bigint;
  /** Undefined: the text there is not a mark. */
  readonly mark: Mark | undefined;
}

/** The schedules of one election that have a mark. */
export async function schedulesOf(store: Store, election: string, call: Call): Promise<readonly MarkedSchedule[]> {
  const memos = await readAllMemos(store, election, call);
  return memos
    .filter(({ key }) => key.startsWith(SCHEDULE_PREFIX))
    .map(({ key, value, token }) => ({
      key: key.slice(SCHEDULE_PREFIX.length),
      token: token.value,
      mark: markOf(value),
    }));
}

function markOf(text: string): Mark | undefined {
  try {
    return parseMark(text);
  } catch {
    return undefined;
  }
}

/** The next leader takes slots up to `slotMs` as done. */
export function resetSchedule(term: UnfencedTerm, key: string, slotMs: number, wallMs: number): Promise<void> {
  const mark: Mark = { slotMs, state: "initial", atMs: wallMs, nextMs: undefined };
  return writeReservedMemo(term, `${OF_SCHEDULES}${key}`, formatMark(mark));
}
