// Sessions and seats in DynamoDB: what keep, claim, release and look mean where one item at a time is written under a condition, and every read is consistent.
// Rivals judge silence (law 2: a rival waits for a full ttl of silence; src/lease/race.ts).
//
// Why at most one holds a name.
// 1. A claim reads the seat first and writes it last, over exactly the stamp that it has read. Stamps are drawn at random for each write and never come back.
//    Of all claims that have read the same seat at most one is applied, and a claim that arrives late finds another stamp.
// 2. A claim over a live session's seat ends that session before it writes the seat, over the stamp of the keep that the taker has watched. If the holder has
//    renewed meanwhile, nothing is changed. Once a session is ended no keep of it succeeds any more: every keep demands that it is not ended.
// 3. Tokens grow. The token stands in the seat, and each grant writes the next one over exactly the seat that it has read.
// 4. A seat that was deleted by hand has no stamp and no token left. Its name item says that there was one. A claim that makes the seat anew first raises the era in
//    the name item, over the stamp that it has read, and all tokens of an era are greater than those of eras before. After it has made the seat it reads the
//    era once more: if that has moved, another claim was on its way, and this one gives back what it made. A seat of an older era than its name's, which
//    such a claim may leave behind, is never continued: its next grant raises the era too.
//    A candidate that claims such a name waits as if it were held, for the longest ttl of all its holders. Meanwhile the old holder's keep finds its seat gone.
// 5. The item of a session may be removed at any instant, by the table's time to live or by hand. No keep makes an item, so that a session without one is over. Its seats are
//    waited for as if they were held, for the ttl that they carry; its holder's last keep was applied before that, so that its deadline passes first. Tokens stand in seats: none
//    is lost. What is removed after a day cannot be made anew by an opening that comes late: AWS refuses a request that was signed more than some minutes ago.
import type { Claim, Claimed, Hold, Kept, Name, Seat, Session, SessionSpec, Version } from "../contract.ts";
import { asVersion, type Call, VACANT } from "../contract.ts";
import { Recent } from "../../base/recent.ts";
import { isSameOpening, withBeat } from "../../lease/beat-rule.ts";
import type { Attribute, Item } from "../../clients/dynamodb/client.ts";
import type { Desk } from "./desk.ts";
import { FreeSeats, type Sitting } from "./free-seats.ts";
import {
  firstToken,
  flag,
  nameKey,
  type NameItem,
  readName,
  readSeat,
  readSession,
  type SeatItem,
  seatKey,
  type SessionItem,
  sessionKey,
  text,
  whole,
} from "./items.ts";
import { overtaken } from "./refusals.ts";
import { type GONE_AT, goneAt, HELD_BY } from "./schema.ts";

/** What stands at a name. */
export interface ItemsAtName {
  readonly name: Name;
  readonly seat: SeatItem | undefined;
  /** Is read if the seat is not there, and for a claim. */
  readonly named: NameItem | undefined;
  /** The session that the seat names. */
  readonly holder: SessionItem | undefined;
}

const OVER_STAMP = "#stamp = :over";
const NOT_THERE = "attribute_not_exists(#key)";
/** More names than one process waits for. */
const NAMES = 10_000;

export class DynamoShelf {
  readonly #desk: Desk;
  readonly #now: () => Date;
  readonly #free = new FreeSeats();
  /** The session that a look has last seen at a name: it is read beside the seat. If another session is there by now, that one is read, too. */
  readonly #seen = new Recent<Name, string | undefined>(NAMES);

  /** `now` is for the time to live alone: nothing here is decided by it. */
  constructor(desk: Desk, now: () => Date) {
    this.#desk = desk;
    this.#now = now;
  }

  #goneAt(ttlMs: number): { readonly [GONE_AT]: Attribute } {
    return goneAt(this.#now(), ttlMs);
  }

  // ---- sessions

  /** Opening again with the same nonce finds the item of the first opening and changes nothing. */
  async open(spec: SessionSpec, ttlMs: number, domain: string, call: Call): Promise<Kept> {
    const { nonce, candidate, beat } = spec;
    const mark = beat === undefined ? {} : { mark: text(beat) };
    const session = { candidate: text(candidate), ttlMs: whole(ttlMs), ended: flag(false), domain: text(domain) };
    const set = { ...session, ...mark, ...this.#goneAt(ttlMs) };
    const opened = await this.#desk.swap({ key: sessionKey(nonce), condition: NOT_THERE, set }, call);
    if (opened.kind === "written") return kept({ id: nonce, candidate, ttlMs }, beat);
    const known = readSession(opened.item, this.#desk.where);
    if (known === undefined || known.ended || !isSameOpening(spec, known.mark)) return { kind: "session-lost" };
    return kept({ id: nonce, candidate: known.candidate, ttlMs: known.ttlMs }, known.mark);
  }

  /** One write for the session and everything that it holds. The condition is that of lease/beat-rule.ts: one of the beats before the last one stands there. */
  async keep({ id, candidate, ttlMs, beats = [] }: Session, call: Call): Promise<Kept> {
    const beat = beats.at(-1);
    const known = standing(beats.slice(0, -1));
    const condition = `#ended = :false${beats.length < 2 ? "" : ` AND (attribute_not_exists(#mark) OR ${known.condition})`}`;
    const values = { ":false": flag(false), ...(beats.length < 2 ? {} : known.values) };
    const set = { mark: beat === undefined ? undefined : text(beat), ...this.#goneAt(ttlMs) };
    const written = await this.#desk.swap({ key: sessionKey(id), condition, values, set, sign: beat }, call);
    if (written.kind === "written") return kept({ id, candidate, ttlMs }, beat);
    this.#free.forget(id);
    return { kind: "session-lost" };
  }

  /**
   * Does nothing if the session is ended already, or if a copy of this process goes on with it: then none of the beats stands there. A session that was never opened is
   * recorded as ended, so that an opening still on its way finds it spent.
   */
  async end({ id, candidate, ttlMs, beats }: Session, call: Call): Promise<void> {
    this.#free.forget(id);
    const known = beats === undefined ? undefined : standing(beats);
    const isMine = known === undefined ? "" : ` AND (attribute_not_exists(#mark) OR ${known.condition})`;
    const condition = `(attribute_not_exists(#ended) OR #ended = :false)${isMine}`;
    const values = { ":false": flag(false), ...known?.values };
    const set = { ended: flag(true), ...this.#goneAt(ttlMs) };
    const atFirst = { candidate: text(candidate), ttlMs: whole(ttlMs), domain: text("-") };
    await this.#desk.swap({ key: sessionKey(id), condition, values, set, atFirst }, call);
  }

  // ---- claim

  /** A claim for a seat that this handle has given back: one write. undefined if this handle does not know such a seat, or the seat has changed: then the claim has to read. */
  async retake(claim: Claim, call: Call): Promise<Claimed | undefined> {
    const { name, bid, value } = claim;
    const free = this.#free.take(claim, ({ stamp }) => freeVersion(stamp));
    if (free === undefined) return undefined;
    const next = { ...free, bid, value, token: free.token + 1n };
    // The rest of the seat is what this session wrote there before.
    const written = await this.#desk.swap({ key: seatKey(name), ...overStamp(free), set: ofTerm(next) }, call);
    if (written.kind === "conflict") return undefined;
    this.#free.granted(name, next);
    return { kind: "granted", hold: holdOf(name, next) };
  }

  /** What a claim has to know, read for many at once: the sessions that claim, and what stands at the names. */
  async survey(claims: readonly Claim[], call: Call): Promise<readonly ClaimSurvey[]> {
    const { where } = this.#desk;
    const keys = claims.flatMap(({ session, name }) => [sessionKey(session.id), seatKey(name), nameKey(name)]);
    const items = await this.#desk.read(keys, call);
    const found = claims.map((_, index) => ({
      mine: readSession(items[3 * index], where),
      seat: readSeat(items[3 * index + 1], where),
      named: readName(items[3 * index + 2], where),
    }));
    const holders = await this.#holders(
      found.map(({ seat }) => seat),
      call,
    );
    return claims.map((claim, index) => {
      const { mine, seat, named } = found[index] ?? {};
      return { mine, place: { name: claim.name, seat, named, holder: holders(seat) } };
    });
  }

  async claim(claim: Claim, { mine, place }: ClaimSurvey, call: Call): Promise<Claimed> {
    const { name, bid } = claim;
    const { seat } = place;
    if (mine === undefined || mine.ended) return { kind: "session-lost" };
    if (seat?.bid === bid && seat.session === claim.session.id && !seat.vacant)
      return await this.#announce(claim, seat, call);
    if (!mayReplace(claim, place)) return { kind: "beaten", seat: seatOf(place) };
    if (!(await this.#endRival(claim, place, call))) return await this.#beaten(name, call);
    const era = await this.#eraFor(mine, place, call);
    if (era === undefined) return await this.#beaten(name, call);
    const token = seat?.era === era ? seat.token + 1n : firstToken(era);
    const next = { ...mine, session: claim.session.id, bid, token, value: claim.value, era };
    if (!(await this.#sit(name, seat, next, call))) return await this.#beaten(name, call);
    if (seat === undefined && !(await orUnknown(this.#confirm(claim, era, call))))
      return await this.#beaten(name, call);
    this.#free.granted(name, next);
    return { kind: "granted", hold: holdOf(name, next) };
  }

  async #sit(name: Name, over: SeatItem | undefined, next: Sitting, call: Call): Promise<boolean> {
    const set = {
      ...ofTerm(next),
      session: text(next.session),
      candidate: text(next.candidate),
      domain: text(next.domain),
      ttlMs: whole(next.ttlMs),
      era: whole(next.era),
    };
    const atFirst = { memos: { M: {} } };
    const written = await this.#desk.swap({ key: seatKey(name), ...overStamp(over), set, atFirst }, call);
    return written.kind === "written";
  }

  /** The name is this claim's already: its value is written, if it is another one. */
  async #announce({ name, value }: Claim, seat: SeatItem, call: Call): Promise<Claimed> {
    const swap = { key: seatKey(name), ...overStamp(seat), set: { value: text(value) } };
    // Only a late duplicate of this claim, or a taker, writes here. The next claim with this bid finds out which one it was.
    if (seat.value !== value && (await this.#desk.swap(swap, call)).kind === "conflict") throw overtaken(name);
    return { kind: "granted", hold: holdOf(name, seat) };
  }

  /** False if the holder has shown a sign of life since the claimant saw it. */
  async #endRival(claim: Claim, { seat, holder }: ItemsAtName, call: Call): Promise<boolean> {
    if (seat === undefined || seat.vacant || holder === undefined || holder.ended) return true;
    if (seat.session === claim.session.id) return true;
    const set = { ended: flag(true), ...this.#goneAt(holder.ttlMs) };
    return (
      (await this.#desk.swap({ key: sessionKey(seat.session), ...overStamp(holder), set }, call)).kind === "written"
    );
  }

  /**
   * The era in which the claim may be granted; undefined if another claim was faster. The name item is written only where the seat is made, or made anew, or where a
   * session has a longer ttl than any before it: before the seat is, so that the ttl of a seat that is gone is never longer than its name says.
   */
  async #eraFor(mine: SessionItem, { name, seat, named }: ItemsAtName, call: Call): Promise<bigint | undefined> {
    const isContinued = seat !== undefined && (named === undefined || named.era === seat.era);
    const last = named?.era ?? seat?.era;
    const era = last === undefined ? 0n : isContinued ? last : last + 1n;
    const ttlMs = Math.max(mine.ttlMs, named?.ttlMs ?? 0, seat?.ttlMs ?? 0);
    if (named?.era === era && named.ttlMs === ttlMs) return era;
    const set = { era: whole(era), ttlMs: whole(ttlMs) };
    const written = await this.#desk.swap({ key: nameKey(name), ...overStamp(named), set }, call);
    return written.kind === "written" ? era : undefined;
  }

  /** Whether the seat that was made still belongs to the name's era. If not, it is given back. */
  async #confirm({ name, bid, session }: Claim, era: bigint, call: Call): Promise<boolean> {
    const named = readName(await this.#desk.readOne(nameKey(name), call), this.#desk.where);
    if (named?.era === era) return true;
    await this.vacate(session.id, { name, bid }, call);
    return false;
  }

  async #beaten(name: Name, call: Call): Promise<Claimed> {
    const [place] = await this.places([name], call);
    if (place === undefined) throw new Error("a read answers every key");
    return { kind: "beaten", seat: seatOf(place) };
  }

  // ---- release

  /** Is conditioned on session and bid. A seat that is not there any more was given back before, or is another's. */
  async vacate(id: string, { name, bid }: Pick<Hold, "name" | "bid">, call: Call): Promise<void> {
    const condition = "#session = :session AND #bid = :bid AND #vacant = :false";
    const values = { ":session": text(id), ":bid": text(bid), ":false": flag(false) };
    const set = { vacant: flag(true), [HELD_BY]: undefined };
    const written = await this.#desk.swap({ key: seatKey(name), condition, values, set }, call);
    if (written.kind === "written") this.#free.vacated(id, { name, bid }, written.stamp);
  }

  // ---- look

  async seats(names: readonly Name[], call: Call): Promise<readonly Seat[]> {
    return (await this.places(names, call)).map(seatOf);
  }

  /**
   * Seats and sessions are read one by one, in any order. If one changes between, its stamp here is an old one, and a claim over it is refused: the claim reads again, and writes
   * over exactly what it has read.
   */
  async places(names: readonly Name[], call: Call): Promise<readonly ItemsAtName[]> {
    const { where } = this.#desk;
    const guesses = [...new Set(names.flatMap((name) => this.#seen.get(name) ?? []))];
    const items = await this.#desk.read([...names.map(seatKey), ...guesses.map(sessionKey)], call);
    const seats = names.map((_, index) => readSeat(items[index], where));
    const beside = new Map(guesses.map((id, index) => [id, readSession(items[names.length + index], where)]));
    for (const [index, name] of names.entries())
      this.#seen.set(name, seats[index]?.vacant === false ? seats[index].session : undefined);
    const gone = names.filter((_, index) => seats[index] === undefined);
    const [holders, known] = await Promise.all([
      this.#holders(seats, call, beside),
      this.#desk.read(gone.map(nameKey), call),
    ]);
    const named = new Map(gone.map((name, index) => [name, readName(known[index], where)]));
    return names.map((name, index) => {
      return { name, seat: seats[index], named: named.get(name), holder: holders(seats[index]) };
    });
  }

  /** `known`: sessions that were read already. */
  async #holders(
    seats: readonly (SeatItem | undefined)[],
    call: Call,
    known: ReadonlyMap<string, SessionItem | undefined> = new Map(),
  ): Promise<(seat: SeatItem | undefined) => SessionItem | undefined> {
    const named = seats.flatMap((seat) => (seat === undefined || seat.vacant ? [] : [seat.session]));
    const ids = [...new Set(named)].filter((id) => known.get(id) === undefined);
    const items = await this.#desk.read(ids.map(sessionKey), call);
    const found = new Map([
      ...known,
      ...ids.map((id, index) => [id, readSession(items[index], this.#desk.where)] as const),
    ]);
    return (seat) => (seat === undefined ? undefined : found.get(seat.session));
  }
}

/** The attributes that change with every term, also of the same session. */
function ofTerm({ session, bid, token, value }: Sitting): Record<string, Attribute | undefined> {
  const mine = { bid: text(bid), token: whole(token), value: text(value) };
  return { ...mine, [HELD_BY]: text(session), vacant: flag(false), asked: undefined };
}

/** The seat is written: after an error from here on, the answer must not be that nothing was written. */
async function orUnknown<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest;
  } catch (cause) {
    throw new Error("a seat was made, and it could not be read whether it counts", { cause });
  }
}

export interface ClaimSurvey {
  /** The session that claims. */
  readonly mine: SessionItem | undefined;
  readonly place: ItemsAtName;
}

function overStamp(over: { readonly stamp: string } | undefined): {
  readonly condition: string;
  readonly values: Item;
} {
  return over === undefined
    ? { condition: NOT_THERE, values: {} }
    : { condition: OVER_STAMP, values: { ":over": text(over.stamp) } };
}

/** The condition that one of these beats stands in the session. */
function standing(beats: readonly string[]): { readonly condition: string; readonly values: Item } {
  const values = Object.fromEntries(beats.map((beat, index) => [`:beat${index}`, text(beat)]));
  const condition = beats.length === 0 ? "attribute_not_exists(#mark)" : `#mark IN (${Object.keys(values).join(", ")})`;
  return { condition, values };
}

/** Over VACANT the last bid that held the name is not granted again: that claim was applied before, and comes late. */
function mayReplace({ over, bid }: Claim, place: ItemsAtName): boolean {
  if (over === VACANT) return stateOf(place) === "vacant" && place.seat?.bid !== bid;
  return over === versionOf(place);
}

/** A seat or a session whose item is gone was deleted by hand. Rivals wait as if it were held. */
function stateOf({ seat, named, holder }: ItemsAtName): "vacant" | "held" | "missing" {
  if (seat === undefined) return named === undefined ? "vacant" : "missing";
  if (seat.vacant) return "vacant";
  if (holder === undefined) return "missing";
  return holder.ended ? "vacant" : "held";
}

/** It changes with every grant and every giving back (the seat's stamp), with every keep and the end of the holder (the session's). */
function versionOf({ seat, named, holder }: ItemsAtName): Version {
  if (seat === undefined) return asVersion(`none:${named?.stamp ?? ""}`);
  return seat.vacant ? freeVersion(seat.stamp) : asVersion(`held:${seat.stamp}:${holder?.stamp ?? ""}`);
}

function freeVersion(stamp: string): Version {
  return asVersion(`free:${stamp}`);
}

export function seatOf(place: ItemsAtName): Seat {
  const { name, seat, named } = place;
  const state = stateOf(place);
  const version = versionOf(place);
  if (state === "missing") return { name, version, state, ttlMs: (seat ?? named)?.ttlMs };
  if (state === "vacant" || seat === undefined) return { name, version, state };
  const { candidate, bid, token, domain, value, ttlMs } = seat;
  return { name, version, state, holder: { candidate, bid, token, domain, value }, ttlMs };
}

function holdOf(name: Name, { bid, token, domain }: Pick<SeatItem, "bid" | "token" | "domain">): Hold {
  return { name, bid, token: { domain, value: token, bid } };
}

function kept(session: Session, beat: string | undefined): Extract<Kept, { kind: "kept" }> {
  return { kind: "kept", session: withBeat(session, beat), lost: [], unsure: [], strays: [] };
}
