// An agenda: items with a due time, the earliest first. A binary heap in which each item knows its place, so that an item can be moved
// or struck out in O(log n). Ties keep no order of their own; a caller that needs one breaks ties by what the items say.

export interface AgendaEntry {
  /** Monotonic milliseconds. */
  dueAt: number;
  /** Place in the heap, −1 when not on the agenda. Kept by this module. */
  place: number;
}

export type Agenda<T extends AgendaEntry> = T[];

export function earliest(agenda: Agenda<AgendaEntry>): number {
  return agenda[0]?.dueAt ?? Infinity;
}

/** Puts `entry` on the agenda at `dueAt`, or moves it there. */
export function schedule<T extends AgendaEntry>(agenda: Agenda<T>, entry: T, dueAt: number): void {
  entry.dueAt = dueAt;
  if (entry.place < 0) {
    entry.place = agenda.length;
    agenda.push(entry);
  }
  rise(agenda, entry);
  sink(agenda, entry);
}

export function strike<T extends AgendaEntry>(agenda: Agenda<T>, entry: T): void {
  if (entry.place < 0) return;
  const hole = entry.place;
  const last = agenda.pop() as T;
  entry.place = -1;
  if (last === entry) return;
  agenda[hole] = last;
  last.place = hole;
  rise(agenda, last);
  sink(agenda, last);
}

/** Takes the earliest entry off if it is due at `now`. */
export function takeDue<T extends AgendaEntry>(agenda: Agenda<T>, now: number): T | undefined {
  const first = agenda[0];
  if (first === undefined || first.dueAt > now) return undefined;
  strike(agenda, first);
  return first;
}

function rise<T extends AgendaEntry>(agenda: Agenda<T>, entry: T): void {
  while (entry.place > 0) {
    const parent = agenda[(entry.place - 1) >> 1] as T;
    if (parent.dueAt <= entry.dueAt) return;
    swap(agenda, entry, parent);
  }
}

function sink<T extends AgendaEntry>(agenda: Agenda<T>, entry: T): void {
  for (;;) {
    const left = agenda[2 * entry.place + 1];
    const right = agenda[2 * entry.place + 2];
    const child = right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
    if (child === undefined || child.dueAt >= entry.dueAt) return;
    swap(agenda, child, entry);
  }
}

function swap<T extends AgendaEntry>(agenda: Agenda<T>, a: T, b: T): void {
  const place = a.place;
  a.place = b.place;
  b.place = place;
  agenda[a.place] = a;
  agenda[b.place] = b;
}
