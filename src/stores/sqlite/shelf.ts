// The race in session layout, on a SQLite file: the meaning of keep, claim, release and look, each in one transaction. It is synchronous, and throws errors that refusals.ts
// understands. It has the same meaning as src/simulator/models/race-shelf.ts, which the simulator tests. (The model loses nothing when it is restarted, so it needs no blocks of tokens.)
//
// Why at most one holds a name: a claim reads and swaps inside BEGIN IMMEDIATE, so no keep and no claim comes between. It succeeds only over exactly the
// version that the machine vouches for, or over a seat that it finds vacant. In the same transaction it takes the next token (from the counter, or from a block: blocks.ts) and ends the session that it
// replaces. A session that is ended stays so for ever: every keep and claim requires a session that is not ended, in the same way.
import type {
  Bid,
  Claim,
  Claimed,
  Hold,
  Invitation,
  Kept,
  Name,
  Session,
  SessionSpec,
  Token,
  Will,
} from "../contract.ts";
import { asBid, VACANT } from "../contract.ts";
import { withBeat } from "../../lease/beat-rule.ts";
import { writeInvitation } from "../invitations.ts";
import { markOf } from "../mark.ts";
import type { Row } from "../../clients/row.ts";
import { checkTexts, type PreparedConnection } from "../../clients/sqlite/binding.ts";
import { numberOf } from "./beat.ts";
import type { HostKernel } from "./kernel.ts";
import { SqliteBans } from "./bans.ts";
import { TokenBlocks } from "./blocks.ts";
import { SqliteMemos } from "./memos.ts";
import {
  isTrue,
  type StoredSeat,
  readNumber,
  readPlace,
  readText,
  readTtl,
  readWhole,
  recordedSocket,
  seatOf,
  type Sitter,
  type SocketFile,
  socketPath,
} from "./place.ts";
import { exhausted } from "./refusals.ts";
import * as sql from "./schema.ts";
import { transact, transactIfPassing } from "../../clients/sqlite/transaction.ts";

export class SqliteShelf {
  readonly domain: string;
  readonly memos: SqliteMemos;
  readonly #bans: SqliteBans;
  readonly #blocks: TokenBlocks;
  readonly #connection: PreparedConnection;
  readonly #kernel: HostKernel | undefined;

  /** The folder of the sockets that are beside the database. */
  readonly #lifeFolder: string;
  /** True if somebody else was quicker than the last claim through this connection, as far as that is known. */
  #isContested = true;

  constructor(connection: PreparedConnection, domain: string, kernel: HostKernel | undefined, lifeFolder: string) {
    this.domain = domain;
    this.#bans = new SqliteBans(connection, kernel);
    this.#blocks = new TokenBlocks(connection, domain, kernel);
    this.memos = new SqliteMemos(connection, domain, this.#bans);
    this.#lifeFolder = lifeFolder;
    this.#connection = connection;
    this.#kernel = kernel;
  }

  // ---- keep

  /** The same nonce means the same opening, and extends nothing. */
  open(spec: SessionSpec, ttlMs: number, socket: SocketFile | undefined, sentAtMs: number): Kept {
    return transact(this.#connection, "passing", () => {
      const known = this.#connection.all(sql.READ_SESSION, spec.nonce)[0];
      if (known !== undefined)
        return isTrue(known["ended"]) || !isSameOpening(spec, known) || this.#bans.isBanned({ node: spec.node?.name })
          ? { kind: "session-lost" }
          : this.#kept(spec.nonce, known, spec.beat);
      this.#tidyUp(sentAtMs);
      const refused = this.#bans.admit(spec, sentAtMs);
      if (refused !== undefined) return refused;
      const { boot = null, clock = null } = this.#kernel ?? {};
      const path = socket === undefined ? null : recordedSocket(socket.path, this.#lifeFolder);
      const expires = this.#expires(sentAtMs, ttlMs);
      this.#connection.run(
        sql.OPEN_SESSION,
        spec.nonce,
        spec.candidate,
        ttlMs,
        spec.beat === undefined ? 1 : numberOf(spec.beat),
        boot,
        clock,
        expires,
        path,
        socket?.file ?? null,
      );
      return this.#kept(spec.nonce, { candidate: spec.candidate, ttl: ttlMs }, spec.beat);
    });
  }

  /**
   * One row is written, however many holds there are. The seats are counted, and are read only if their count or their sum differs.
   *
   * The renewal of a session that holds something is synced, and so is that of a session that has a block of tokens: its next grant may not be synced, and what rivals on another kernel find on
   * the disk must show them how long that grant is believed in (blocks.ts). The seats and blocks that count are those in the file, whatever the caller knows of.
   */
  keep(session: Session, holds: readonly Hold[], sentAtMs: number): Kept {
    const work = (): Renewal => this.#keep(session, holds, sentAtMs);
    const renewIfPassing = (): Renewal | undefined => {
      const renewal = work();
      return renewal.mustLast ? undefined : renewal;
    };
    return this.#blocks.forgetIfFailed(() => {
      const passing = holds.length > 0 ? undefined : transactIfPassing(this.#connection, renewIfPassing);
      return (passing ?? transact(this.#connection, "lasting", work)).kept;
    });
  }

  #keep(session: Session, holds: readonly Hold[], sentAtMs: number): Renewal {
    const lost = { kept: { kind: "session-lost" }, mustLast: false } as const;
    const { boot = null, clock = null } = this.#kernel ?? {};
    const expires = this.#expires(sentAtMs, session.ttlMs);
    const { id, beats } = session;
    const { beat, over } = swapOf(session);
    if (this.#bans.isBanned(session)) return lost;
    const clocks = [boot, clock, expires, expires, boot, clock] as const;
    const row = this.#connection.all(sql.KEEP_SESSION, beat, ...clocks, id, over, over)[0];
    if (row === undefined) return lost;
    const kept = this.#kept(id, row, beats?.at(-1));
    const found = this.#connection.all(sql.AUDIT, id, id)[0] ?? {};
    const audited = isComplete(found, holds) ? kept : { ...kept, ...this.#audit(id, holds) };
    const mustLast =
      readNumber(found["held"], "the number of seats") > 0 || readNumber(found["blocks"], "the number of blocks") > 0;
    return { kept: found["asked"] === 0 ? audited : { ...audited, asked: this.#askedOf(id) }, mustLast };
  }

  /** A later time is safe, because rivals wait for it. */
  #expires(sentAtMs: number, ttlMs: number): number | null {
    return this.#kernel === undefined ? null : Math.ceil(sentAtMs + ttlMs);
  }

  #kept(id: string, row: Row, beat: string | undefined): Extract<Kept, { kind: "kept" }> {
    const what = `session ${id}`;
    const session = {
      id,
      candidate: readText(row["candidate"], `${what}, candidate`),
      ttlMs: readTtl(row["ttl"], what),
    };
    return { kind: "kept", session: withBeat(session, beat), lost: [], unsure: [], strays: [] };
  }

  /** This runs in the keep's own transaction, so its answer was true when the session was renewed. */
  #askedOf(id: string): readonly Hold[] {
    return this.#connection.all(sql.ASKED_OF, id).map((row) => {
      const name = readText(row["name"], "a request's name");
      const bid = asBid(readText(row["bid"], `the request at "${name}", bid`));
      return this.#hold(name, bid, BigInt(readWhole(row["token"], `the request at "${name}", token`)));
    });
  }

  /** Returns true if the request is stored, because the name is held with exactly this token. */
  askToLeave(name: Name, { domain, value, bid }: Token): boolean {
    if (domain !== this.domain) return false;
    return transact(this.#connection, "lasting", () => {
      return this.#connection.all(sql.ASK_TO_LEAVE, name, bid, `${value}`).length > 0;
    });
  }

  #audit(id: string, holds: readonly Hold[]): { readonly lost: Hold[]; readonly strays: Hold[] } {
    const seats = new Map<Name, Bid>();
    for (const row of this.#connection.all(sql.SEATS_OF, id))
      seats.set(readText(row["name"], "a seat's name"), asBid(readText(row["bid"], "a seat's bid")));
    const lost = holds.filter(({ name, bid }) => seats.get(name) !== bid);
    for (const { name, bid } of holds) if (seats.get(name) === bid) seats.delete(name);
    return { lost, strays: [...seats].map(([name, bid]) => ({ name, bid })) };
  }

  /** Removes rows of processes that are gone: sessions that hold nothing and whose time has expired on this very clock, and sessions that ended long ago. */
  #tidyUp(sentAtMs: number): void {
    if (this.#kernel !== undefined)
      this.#connection.run(sql.END_EXPIRED, this.#kernel.boot, this.#kernel.clock, Math.floor(sentAtMs));
    this.#connection.run(sql.FORGET_ENDED);
  }

  // ---- claim

  claim(claims: readonly Claim[], sentAtMs: number): readonly Claimed[] {
    const claimed = this.#blocks.forgetIfFailed(
      () => this.#blocks.claim(claims, sentAtMs) ?? this.#claimSynced(claims, sentAtMs),
    );
    this.#blocks.note(claims, claimed, sentAtMs);
    return claimed;
  }

  #claimSynced(claims: readonly Claim[], sentAtMs: number): readonly Claimed[] {
    const beaten = this.#isContested ? this.#beatenAtOnce(claims) : [];
    if (beaten.length === claims.length) return beaten;
    const claimed = transact(this.#connection, "lasting", () => claims.map((claim) => this.#claim(claim, sentAtMs)));
    this.#isContested = claimed.some(({ kind }) => kind !== "granted");
    return claimed;
  }

  /**
   * Many may claim a seat that one holder has left. A version never comes back, so a claim that was beaten finds that out without becoming the writer. For a lock that
   * nobody else wants, this is not asked: the last claim was granted, and the transaction decides anyway.
   */
  #beatenAtOnce(claims: readonly Claim[]): readonly Claimed[] {
    const places = this.look(claims.map(({ name }) => name));
    return places.flatMap((place, index) => this.#beaten(place, claims[index]));
  }

  #claim(claim: Claim, sentAtMs: number): Claimed {
    const frequent = this.#blocks.isFrequent(claim, sentAtMs);
    const fromBlock = frequent ? this.#blocks.grant(claim) : undefined;
    return fromBlock ?? this.#grantIfFree(claim, frequent) ?? this.#decide(claim);
  }

  /**
   * The quick way for a lock that nobody else wants: two statements, and one value to read. It grants only what #decide would grant: over a seat that is there and vacant,
   * to a bid that was not the last to hold it, of a session that lives and that no ban can concern. In every other case this returns undefined, and #decide decides.
   */
  #grantIfFree(claim: Claim, frequent: boolean): Claimed | undefined {
    const { name, bid, session, over } = claim;
    if (over !== VACANT || session.node !== undefined) return undefined;
    const { boot = null } = this.#kernel ?? {};
    const next = this.#connection.all(sql.NEXT_TOKEN_IF_FREE, session.ttlMs, name, bid, session.id, boot)[0];
    if (next === undefined) return undefined;
    const granted = this.#takeSeat(claim, next);
    if (frequent) this.#blocks.reserve(claim, granted.hold);
    return granted;
  }

  #decide(claim: Claim): Claimed {
    const { name, bid, value } = claim;
    const mine = this.#connection.all(sql.READ_SESSION, claim.session.id)[0];
    if (mine === undefined || isTrue(mine["ended"]) || this.#bans.isBanned(claim.session))
      return { kind: "session-lost" };
    const place = this.#look(name);
    const { sitter } = place;
    if (sitter !== undefined && isBy(claim, sitter)) {
      if (sitter.value !== value) this.#connection.run(sql.SET_VALUE, value, name);
      return { kind: "granted", hold: this.#hold(name, bid, sitter.token) };
    }
    const [beaten] = this.#beaten(place, claim);
    if (beaten !== undefined) return beaten;
    if (sitter !== undefined && sitter.session !== claim.session.id)
      this.#end({ id: sitter.session, candidate: sitter.candidate, ttlMs: sitter.ttlMs });
    const ttlMs = readTtl(mine["ttl"], `session ${claim.session.id}`);
    const next = this.#connection.all(sql.NEXT_TOKEN, name, ttlMs)[0];
    if (next === undefined) throw exhausted(name);
    this.#connection.run(sql.FORGET_ASKED, name); // that request was for a term that is over
    return this.#takeSeat(claim, next);
  }

  #takeSeat(claim: Claim, next: Row): Extract<Claimed, { kind: "granted" }> {
    const { name, bid, value, session } = claim;
    const token = readWhole(next["token"], `the counter of "${name}"`);
    this.#connection.run(sql.TAKE_SEAT, name, session.id, bid, token, markOf(claim), value);
    return { kind: "granted", hold: this.#hold(name, bid, BigInt(token)) };
  }

  /** Returns an answer only if the seat has another version than the one that the claim vouches for, and does not have it because of this very claim. */
  #beaten(place: StoredSeat, claim: Claim | undefined): readonly Claimed[] {
    if (claim === undefined || mayReplace(claim, place) || isBy(claim, place.sitter)) return [];
    return [{ kind: "beaten", seat: seatOf(place, this.#kernel, false) }];
  }

  #hold(name: Name, bid: Bid, value: bigint): Hold {
    return { name, bid, token: { domain: this.domain, value, bid } };
  }

  // ---- release

  /** This does not wait for the disk: a power cut may undo it, and then rivals wait for the seat as if it were held (transaction.ts). */
  release(wills: readonly Will[]): void {
    transact(this.#connection, "passing", () => {
      for (const { session, holds, endSession } of wills) {
        if (endSession && this.#isOfAnother(session)) continue;
        for (const { name, bid } of holds) this.#connection.run(sql.VACATE, name, session.id, bid);
        if (endSession) this.#end(session);
      }
    });
  }

  /** True if another copy of the process has kept the session since. */
  #isOfAnother({ id, beats }: Session): boolean {
    const row = beats && this.#connection.all(sql.READ_SESSION, id)[0];
    return row !== undefined && beats?.some((beat) => numberOf(beat) === row["beat"]) === false;
  }

  /** Ends the session for ever, and frees all its seats. */
  #end({ id, candidate, ttlMs }: Session): void {
    this.#connection.run(sql.VACATE_ALL, id);
    this.#connection.run(sql.FORGET_BLOCKS, id);
    this.#connection.run(sql.END_SESSION, id, candidate, ttlMs);
  }

  // ---- look

  /** This is one statement, so it sees one snapshot. */
  look(names: readonly Name[]): readonly StoredSeat[] {
    checkTexts(names); // JSON would hide invalid texts
    const rows = this.#connection.all(sql.LOOK, JSON.stringify(names));
    return names.map((name, index) => readPlace(name, this.domain, rows[index] ?? {}, this.#lifeFolder, this.#kernel));
  }

  listNames(most: number): readonly Name[] {
    return this.#connection.all(sql.LIST_NAMES, `${most}`).map(({ name }) => readText(name, "a name of an election"));
  }

  #look(name: Name): StoredSeat {
    const [place] = this.look([name]);
    if (place === undefined) throw new Error("a look answers every name");
    return place;
  }

  // ---- what has changed

  /** A number that changes when another connection has committed something since the last call. This is a look into memory, not a read. */
  dataVersion(): number {
    return readNumber(this.#connection.all(sql.DATA_VERSION)[0]?.["data_version"], "data_version");
  }

  lastChange(): string {
    return readWhole(this.#connection.all(sql.LAST_CHANGE)[0]?.["change"], "the last change");
  }

  changedSince(change: string): readonly Name[] {
    return this.#connection.all(sql.CHANGED_SINCE, change).map((row) => readText(row["name"], "a counter's name"));
  }

  /** Every request to hand over that is stored: for each name, the token. */
  allAsked(): ReadonlyMap<Name, string> {
    const asked = new Map<Name, string>();
    for (const { name, token } of this.#connection.all(sql.ALL_ASKED))
      asked.set(readText(name, "a request's name"), readWhole(token, "a request's token"));
    return asked;
  }

  /** An invitation is only reported to watchers, so it need not survive a power cut. */
  invite(name: Name, invitation: Invitation): void {
    transact(this.#connection, "passing", () => this.#connection.run(sql.INVITE, name, writeInvitation(invitation)));
  }

  /** The last invitation of each name, and its number. */
  allInvited(): ReadonlyMap<Name, { readonly text: string; readonly n: number }> {
    const invited = new Map<Name, { readonly text: string; readonly n: number }>();
    for (const { name, invitation, n } of this.#connection.all(sql.ALL_INVITED))
      invited.set(readText(name, "an invitation's name"), {
        text: readText(invitation, "an invitation"),
        n: readNumber(n, "an invitation's number"),
      });
    return invited;
  }

  /** The sockets of the sessions that live. */
  sockets(): readonly string[] {
    return this.#connection
      .all(sql.LIVE_SOCKETS)
      .map((row) => socketPath(readText(row["socket"], "a session's socket"), this.#lifeFolder));
  }
}

/** mustLast: the session holds something, or may soon without a sync. */
interface Renewal {
  readonly kept: Kept;
  readonly mustLast: boolean;
}

/** True if there are as many seats as holds, and they are the same: a lost seat with a stray one beside it would change the sum. */
function isComplete(found: Row, holds: readonly Hold[]): boolean {
  if (readNumber(found["held"], "the number of seats") !== holds.length) return false;
  let marks = 0;
  for (const hold of holds) marks += markOf(hold);
  return readWhole(found["marks"], "the sum of marks") === `${marks}`;
}

function isSameOpening({ beat }: SessionSpec, row: Row): boolean {
  return beat === undefined || numberOf(beat) === row["beat"];
}

/** The beat that a keep leaves in the row, and the value that it replaces. */
function swapOf({ beats = [] }: Session): { readonly beat: number | null; readonly over: string | null } {
  const numbers = beats.map(numberOf);
  return { beat: numbers.at(-1) ?? null, over: numbers.length < 2 ? null : JSON.stringify(numbers.slice(0, -1)) };
}

/** Over VACANT, the last bid that held the seat is not granted again: that claim was applied before, and arrives late. */
function mayReplace({ over, bid }: Claim, place: StoredSeat): boolean {
  return over === VACANT ? place.state === "vacant" && place.lastBid !== bid : over === place.version;
}

function isBy({ bid, session }: Claim, sitter: Sitter | undefined): boolean {
  return sitter?.bid === bid && sitter.session === session.id;
}
