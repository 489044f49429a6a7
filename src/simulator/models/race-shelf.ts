// The race in the form in which a store keeps it: a session record per candidate, renewed alone; a seat per name that points to a session; a counter per name that is never deleted. In the layout
// "record" each seat is renewed by itself, as in layouts of other libraries.
//
// INVARIANT  versions of a name never repeat: a version is drawn from one counter for the whole shelf, absence included.
// INVARIANT  counter[name] ≥ every token ever granted for name, and the grant takes it in the same step.
// INVARIANT  dead is stable: once a session is dead, no keep and no claim of it succeeds.
import { isSameOpening, mayEnd, mayKeep } from "../../lease/beat-rule.ts";
import {
  type Bid,
  type Claim,
  type Claimed,
  type Hold,
  type Kept,
  type StoredMemo,
  type MemoWrite,
  type MemoWritten,
  type Name,
  type Question,
  type Seat,
  type Session,
  type SessionSpec,
  type Token,
  VACANT,
  type Version,
  type Will,
} from "../../lease/exchange.ts";
import { ownNode } from "../../lease/ban-rule.ts";
import { BanRack } from "./ban-rack.ts";
import { MemoRack } from "./memo-rack.ts";
import { grantedSession, type Shelf, type ShelfOptions } from "./shelf.ts";

interface SessionRow {
  readonly candidate: string;
  readonly ttlMs: number;
  /** Grows with every keep. */
  beat: number;
  /** The mark of the last keep, if it named a beat. */
  mark: string | undefined;
  dead: boolean;
  expiresAt: number;
}

interface SeatRow {
  readonly session: string;
  readonly candidate: string;
  readonly bid: Bid;
  readonly token: bigint;
  readonly ttlMs: number;
  value: string;
  /** The seat was given back on purpose: the row stays. */
  vacant: boolean;
  beat: number;
  expiresAt: number;
  /** The term that was asked to hand over; a grant makes a new row, without it. */
  asked?: Token;
}

interface CounterRow {
  last: bigint;
  ttlMs: number;
  /** It changes when a seat appears, is given back or is deleted: so it is a version of absence and presence alike. */
  change: number;
}

export interface RaceShelfOptions extends ShelfOptions {
  readonly layout: "session" | "record";
}

export class RaceShelf implements Shelf {
  readonly #options: RaceShelfOptions;
  #sessions = new Map<string, SessionRow>();
  #seats = new Map<Name, SeatRow>();
  #counters = new Map<Name, CounterRow>();
  /** Memos stay like the counters: deleting a seat deletes none of them. */
  #memos = new MemoRack();
  #bans = new BanRack();
  #beats = 0;
  /** At least one term, of any name, was asked to hand over. */
  #wasAsked = false;

  constructor(options: RaceShelfOptions) {
    this.#options = options;
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], nowMs: number): Kept {
    const id = "id" in session ? session.id : session.nonce;
    const row = this.#sessions.get(id);
    if ("nonce" in session && row === undefined)
      return this.#bans.admit(session, (other) => this.#isLive(other, nowMs)) ?? kept(id, this.#open(session, nowMs));
    if (row === undefined || row.dead || this.#bans.isBanned(id)) return { kind: "session-lost" };
    if ("nonce" in session) return isSameOpening(session, row.mark) ? kept(id, row) : { kind: "session-lost" };
    if (!mayKeep(session, row.mark)) return { kind: "session-lost" };
    row.beat = ++this.#beats;
    row.mark = this.#markOf(session.beats?.at(-1));
    row.expiresAt = this.#expiry(row.ttlMs, nowMs);
    const lost = holds.filter((hold) => !this.#renewSeat(hold, nowMs));
    return { ...kept(id, row), lost, strays: this.#strays(id, holds), asked: this.#asked(holds) };
  }

  #open(spec: SessionSpec, nowMs: number): SessionRow {
    const ttlMs = this.#options.grant?.(spec.ttlMs) ?? spec.ttlMs;
    const row = {
      candidate: spec.candidate,
      ttlMs,
      beat: ++this.#beats,
      mark: this.#markOf(spec.beat),
      dead: false,
      expiresAt: this.#expiry(ttlMs, nowMs),
    };
    this.#sessions.set(spec.nonce, row);
    return row;
  }

  #markOf(beat: string | undefined): string | undefined {
    return this.#options.refusesClones === true ? beat : undefined;
  }

  /** Tells whether the seat still belongs to this bid. In the layout "record" this call renews it. */
  #renewSeat(hold: Hold, nowMs: number): boolean {
    const seat = this.#seats.get(hold.name);
    if (seat === undefined || seat.vacant || seat.bid !== hold.bid) return false;
    if (this.#options.layout === "record") {
      seat.beat = ++this.#beats;
      seat.expiresAt = this.#expiry(seat.ttlMs, nowMs);
    }
    return true;
  }

  #asked(holds: readonly Hold[]): readonly Hold[] | undefined {
    if (!this.#wasAsked) return undefined;
    let asked: Hold[] | undefined;
    for (const { name, bid } of holds) {
      const seat = this.#seats.get(name);
      if (seat?.asked === undefined || seat.vacant || seat.bid !== bid) continue;
      (asked ??= []).push({ name, bid, token: seat.asked });
    }
    return asked;
  }

  #strays(id: string, holds: readonly Hold[]): readonly Hold[] {
    let count = 0;
    for (const seat of this.#seats.values()) if (seat.session === id && !seat.vacant) count++;
    if (count <= holds.length) return [];
    const known = new Set(holds.map(({ bid }) => bid));
    const strays: Hold[] = [];
    for (const [name, seat] of this.#seats)
      if (seat.session === id && !seat.vacant && !known.has(seat.bid)) strays.push({ name, bid: seat.bid });
    return strays;
  }

  claim(claim: Claim, nowMs: number): Claimed {
    const mine = this.#sessions.get(claim.session.id);
    const seat = this.#seats.get(claim.name);
    if (mine === undefined || mine.dead || this.#bans.isBanned(claim.session.id)) return { kind: "session-lost" };
    if (seat !== undefined && !seat.vacant && seat.bid === claim.bid && seat.session === claim.session.id) {
      seat.value = claim.value;
      return { kind: "granted", hold: this.#hold(claim.name, seat) };
    }
    if (!this.#mayReplace(claim, seat)) return { kind: "beaten", seat: this.look({ name: claim.name }) };
    if (seat !== undefined && !seat.vacant && this.#options.layout === "session" && seat.session !== claim.session.id)
      this.endSession(seat.session);
    const counter = this.#counter(claim.name);
    const next: SeatRow = {
      session: claim.session.id,
      candidate: mine.candidate,
      bid: claim.bid,
      token: ++counter.last,
      ttlMs: mine.ttlMs,
      value: claim.value,
      vacant: false,
      beat: ++this.#beats,
      expiresAt: this.#expiry(mine.ttlMs, nowMs),
    };
    counter.ttlMs = mine.ttlMs;
    counter.change = ++this.#beats;
    this.#seats.set(claim.name, next);
    return { kind: "granted", hold: this.#hold(claim.name, next) };
  }

  /** A claim over VACANT is not granted to the last bid that held the seat: that claim was applied before, and comes late. */
  #mayReplace({ name, bid, over }: Claim, seat: SeatRow | undefined): boolean {
    return over === VACANT ? this.look({ name }).state === "vacant" && seat?.bid !== bid : over === this.#version(name);
  }

  release(will: Will): void {
    if (will.endSession && !mayEnd(will.session, this.#sessions.get(will.session.id)?.mark)) return;
    for (const { name, bid } of will.holds) {
      const seat = this.#seats.get(name);
      if (seat === undefined || seat.bid !== bid || seat.session !== will.session.id) continue;
      seat.vacant = true;
      this.#counter(name).change = ++this.#beats;
    }
    if (will.endSession) this.endSession(will.session.id);
  }

  look(question: Question): Seat {
    const { name } = question;
    const version = this.#version(name);
    const seat = this.#seats.get(name);
    const counter = this.#counters.get(name);
    if (seat === undefined)
      return counter === undefined
        ? vacant(name, version)
        : { name, version, state: "missing", holder: undefined, ttlMs: counter.ttlMs, heldUntilMs: undefined };
    const row = this.#sessions.get(seat.session);
    if (seat.vacant || (row?.dead ?? true)) return vacant(name, version);
    const { candidate, bid, token, value } = seat;
    const holder = { candidate, bid, token, domain: this.#options.domain, value };
    return { name, version, state: "held", holder, ttlMs: seat.ttlMs, heldUntilMs: undefined };
  }

  /** A race has no order. */
  showNext(): ReturnType<Shelf["showNext"]> {
    return { kind: "next", candidate: undefined };
  }

  askToLeave(name: Name, token: Token): boolean {
    const seat = this.#seats.get(name);
    if (seat === undefined || this.look({ name }).state !== "held") return false;
    if (token.domain !== this.#options.domain || seat.token !== token.value || seat.bid !== token.bid) return false;
    seat.asked = token;
    this.#wasAsked = true;
    return true;
  }

  writeMemo(write: MemoWrite): MemoWritten {
    const { session, hold } = write;
    if (this.#sessions.get(session.id)?.dead !== false || this.#bans.isBanned(session.id))
      return { kind: "session-lost" };
    const seat = this.#seats.get(hold.name);
    const isMine = seat !== undefined && !seat.vacant && seat.session === session.id && seat.bid === hold.bid;
    if (!isMine || seat.token !== hold.token?.value) return { kind: "seat-lost" };
    const { ban } = write;
    const refused = ownNode("the store", session, ban) ?? (ban && this.#bans.objection(ban, hold.name));
    const written = refused ?? this.#memos.write(write);
    if (written.kind !== "written" || ban === undefined) return written;
    this.#bans.change(ban, hold.name);
    if (ban.endsSessions === true) for (const id of this.#bans.sessionsOf(ban.node)) this.endSession(id);
    return written;
  }

  readMemos(name: Name, key: string | undefined): readonly StoredMemo[] {
    return this.#memos.read(name, key);
  }

  isBanned(session: string): boolean {
    return this.#bans.isBanned(session);
  }

  liftBans(): void {
    this.#bans.clear();
  }

  deleteRecord(name: Name): void {
    if (this.#seats.delete(name)) this.#counter(name).change = ++this.#beats;
  }

  endSession(id: string): void {
    const row = this.#sessions.get(id);
    if (row !== undefined) row.dead = true;
    else this.#sessions.set(id, { candidate: "", ttlMs: 0, beat: 0, mark: undefined, dead: true, expiresAt: Infinity });
    // In the layout "session" the row is part of the version; here a seat that shows vacant from now on needs a version of its own.
    if (this.#options.layout === "session") return;
    for (const [name, seat] of this.#seats)
      if (seat.session === id && !seat.vacant) this.#counter(name).change = ++this.#beats;
  }

  nextExpiry(): number {
    if (this.#options.judge === "taker") return Infinity;
    let next = Infinity;
    for (const row of this.#sessions.values()) if (!row.dead) next = Math.min(next, row.expiresAt);
    if (this.#options.layout === "record")
      for (const seat of this.#seats.values()) if (!seat.vacant) next = Math.min(next, seat.expiresAt);
    return next;
  }

  expire(nowMs: number): readonly Name[] {
    if (this.#options.judge === "taker") return [];
    const freed: Name[] = [];
    for (const [id, row] of this.#sessions) if (!row.dead && row.expiresAt <= nowMs) this.endSession(id);
    for (const [name, seat] of this.#seats) {
      const over =
        (this.#sessions.get(seat.session)?.dead ?? true) ||
        (this.#options.layout === "record" && seat.expiresAt <= nowMs);
      if (seat.vacant || !over) continue;
      seat.vacant = true;
      this.#counter(name).change = ++this.#beats;
      freed.push(name);
    }
    return freed;
  }

  copy(): RaceShelf {
    const twin = new RaceShelf(this.#options);
    twin.#beats = this.#beats;
    twin.#wasAsked = this.#wasAsked;
    twin.#memos = this.#memos.copy();
    twin.#bans = this.#bans.copy();
    for (const [id, row] of this.#sessions) twin.#sessions.set(id, { ...row });
    for (const [name, seat] of this.#seats) twin.#seats.set(name, { ...seat });
    for (const [name, counter] of this.#counters) twin.#counters.set(name, { ...counter });
    return twin;
  }

  #isLive(id: string, nowMs: number): boolean {
    const row = this.#sessions.get(id);
    return row !== undefined && !row.dead && row.expiresAt > nowMs;
  }

  #version(name: Name): Version {
    const seat = this.#seats.get(name);
    const change = this.#counters.get(name)?.change ?? 0;
    if (seat === undefined || seat.vacant) return `free@${change}` as Version;
    if (this.#options.layout === "record") return `${change}:${seat.beat}` as Version;
    const row = this.#sessions.get(seat.session);
    return `${change}:${row?.beat ?? 0}:${row?.dead === false ? "alive" : "dead"}` as Version;
  }

  #hold(name: Name, seat: SeatRow): Hold {
    return { name, bid: seat.bid, token: { domain: this.#options.domain, value: seat.token, bid: seat.bid } };
  }

  #counter(name: Name): CounterRow {
    const counter = this.#counters.get(name) ?? { last: 0n, ttlMs: 0, change: 0 };
    this.#counters.set(name, counter);
    return counter;
  }

  #expiry(ttlMs: number, nowMs: number): number {
    return this.#options.judge === "taker" ? Infinity : nowMs + ttlMs + (this.#options.lateMs?.() ?? 0);
  }
}

function vacant(name: Name, version: Version): Seat {
  return { name, version, state: "vacant", holder: undefined, ttlMs: undefined, heldUntilMs: undefined };
}

function kept(id: string, row: SessionRow): Extract<Kept, { kind: "kept" }> {
  return {
    kind: "kept",
    session: grantedSession(id, row),
    lost: [],
    unsure: [],
    strays: [],
    asked: undefined,
    witness: undefined,
    met: undefined,
    road: undefined,
  };
}
