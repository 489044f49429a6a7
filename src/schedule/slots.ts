// Slots: the instants at which a schedule runs, in milliseconds of UTC. Pure. A timetable is asked only for the next slot after an instant, so that every process of a fleet finds the same
// slots, whenever it asks. Intervals are multiples since the epoch, not since the start of a process.

/**
 * The first slot after an instant; undefined: there is none any more.
 * INVARIANT: it is later than the instant, and of two instants the later has no earlier slot.
 */
export type NextSlot = (afterMs: number) => number | undefined;

/** Milliseconds since the epoch that a Date can show. */
const LAST_MS = 8.64e15;

/** Multiples of `everyMs` since the epoch, moved by `offsetMs`. */
export function everyInterval(everyMs: number, offsetMs = 0): NextSlot {
  return (afterMs) => within((Math.floor((afterMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs);
}

function within(slotMs: number): number | undefined {
  return slotMs <= LAST_MS ? slotMs : undefined;
}

/** The slots that are due. */
export interface Due {
  /** The newest slots after one instant and not after another, oldest first; `most` of them at most. */
  readonly slots: readonly number[];
  /** How many older ones were left out; those beyond ten thousand are not counted. */
  readonly leftOut: number;
}

const FIRST_WINDOW_MS = 1000;
const COUNTED_MAX = 10_000;

/**
 * The newest `most` slots in (afterMs, nowMs]. A timetable can only be asked forwards, and a year of seconds has thirty million slots; so windows that end now are searched,
 * each twice as long as the one before, until one holds enough or begins at `afterMs`.
 */
export function dueSlots(next: NextSlot, afterMs: number, nowMs: number, most: number): Due {
  const first = next(afterMs);
  if (first === undefined || first > nowMs) return { slots: [], leftOut: 0 };
  for (let windowMs = FIRST_WINDOW_MS; ; windowMs *= 2) {
    const fromMs = Math.max(afterMs, nowMs - windowMs);
    const slots = newestWithin(next, fromMs, nowMs, most);
    const [oldest = first] = slots;
    if (slots.length === most || fromMs === afterMs) return { slots, leftOut: countBefore(next, first, oldest) };
  }
}

function newestWithin(next: NextSlot, fromMs: number, nowMs: number, most: number): readonly number[] {
  const slots: number[] = [];
  for (let slot = next(fromMs); slot !== undefined && slot <= nowMs; slot = next(slot)) {
    slots.push(slot);
    if (slots.length > most) slots.shift();
  }
  return slots;
}

function countBefore(next: NextSlot, first: number, untilMs: number): number {
  let count = 0;
  for (let slot: number | undefined = first; slot !== undefined && slot < untilMs && count < COUNTED_MAX; count++)
    slot = next(slot);
  return count;
}
