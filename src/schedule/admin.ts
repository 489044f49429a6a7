// What operators ask of schedules: which marks a store has, and a mark set anew.
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { writeReservedMemo } from "../election/memo.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { type Call, cannotKeepMemos, keepsMemos, type Store } from "../stores/contract.ts";
import type { Mark } from "./mark.ts";
import { formatMark, parseMark } from "./mark-text.ts";
import { OF_SCHEDULES, SCHEDULE_PREFIX } from "./marks.ts";

export interface MarkedSchedule {
  readonly key: string;
  readonly token: bigint;
  /** Undefined: what stands there is no mark. */
  readonly mark: Mark | undefined;
}

/** The schedules of one election that have a mark. */
export async function schedulesOf(store: Store, election: string, call: Call): Promise<readonly MarkedSchedule[]> {
  if (!keepsMemos(store)) throw cannotKeepMemos(store);
  const answer = await store.readMemos(election, undefined, call);
  if (answer.kind !== "memos") {
    const { cause } = answer;
    const message =
      answer.kind === "refused" ? answer.message : `the memos of "${election}" could not be read: no answer`;
    throw isConclaveError(cause) ? cause : new ConclaveError("STORE_UNREACHABLE", message, { cause });
  }
  return answer.memos
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

/** Slots up to `slotMs` have been, as far as the next leader is concerned. */
export function resetSchedule(term: UnfencedTerm, key: string, slotMs: number, wallMs: number): Promise<void> {
  const mark: Mark = { slotMs, state: "initial", atMs: wallMs, nextMs: undefined };
  return writeReservedMemo(term, `${OF_SCHEDULES}${key}`, formatMark(mark));
}
