// Sessions, seats and counters over compare-and-swap: what keep, claim, release and look mean on a store that can only read records and swap one record at
// a time. Rivals judge silence (law 2: a rival waits for a full ttl of silence; src/lease/race.ts). The meaning is that of src/simulator/models/race-
// shelf.ts, which the simulator hunts.
//
// Why at most one holds a name. Without a transaction the order of the swaps carries the argument:
// 1. A claim reads the seat first and writes it last, over exactly the stamp that it has read. Of all claims that read the same seat at most one is
//    applied; the others are answered `conflict`, and a claim that arrives late finds another stamp.
// 2. A claim over a live session's seat ends that session before it writes the seat. The swap that ends it names the stamp of the keep that the taker has
//    watched. If the holder has renewed meanwhile, the swap is refused and nothing has changed. Once it is applied, no keep of that session
//    succeeds any more, because every keep swaps over a record that is not ended.
// 3. Tokens grow. A claim takes its token from the counter after it has read the seat and before it writes the seat. A later grant has read the seat that
//    this claim wrote, so it has taken its token later, and the counter only grows. A token of a claim that was beaten is never used.
// 4. A seat that was deleted by hand has no stamp to compare. There the counter is swapped over the stamp that was read, and is read once more after the
//    seat was made: if it has moved, another claim was on its way, and this one gives back what it made.
import type { Bid, Claim, Claimed, Hold, Kept, Name, Seat, Session, SessionSpec, Version, Will } from "../contract.ts";
import { asVersion, type Call, VACANT } from "../contract.ts";
import { isSameOpening, mayEnd, mayKeep, withBeat } from "../../lease/beat-rule.ts";
import { Halt } from "./halt.ts";
import type { StampedText, SwapPort } from "./port.ts";
import {
  type CountRecord,
  countKey,
  readCount,
  readSeat,
  readSession,
  type SeatRecord,
  seatKey,
  SEATS,
  sessionKey,
  type SessionRecord,
  type Stamped,
  write,
} from "./records.ts";

/** How often a swap that lost against another write of the same record is tried anew within one call. */
const TRIES = 5;

/** What stands at a name: the three records that say so. */
interface RecordsAtName {
  readonly name: Name;
  readonly seat: Stamped<SeatRecord> | undefined;
  readonly count: Stamped<CountRecord> | undefined;
  /** The session that the seat names. */
  readonly holder: Stamped<SessionRecord> | undefined;
}

export interface SwapShelfOptions {
  readonly domain: string;
  /** The ttl that is granted for the one asked for. */
  readonly grant: (askedMs: number) => number;
}

export class SwapShelf {
  readonly #port: SwapPort;
  readonly #options: SwapShelfOptions;

  constructor(port: SwapPort, options: SwapShelfOptions) {
    this.#port = port;
    this.#options = options;
  }

  // ---- keep

  /** Opening again with the same nonce finds the record of the first opening and changes nothing. */
  async open(spec: SessionSpec, call: Call): Promise<Kept> {
    const { nonce, candidate } = spec;
    const ttlMs = this.#options.grant(spec.ttlMs);
    const made: SessionRecord = { candidate, ttlMs, ended: false, beat: 0, mark: spec.beat };
    if (await this.#swap(sessionKey(nonce), undefined, write(made), call)) return kept(nonce, made);
    const known = await this.#session(nonce, call);
    if (known === undefined || known.record.ended) return { kind: "session-lost" };
    return isSameOpening(spec, known.record.mark) ? kept(nonce, known.record) : { kind: "session-lost" };
  }

  /**
   * The seats are read before the session is swapped. A rival that takes one of them ends the session first, so that the swap is refused then.
   * The beat is compared with the very record that is swapped: another copy of this process that keeps meanwhile changes its stamp.
   */
  async keep({ id, beats }: Session, holds: readonly Hold[], call: Call): Promise<Kept> {
    for (let tries = 0; tries < TRIES; tries++) {
      const session = await this.#session(id, call);
      if (session === undefined || session.record.ended) return { kind: "session-lost" };
      if (!mayKeep({ beats }, session.record.mark)) return { kind: "session-lost" };
      const seats = await this.#seatsOf(id, call);
      const next = { ...session.record, beat: session.record.beat + 1, mark: beats?.at(-1) };
      if (!(await this.#swap(sessionKey(id), session.stamp, write(next), call))) continue;
      const lost = holds.filter((hold) => !isHeldBy(seats.get(hold.name), hold));
      const known = new Set(holds.map(({ bid }) => bid));
      const strays = [...seats].flatMap(([name, { bid }]) => (known.has(bid) ? [] : [{ name, bid }]));
      return { ...kept(id, next), lost, strays };
    }
    throw contention(sessionKey(id));
  }

  async #seatsOf(id: string, call: Call): Promise<Map<Name, SeatRecord>> {
    const listed = await this.#port.list(SEATS, call);
    if (listed.kind !== "listed") throw new Halt(listed);
    const seats = new Map<Name, SeatRecord>();
    for (const entry of listed.entries) {
      const seat = readSeat(entry)?.record;
      if (seat?.session === id && !seat.vacant) seats.set(entry.key.slice(SEATS.length), seat);
    }
    return seats;
  }

  // ---- claim

  async claim(claim: Claim, call: Call): Promise<Claimed> {
    const { name, bid, value } = claim;
    const [mine, place] = await Promise.all([this.#session(claim.session.id, call), this.#place(name, call)]);
    if (mine === undefined || mine.record.ended) return { kind: "session-lost" };
    const seat = place.seat?.record;
    if (seat?.bid === bid && seat.session === claim.session.id && !seat.vacant)
      return await this.#announce(claim, place, call);
    if (!mayReplace(claim, place)) return { kind: "beaten", seat: this.#seat(place) };
    if (!(await this.#endRival(claim, place, call))) return await this.#beaten(name, call);
    const token = (place.count?.record.last ?? 0n) + 1n;
    const { ttlMs, candidate } = mine.record;
    const count = await this.#swap(countKey(name), place.count?.stamp, write({ last: token, ttlMs }), call);
    if (!count) return await this.#beaten(name, call);
    const next: SeatRecord = { session: claim.session.id, candidate, bid, token, ttlMs, value, vacant: false };
    if (!(await this.#swap(seatKey(name), place.seat?.stamp, write(next), call))) return await this.#beaten(name, call);
    if (place.seat === undefined && !(await this.#isLast(name, token, call))) {
      await this.#vacate(claim.session.id, { name, bid }, call);
      return await this.#beaten(name, call);
    }
    return { kind: "granted", hold: this.#hold(name, next) };
  }

  /** The name is this claim's already: its value is written, if it is another one. */
  async #announce(claim: Claim, place: RecordsAtName, call: Call): Promise<Claimed> {
    const { name, value } = claim;
    if (place.seat === undefined) return await this.#beaten(name, call);
    const { record, stamp } = place.seat;
    const isWritten =
      record.value === value || (await this.#swap(seatKey(name), stamp, write({ ...record, value }), call));
    // Only a late duplicate of this claim, or a taker, writes here. The next claim with this bid finds out which one it was.
    if (!isWritten) throw contention(seatKey(name));
    return { kind: "granted", hold: this.#hold(name, record) };
  }

  /** False if the holder has shown a sign of life since the claimant saw it. */
  async #endRival(claim: Claim, { seat, holder }: RecordsAtName, call: Call): Promise<boolean> {
    if (seat === undefined || seat.record.vacant || holder === undefined || holder.record.ended) return true;
    if (seat.record.session === claim.session.id) return true;
    const over = { ...holder.record, ended: true };
    return await this.#swap(sessionKey(seat.record.session), holder.stamp, write(over), call);
  }

  async #isLast(name: Name, token: bigint, call: Call): Promise<boolean> {
    const [entry] = await this.#read([countKey(name)], call);
    return readCount(entry)?.record.last === token;
  }

  async #beaten(name: Name, call: Call): Promise<Claimed> {
    return { kind: "beaten", seat: this.#seat(await this.#place(name, call)) };
  }

  #hold(name: Name, { bid, token }: SeatRecord): Hold {
    return { name, bid, token: { domain: this.#options.domain, value: token, bid } };
  }

  // ---- release

  async release({ session, holds, endSession }: Will, call: Call): Promise<void> {
    if (endSession && !(await this.#mayEnd(session, call))) return;
    await Promise.all(holds.map((hold) => this.#vacate(session.id, hold, call)));
    if (endSession) await this.#end(session, call);
  }

  async #mayEnd(session: Session, call: Call): Promise<boolean> {
    return mayEnd(session, (await this.#session(session.id, call))?.record.mark);
  }

  async #vacate(id: string, { name, bid }: { readonly name: Name; readonly bid: Bid }, call: Call): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const [entry] = await this.#read([seatKey(name)], call);
      const seat = readSeat(entry);
      if (seat === undefined || seat.record.vacant || seat.record.session !== id || seat.record.bid !== bid) return;
      if (await this.#swap(seatKey(name), seat.stamp, write({ ...seat.record, vacant: true }), call)) return;
    }
    throw contention(seatKey(name));
  }

  /** A session that was never opened is recorded as ended, so that an opening still on its way finds it spent. */
  async #end({ id, candidate, ttlMs, beats }: Session, call: Call): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const session = await this.#session(id, call);
      if (session?.record.ended === true || !mayEnd({ beats }, session?.record.mark)) return;
      const over = { ...(session?.record ?? { candidate, ttlMs, beat: 0 }), ended: true };
      if (await this.#swap(sessionKey(id), session?.stamp, write(over), call)) return;
    }
    throw contention(sessionKey(id));
  }

  // ---- look

  async look(names: readonly Name[], call: Call): Promise<readonly Seat[]> {
    return (await this.#places(names, call)).map((place) => this.#seat(place));
  }

  async #place(name: Name, call: Call): Promise<RecordsAtName> {
    const [place] = await this.#places([name], call);
    if (place === undefined) throw new Error("a read answers every key");
    return place;
  }

  /**
   * The sessions are read after the seats. If a seat changes between, its stamp is an old one, and a claim over it is refused.
   */
  async #places(names: readonly Name[], call: Call): Promise<readonly RecordsAtName[]> {
    const entries = await this.#read([...names.map(seatKey), ...names.map(countKey)], call);
    const seats = names.map((_, index) => readSeat(entries[index]));
    const ids = [
      ...new Set(seats.flatMap((seat) => (seat === undefined || seat.record.vacant ? [] : [seat.record.session]))),
    ];
    const found = ids.length === 0 ? [] : await this.#read(ids.map(sessionKey), call);
    const sessions = new Map(ids.map((id, index) => [id, readSession(found[index])]));
    return names.map((name, index) => {
      const seat = seats[index];
      const count = readCount(entries[names.length + index]);
      return { name, seat, count, holder: seat === undefined ? undefined : sessions.get(seat.record.session) };
    });
  }

  #seat(place: RecordsAtName): Seat {
    const { name, seat, count } = place;
    const state = stateOf(place);
    const version = versionOf(place);
    if (state === "missing") return { name, version, state, ttlMs: (seat ?? count)?.record.ttlMs };
    if (state === "vacant" || seat === undefined) return { name, version, state };
    const { candidate, bid, token, value, ttlMs } = seat.record;
    return { name, version, state, holder: { candidate, bid, token, domain: this.#options.domain, value }, ttlMs };
  }

  // ---- the port

  async #session(id: string, call: Call): Promise<Stamped<SessionRecord> | undefined> {
    const [entry] = await this.#read([sessionKey(id)], call);
    return readSession(entry);
  }

  async #read(keys: readonly string[], call: Call): Promise<readonly (StampedText | undefined)[]> {
    const found = await this.#port.read(keys, call);
    if (found.kind !== "found") throw new Halt(found);
    return found.entries;
  }

  /** Whether it was applied. No answer ends the whole call as unknown: it may be applied yet. */
  async #swap(key: string, over: string | undefined, text: string, call: Call): Promise<boolean> {
    const swapped = await this.#port.swap(key, over, text, call);
    if (swapped.kind === "swapped") return true;
    if (swapped.kind === "conflict") return false;
    throw new Halt(swapped);
  }
}

/** Over VACANT the last bid that held the name is not granted again: that claim was applied before, and comes late. */
function mayReplace({ over, bid }: Claim, place: RecordsAtName): boolean {
  if (over === VACANT) return stateOf(place) === "vacant" && place.seat?.record.bid !== bid;
  return over === versionOf(place);
}

/** A seat or a session whose record is gone was deleted by hand. Rivals wait as if it were held. */
function stateOf({ seat, count, holder }: RecordsAtName): "vacant" | "held" | "missing" {
  if (seat === undefined) return count === undefined ? "vacant" : "missing";
  if (seat.record.vacant) return "vacant";
  if (holder === undefined) return "missing";
  return holder.record.ended ? "vacant" : "held";
}

/** It changes with every grant and every giving back (the seat's stamp), with every keep and the end of the holder (the session's). */
function versionOf({ seat, count, holder }: RecordsAtName): Version {
  if (seat === undefined) return asVersion(`none:${count?.stamp ?? ""}`);
  return asVersion(seat.record.vacant ? `free:${seat.stamp}` : `held:${seat.stamp}:${holder?.stamp ?? ""}`);
}

function isHeldBy(seat: SeatRecord | undefined, { bid, token }: Hold): boolean {
  return seat?.bid === bid && (token === undefined || token.value === seat.token);
}

function kept(id: string, { candidate, ttlMs, mark }: SessionRecord): Extract<Kept, { kind: "kept" }> {
  return { kind: "kept", session: withBeat({ id, candidate, ttlMs }, mark), lost: [], unsure: [], strays: [] };
}

/** The write was definitely not applied: each try was answered `conflict`. */
function contention(key: string): Halt {
  return new Halt({
    kind: "refused",
    code: "STORE_UNREACHABLE",
    message: `the record ${JSON.stringify(key)} was changed by others each time it was to be written (${TRIES} times). It is tried again.`,
    retryable: true,
  });
}
