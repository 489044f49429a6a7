// The marks of a schedule as memos of its election. Only the term writes them, in one step that compares the seat (docs/adr/0037-memos.md). They are
// read after the grant, never from an old copy.
import type { Election } from "../election/face.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import type { UnfencedTerm } from "../election/term.ts";
import type { MarkPort } from "./attendant.ts";
import { formatMark, parseMark } from "./mark-text.ts";

/** The prefix within the reserved keys. */
export const OF_SCHEDULES = "schedule/";

/** The prefix of a schedule's key among the memos of its election. */
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
