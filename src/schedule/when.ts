// What a user says for "when", checked once and made into slots. All slots are instants of UTC, whatever time zone a pattern is read in.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { cronSlots } from "./cron.ts";
import { everyInterval, type NextSlot } from "./slots.ts";

/** Every so many milliseconds, counted from 1970-01-01T00:00Z: the same instants in every process. */
export interface Every {
  readonly everyMs: number;
  /** Moves every slot by so much. @default 0 */
  readonly offsetMs?: number | undefined;
}

/** A pattern of cron, read by `croner` 11, an optional peer. */
export interface CronPattern {
  /** Five fields, or six with seconds first: `0 3 * * *`. */
  readonly cron: string;
  /** The time zone in which the pattern is read: `Europe/Berlin`. It is never taken from the host, because hosts differ. @default "UTC" */
  readonly timeZone?: string | undefined;
}

/** Anything that knows the next instant after another. It must always give the same answer to the same question, in every process. */
export interface Timetable {
  /** The first slot later than `after`; nothing: there is none any more. */
  next(after: Date): Date | null | undefined;
}

/** When a schedule runs. A text is a pattern of cron in UTC. */
export type When = Every | CronPattern | Timetable | string;

/** A shorter interval is a loop, not a schedule: each slot is a write to the store. */
const EVERY_LEAST_MS = 100;

/** Throws CONFIG_INVALID. */
export function slotsOf(when: When, call: string): NextSlot {
  if (typeof when === "string") return cronSlots(when, "UTC", call);
  if (typeof when === "object" && when !== null) {
    if ("everyMs" in when) return intervalOf(when, call);
    if ("cron" in when) return cronSlots(when.cron, when.timeZone ?? "UTC", call);
    if ("next" in when && typeof when.next === "function") return timetable(when, call);
  }
  throw invalidConfig(call, [`${show(when)} does not say when. ${FORMS}`]);
}

const FORMS =
  'Pass { everyMs: 60_000 }, { cron: "0 3 * * *", timeZone: "Europe/Berlin" }, or an object with next(after)';

function intervalOf({ everyMs, offsetMs = 0 }: Every, call: string): NextSlot {
  const problems: string[] = [];
  if (!Number.isSafeInteger(everyMs) || everyMs < EVERY_LEAST_MS)
    problems.push(`everyMs ${show(everyMs)} is not a whole number of milliseconds, at least ${EVERY_LEAST_MS}`);
  if (!Number.isSafeInteger(offsetMs))
    problems.push(`offsetMs ${show(offsetMs)} is not a whole number of milliseconds`);
  if (problems.length > 0) throw invalidConfig(call, problems);
  return everyInterval(everyMs, offsetMs);
}

function timetable(when: Timetable, call: string): NextSlot {
  return (afterMs) => {
    const slot = when.next(new Date(afterMs));
    if (slot === null || slot === undefined) return undefined;
    const slotMs = slot instanceof Date ? slot.getTime() : Number.NaN;
    if (slotMs > afterMs) return slotMs;
    throw new ConclaveError(
      "CONFIG_INVALID",
      `${call}: next(${new Date(afterMs).toISOString()}) gave ${show(slot)}; it must be a later Date, or nothing`,
    );
  };
}
