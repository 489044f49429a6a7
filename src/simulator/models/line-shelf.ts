// The line as a store keeps it: sessions with a ttl that the store itself judges, and per name the entries in order of joining, each bound to
// a session, at most one per session. The token is the store's revision at joining.
//
// INVARIANT  revision grows with every join, and no deletion sets it back; an entry's place is its token.
// INVARIANT  an entry leaves only by release, deletion, or the end of its session.
import type {
  Bid,
  Claim,
  Claimed,
  Hold,
  Kept,
  StoredMemo,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Seat,
  Session,
  SessionSpec,
  Token,
  Version,
  Will,
} from "../../lease/exchange.ts";
import { isSameOpening, mayEnd, mayKeep } from "../../lease/beat-rule.ts";
import { ownNode } from "../../lease/ban-rule.ts";
import { BanRack } from "./ban-rack.ts";
import { MemoRack } from "./memo-rack.ts";
import { grantedSession, type Shelf, type ShelfOptions } from "./shelf.ts";

interface SessionRow {
  readonly candidate: string;
  readonly ttlMs: number;
  expiresAt: number;
  /** The mark of the last keep, if it named a beat. */
  mark: string | undefined;
  over: boolean;
}

interface EntryRow {
  readonly session: string;
  readonly candidate: string;
  readonly bid: Bid;
  readonly revision: bigint;
  readonly ttlMs: number;
  value: string;
  /** The term that was asked to hand over. */
  asked?: Token;
}

export class LineShelf implements Shelf {
  readonly #options: ShelfOptions;
  #sessions = new Map<string, SessionRow>();
  #lines = new Map<Name, EntryRow[]>();
  #revision = 0n;
  /** At least one term, of any name, was asked to hand over. */
  #wasAsked = false;
  #memos = new MemoRack();
  #bans = new BanRack();

  constructor(options: ShelfOptions) {
    this.#options = options;
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], nowMs: number): Kept {
    const id = "id" in session ? session.id : session.nonce;
    let row = this.#sessions.get(id);
    if ("nonce" in session && row === undefined) {
      const refused = this.#bans.admit(session, (other) => this.#isLive(other, nowMs));
      if (refused !== undefined) return refused;
      const ttlMs = this.#options.grant?.(session.ttlMs) ?? session.ttlMs;
      row = {
        candidate: session.candidate,
        ttlMs,
        expiresAt: this.#expiry(ttlMs, nowMs),
        mark: this.#markOf(session.beat),
        over: false,
      };
      this.#sessions.set(id, row);
    }
    if (row === undefined || row.over || this.#bans.isBanned(id)) return { kind: "session-lost" };
    const isKnown = "id" in session ? mayKeep(session, row.mark) : isSameOpening(session, row.mark);
    if (!isKnown) return { kind: "session-lost" };
    if ("id" in session) {
      row.expiresAt = this.#expiry(row.ttlMs, nowMs);
      row.mark = this.#markOf(session.beats?.at(-1));
    }
    const lost = holds.filter((hold) => !this.#line(hold.name).some((entry) => isSame(entry, hold)));
    const granted = grantedSession(id, row);
    const strays = this.#strays(id, holds);
    const asked = this.#asked(id, holds);
    return {
      kind: "kept",
      session: granted,
      lost,
      unsure: [],
      strays,
      asked,
      witness: undefined,
      met: undefined,
      road: undefined,
    };
  }

  #markOf(beat: string | undefined): string | undefined {
    return this.#options.refusesClones === true ? beat : undefined;
  }

  #asked(id: string, holds: readonly Hold[]): readonly Hold[] | undefined {
    if (!this.#wasAsked) return undefined;
    let asked: Hold[] | undefined;
    for (const { name, bid } of holds) {
      const first = this.#line(name)[0];
      if (first?.asked === undefined || first.session !== id || first.bid !== bid) continue;
      (asked ??= []).push({ name, bid, token: first.asked });
    }
    return asked;
  }

  #strays(id: string, holds: readonly Hold[]): readonly Hold[] {
    const known = new Set(holds.map(({ bid }) => bid));
    const strays: Hold[] = [];
    for (const [name, line] of this.#lines)
      for (const entry of line)
        if (entry.session === id && !known.has(entry.bid)) strays.push({ name, bid: entry.bid });
    return strays;
  }

  claim(claim: Claim): Claimed {
    const mine = this.#sessions.get(claim.session.id);
    // This also holds for an entry that has come to the front: this is the step that grants it.
    if (mine === undefined || mine.over || this.#bans.isBanned(claim.session.id)) return { kind: "session-lost" };
    const line = this.#line(claim.name);
    let entry = line.find(({ session }) => session === claim.session.id);
    if (entry !== undefined && entry.bid !== claim.bid) return { kind: "leftover", bid: entry.bid };
    if (entry === undefined) {
      entry = {
        session: claim.session.id,
        candidate: mine.candidate,
        bid: claim.bid,
        revision: ++this.#revision,
        ttlMs: mine.ttlMs,
        value: claim.value,
      };
      line.push(entry);
    }
    entry.value = claim.value;
    const hold: Hold = {
      name: claim.name,
      bid: claim.bid,
      token: { domain: this.#options.domain, value: entry.revision, bid: claim.bid },
    };
    const ahead = line.indexOf(entry);
    return ahead === 0 ? { kind: "granted", hold } : { kind: "waiting", hold, ahead };
  }

  release(will: Will): void {
    if (will.endSession && !mayEnd(will.session, this.#sessions.get(will.session.id)?.mark)) return;
    for (const { name, bid } of will.holds)
      this.#keepOnly(name, (entry) => entry.bid !== bid || entry.session !== will.session.id);
    if (will.endSession) this.endSession(will.session.id);
  }

  look(question: Question): Seat {
    const { name, bid, session } = question;
    const line = this.#line(name);
    const first = line[0];
    const version = `${first?.revision ?? `gone@${this.#revision}`}` as Version;
    const index = line.findIndex((entry) => entry.bid === bid && entry.session === session?.id);
    const place = bid === undefined ? undefined : { present: index >= 0, ahead: Math.max(0, index) };
    if (first === undefined) return { name, version, state: "vacant", holder: undefined, ttlMs: undefined, place };
    const { candidate, revision: token, value } = first;
    const holder = { candidate, bid: first.bid, token, domain: this.#options.domain, value };
    return { name, version, state: "held", holder, ttlMs: first.ttlMs, place };
  }

  askToLeave(name: Name, token: Token): boolean {
    const first = this.#line(name)[0];
    if (first === undefined || token.domain !== this.#options.domain) return false;
    if (first.revision !== token.value || first.bid !== token.bid) return false;
    first.asked = token;
    this.#wasAsked = true;
    return true;
  }

  showNext(name: Name, { domain, value, bid }: Token): ReturnType<Shelf["showNext"]> {
    const [first, second] = this.#line(name);
    if (first?.revision !== value || first.bid !== bid || domain !== this.#options.domain)
      return { kind: "not-leading" };
    return { kind: "next", candidate: second?.candidate };
  }

  writeMemo(write: MemoWrite): MemoWritten {
    const { session, hold } = write;
    if (this.#sessions.get(session.id)?.over !== false || this.#bans.isBanned(session.id))
      return { kind: "session-lost" };
    const first = this.#line(hold.name)[0];
    if (first?.session !== session.id || hold.token === undefined || !isSame(first, hold)) return { kind: "seat-lost" };
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

  deleteRecord(name: Name, _nowMs: number, ahead = 0): void {
    this.#line(name).splice(ahead, 1);
  }

  endSession(id: string): void {
    const row = this.#sessions.get(id);
    if (row === undefined)
      this.#sessions.set(id, { candidate: "", ttlMs: 0, expiresAt: Infinity, mark: undefined, over: true });
    else row.over = true;
    for (const name of this.#lines.keys()) this.#keepOnly(name, ({ session }) => session !== id);
  }

  nextExpiry(): number {
    let next = Infinity;
    for (const row of this.#sessions.values()) if (!row.over) next = Math.min(next, row.expiresAt);
    return next;
  }

  expire(nowMs: number): readonly Name[] {
    const names = new Set<Name>();
    for (const [id, row] of this.#sessions) {
      if (row.over || row.expiresAt > nowMs) continue;
      for (const [name, line] of this.#lines) if (line.some(({ session }) => session === id)) names.add(name);
      this.endSession(id);
    }
    return [...names];
  }

  copy(): LineShelf {
    const twin = new LineShelf(this.#options);
    twin.#revision = this.#revision;
    twin.#wasAsked = this.#wasAsked;
    twin.#memos = this.#memos.copy();
    twin.#bans = this.#bans.copy();
    for (const [id, row] of this.#sessions) twin.#sessions.set(id, { ...row });
    for (const [name, line] of this.#lines)
      twin.#lines.set(
        name,
        line.map((entry) => ({ ...entry })),
      );
    return twin;
  }

  #isLive(id: string, nowMs: number): boolean {
    const row = this.#sessions.get(id);
    return row !== undefined && !row.over && row.expiresAt > nowMs;
  }

  #line(name: Name): EntryRow[] {
    const line = this.#lines.get(name) ?? [];
    this.#lines.set(name, line);
    return line;
  }

  #keepOnly(name: Name, stays: (entry: EntryRow) => boolean): void {
    const line = this.#line(name);
    if (!line.every(stays)) this.#lines.set(name, line.filter(stays));
  }

  #expiry(ttlMs: number, nowMs: number): number {
    return nowMs + ttlMs + (this.#options.lateMs?.() ?? 0);
  }
}

/** The bid alone does not identify an entry: a claim that is applied twice, the second time after a deletion, makes another entry with another token. */
function isSame({ bid, revision }: EntryRow, hold: Hold): boolean {
  return bid === hold.bid && revision === (hold.token?.value ?? revision);
}
