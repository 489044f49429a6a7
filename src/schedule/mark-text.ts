// The text of a mark, as the store keeps it: JSON, with instants as ISO texts for people who read the store by hand. Fields that this version does not know are ignored, so that a later
// version may add some.
import { ConclaveError } from "../base/errors.ts";
import { fieldsOf } from "../base/fields.ts";
import { show } from "../base/show.ts";
import type { Mark, MarkState } from "./mark.ts";

const STATES: ReadonlySet<unknown> = new Set<MarkState>(["initial", "begun", "done", "failed"]);

/** Instants as ISO texts, for those who read the store by hand. */
export function formatMark({ slotMs, state, atMs, nextMs }: Mark): string {
  const next = nextMs === undefined ? {} : { next: isoOf(nextMs) };
  return JSON.stringify({ slot: isoOf(slotMs), state, at: isoOf(atMs), ...next });
}

/** Throws STORE_FOREIGN_DATA if the text is not a mark: no slot is begun on a guess. */
export function parseMark(text: string): Mark {
  const { slot, state, at, next } = fieldsOf(text);
  const slotMs = typeof slot === "string" ? Date.parse(slot) : Number.NaN;
  if (!Number.isFinite(slotMs) || !STATES.has(state))
    throw new ConclaveError(
      "STORE_FOREIGN_DATA",
      `${show(text)} is not a mark of a schedule. No slot is begun. If nothing else of yours writes this memo, reset it: npx conclave schedule reset`,
    );
  const atMs = typeof at === "string" ? Date.parse(at) : slotMs;
  const nextMs = typeof next === "string" ? Date.parse(next) : undefined;
  return { slotMs, state: state as MarkState, atMs, nextMs };
}

/** `2026-11-16T03:00:00.000Z` */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
