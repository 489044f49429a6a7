// The marks of a schedule as memos of its election. Written by the term alone, in one step that compares the seat (docs/adr/0037-memos.md); read after the grant, never from an old copy.
import type { Election } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import type { UnfencedTerm } from "../election/term.ts";
import type { MarkPort } from "./attendant.ts";
import { formatMark, parseMark } from "./mark-text.ts";

/** Within the reserved keys. */
export const OF_SCHEDULES = "schedule/";

/** Before the key of a schedule, as the memos of its election have it. */
export const SCHEDULE_PREFIX: string = `${RESERVED}${OF_SCHEDULES}`;

export function marksOf<T extends UnfencedTerm>(election: Election<T>, term: T, key: string): MarkPort {
  return {
    async read() {
      const memo = await election.memo(`${SCHEDULE_PREFIX}${key}`);
      return memo === undefined ? undefined : parseMark(memo.value);
    },
    write: (mark) => writeReservedMemo(term, `${OF_SCHEDULES}${key}`, formatMark(mark)),
  };
}
