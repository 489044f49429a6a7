// n leaders: which seats of a semaphore a candidate stands for, one call at a time. A pure machine: what happened at the seats goes in, what to do at them comes out.
//
// A semaphore of n permits is n seats, and each seat is an election of its own, with the same machine, laws and proofs as any other (machine.ts).
//
// SAFETY  at most n candidates hold a permit at one instant.
//   A candidate holds a permit only while it holds the term of a seat. There are n seats, and no two candidates hold one seat at one instant, by the argument of an
//   election. Nothing in this file is needed for that: a mistake here makes a candidate wait too long or occupy a seat for nothing, and never makes a permit more.
//   It assumes that all candidates say the same n. If they do not, the greatest n among them is the bound.
//
// RULES
//   1  The next seat is asked for only when the one before has answered that another stands there. Otherwise the first candidate would be granted all of them.
//   2  A candidate that was refused at a seat goes on waiting there while it asks for the next, so that in the end it waits at all of them, and is woken by the first that is
//      free, by the store's own means.
//   3  Of the grants that arrive, the first is the permit, and the candidate leaves all other seats. A grant that was under way is given back, and nobody sees it.
//   4  Seats that were seen to be free come first; among these, and among the others, each candidate begins somewhere else, so that candidates that come together ask for
//      different seats.

/** One call that wants a permit. */
export interface SeatSearch {
  /** Every seat once, in the order in which they are asked for. */
  readonly order: readonly number[];
  /** So many of them have been asked for. */
  asked: number;
  /** Seats where this call stands and was not granted anything: true once that seat has answered that another stands before. */
  readonly standing: Map<number, boolean>;
  /** The permit. */
  held: number | undefined;
  /** Whether nothing is wanted any more. */
  isOver: boolean;
  /** Whether the call gives up when all seats are taken. */
  readonly triesOnce: boolean;
}

export type SeatInput =
  | { readonly type: "begin" }
  /** Another stands before this candidate. */
  | { readonly type: "contested"; readonly seat: number }
  | { readonly type: "granted"; readonly seat: number }
  /** The caller wants nothing any more, or something has failed for good. */
  | { readonly type: "stop" };

export type SeatEffect =
  | { readonly type: "stand"; readonly seat: number }
  /** Stop wanting this seat, and give back what may have been granted. */
  | { readonly type: "leave"; readonly seat: number }
  /** This seat is the permit. */
  | { readonly type: "hold"; readonly seat: number }
  /** All seats are taken, and the caller does not wait. */
  | { readonly type: "none-free" };

/** Which seats to ask for, in this order. `start`: where this candidate begins, any whole number; `isFree`: a hint. */
export function seatOrder(permits: number, start: number, isFree: (seat: number) => boolean): readonly number[] {
  const all = Array.from({ length: permits }, (_, place) => (start + place) % permits);
  return [...all.filter((seat) => isFree(seat)), ...all.filter((seat) => !isFree(seat))];
}

export function createSearch(order: readonly number[], triesOnce: boolean): SeatSearch {
  return { order, asked: 0, standing: new Map(), held: undefined, isOver: false, triesOnce };
}

export function stepSearch(search: SeatSearch, input: SeatInput): readonly SeatEffect[] {
  switch (input.type) {
    case "begin":
      return askNext(search);
    case "contested":
      return contested(search, input.seat);
    case "granted":
      return granted(search, input.seat);
    case "stop":
      return leaveAll(search);
  }
}

/** The next seat is asked for only when the one before has answered (rule 1). */
function askNext(search: SeatSearch): readonly SeatEffect[] {
  const seat = search.order[search.asked];
  if (seat === undefined || search.held !== undefined || search.isOver) return [];
  search.asked += 1;
  search.standing.set(seat, false);
  return [{ type: "stand", seat }];
}

/** A candidate that was refused at a seat goes on waiting there while it asks for the next (rule 2). A seat says again and again that it is taken; only the first time asks for the next one. */
function contested(search: SeatSearch, seat: number): readonly SeatEffect[] {
  if (search.standing.get(seat) !== false) return [];
  search.standing.set(seat, true);
  if (search.triesOnce && search.asked === search.order.length) return [{ type: "none-free" }, ...leaveAll(search)];
  return askNext(search);
}

/** The first grant is the permit, and the candidate leaves all other seats (rule 3). */
function granted(search: SeatSearch, seat: number): readonly SeatEffect[] {
  search.standing.delete(seat);
  if (search.held !== undefined || search.isOver) return [{ type: "leave", seat }];
  search.held = seat;
  return [{ type: "hold", seat }, ...leaveStanding(search)];
}

function leaveAll(search: SeatSearch): readonly SeatEffect[] {
  search.isOver = true;
  return leaveStanding(search);
}

function leaveStanding(search: SeatSearch): readonly SeatEffect[] {
  const effects = [...search.standing.keys()].map((seat): SeatEffect => ({ type: "leave", seat }));
  search.standing.clear();
  return effects;
}

export interface Rest {
  readonly reason: string;
  /** Terms in a row that were shorter than a ttl, this one included. */
  readonly shortTerms: number;
  readonly isRace: boolean;
  readonly ttlMs: number;
  readonly pollMs: number;
  readonly coolDownMs: number;
}

/** How long a candidate stays away after a term that ended before its work did: as an election does after a loss, and longer where the permit was given up for others (backoff.ts). */
export function restMs({ reason, shortTerms, isRace, ttlMs, pollMs, coolDownMs }: Rest): number {
  const cooledMs = Math.min(ttlMs, coolDownMs * 2 ** Math.min(shortTerms, 10));
  const makesWay = isRace && (reason === "asked" || reason === "tenure");
  return Math.max(cooledMs, makesWay ? Math.min(1.5 * pollMs, ttlMs) : 0);
}
