// What a keep tells of the seats of its session: which of them are gone, which were never sent along, and whose holder was asked to hand over.
//
// No rival takes a seat of a live session: a taker ends the session first, and then its keep fails. So seats are read for three rarer things: a seat that an
// operator has deleted; a claim that was applied after its caller had given up (a stray); a request to hand over. They are read beside the keep, not before it: what
// is read can only be newer. If the reading fails, the session is renewed all the same.
// Strays are found by an index, which may be late. A stray that is missed stands until its session ends, or until this process claims the name again.
import { stopSignalOf } from "../call.ts";
import type { Call, Hold, Session } from "../contract.ts";
import type { Desk } from "./desk.ts";
import { nameOf, readSeat, type SeatItem, seatKey } from "./items.ts";
import { HELD_BY, HELD_INDEX } from "./schema.ts";

export interface Audit {
  readonly lost: readonly Hold[];
  readonly strays: readonly Hold[];
  readonly asked: readonly Hold[];
}

export const NOTHING_FOUND: Audit = { lost: [], strays: [], asked: [] };

export async function audit(
  desk: Desk,
  { id }: Session,
  holds: readonly Hold[],
  looksForStrays: boolean,
  call: Call,
): Promise<Audit> {
  const [seats, strays] = await Promise.all([
    readSeats(
      desk,
      holds.map(({ name }) => name),
      call,
    ).catch(() => undefined),
    looksForStrays ? findStrays(desk, id, holds, call).catch(() => []) : [],
  ]);
  if (seats === undefined) return { ...NOTHING_FOUND, strays };
  const lost = holds.filter((hold) => !isHeldBy(seats.get(hold.name), id, hold));
  const asked = holds.flatMap(({ name, bid }) => {
    const seat = seats.get(name);
    return seat?.asked === undefined || seat.vacant || seat.bid !== bid ? [] : [{ name, bid, token: seat.asked }];
  });
  return { lost, strays, asked };
}

async function readSeats(desk: Desk, names: readonly string[], call: Call): Promise<Map<string, SeatItem | undefined>> {
  const items = await desk.read(names.map(seatKey), call);
  return new Map(names.map((name, index) => [name, readSeat(items[index], desk.where)]));
}

async function findStrays(desk: Desk, id: string, holds: readonly Hold[], call: Call): Promise<readonly Hold[]> {
  const known = new Set(holds.map(({ name }) => name));
  const keys = await desk.table.keysOf(HELD_INDEX, HELD_BY, id, stopSignalOf(call));
  const others = keys.map(nameOf).filter((name) => !known.has(name));
  const seats = await readSeats(desk, others, call);
  return [...seats].flatMap(([name, seat]) => {
    const isMine = seat !== undefined && seat.session === id && !seat.vacant;
    return isMine ? [{ name, bid: seat.bid }] : [];
  });
}

function isHeldBy(seat: SeatItem | undefined, id: string, { bid, token }: Hold): boolean {
  if (seat === undefined || seat.vacant || seat.session !== id || seat.bid !== bid) return false;
  return token === undefined || token.value === seat.token;
}
