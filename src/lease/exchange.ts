// The values that pass between the lease machine and a store, in both directions: plain data, safe to send to another thread or process.
// Versions and tokens travel in values; neither side remembers anything for the other.
import type { Refused, Unknown } from "../base/outcome.ts";

declare const brand: unique symbol;

/** The name of an election or lock. */
export type Name = string;

/**
 * The id of one attempt of one candidate, unique for ever: the machine's nonce and a counter. Sending a claim again with the same bid
 * is the same attempt. Bids of one machine share its nonce, so that it knows its own old records.
 */
export type Bid = string & { readonly [brand]: "bid" };

/**
 * Compare for equality only.
 * INVARIANT: for one name a version never repeats: not after delete and re-create, not for absence (absence is versioned too:
 * "gone after token N"), and it changes with every keep of the holder. Otherwise silence cannot be told from a change and back.
 */
export type Version = string & { readonly [brand]: "version" };

/**
 * Of a claim, in place of a version: any version that stands there, as long as the seat is vacant. No seat has this version, so that a store which does
 * not know it answers `beaten` with what stands there, and nothing is lost but a round trip.
 */
export const VACANT = "vacant" as Version;

/**
 * INVARIANT: chosen by the granting write itself; of two grants of one name in one domain, the later has the greater value.
 * The counter outlives the record. Values of different domains do not compare; equal values of different bids are different terms.
 */
export interface Token {
  readonly domain: string;
  readonly value: bigint;
  readonly bid: Bid;
}

/** The machine that a session speaks for, as STONITH knows it. */
export interface NodeIdentity {
  /** As the operator calls it: what is banned, and what is powered off. */
  readonly name: string;
  /** Of the machine itself. Two live sessions of one name and different machines would make a shot hit the wrong one: the second is refused. */
  readonly machine: string;
}

/** What a session is to be opened with. */
export interface SessionSpec {
  /** Unique for ever; opening again with the same nonce is the same opening. */
  readonly nonce: string;
  /** Who, for people: shown as the leader's id. */
  readonly candidate: string;
  readonly ttlMs: number;
  /** The first beat (see `Session.beats`): what the opening leaves in the session's record. An opening that finds another one there is not this opening. */
  readonly beat?: string | undefined;
  /** Recorded with the session, where `guarantee.bans` says so. Refused with NODE_BANNED while that node is banned, and with NODE_DUPLICATE if another machine has its name. */
  readonly node?: NodeIdentity | undefined;
}

/** A candidate's session at the store. */
export interface Session {
  readonly id: string;
  readonly candidate: string;
  /** As GRANTED by the store, not as asked. INVARIANT: fixed by the opening; no keep changes it. */
  readonly ttlMs: number;
  /** What re-attaches from elsewhere (a ZooKeeper password). */
  readonly secret?: string;
  /**
   * What a store needs to refuse the second of two copies of a process (`guarantee.refusesClones`). A beat is a UUID in small letters. Every keep leaves a new one in
   * the session's record. In a request: the beats that may stand there, as far as this process knows, in the order in which they were sent.
   * Keep: the last one is the one to leave; if there are others, one of them must stand there, else the answer is `session-lost`.
   * A will that ends the session: one of them must stand there, else nothing is done, and the answer is `released`.
   * Without beats a request is carried out as ever. In an answer `kept`: the one beat that stands there now, if it was given one.
   */
  readonly beats?: readonly string[] | undefined;
  /**
   * The name of the node that it was opened for; a request carries it as the opening did. While that node is banned nothing is granted to the session: its claims, keeps
   * and memos are answered `session-lost`, in the step that would have granted them. That ends nothing: its seats are held until its ttl has run out.
   */
  readonly node?: string | undefined;
}

/** My place at a name. In a line: my entry, token known since joining. In a race: the record I wrote. */
export interface Hold {
  readonly name: Name;
  readonly bid: Bid;
  /** In a grant: present exactly if the store declares `fencing: "fenced"`. In a will or among strays it need not be: session and bid decide. */
  readonly token?: Token | undefined;
}

/** What stands at a name. A hint: safety rests only on the claim that follows, never on a look. */
export interface Seat {
  readonly name: Name;
  readonly version: Version;
  /**
   * vacant     never held, or given back on purpose: may be claimed at once
   * held       somebody's
   * missing    was held and the record is gone without having been given back: wait as if held
   * abandoned  held, and the holder is proven dead (by the kernel, never by silence): fenced candidates may claim at once
   */
  readonly state: "vacant" | "held" | "missing" | "abandoned";
  readonly holder?: Holder | undefined;
  /** The HOLDER's ttl as recorded; for `missing` the last one known. A taker waits this, never its own. */
  readonly ttlMs?: number | undefined;
  /**
   * On the asker's own monotonic clock: when the holder's ttl runs out. Given only where holder and asker provably read the same clock
   * (one kernel, one time namespace); then nothing needs to be watched in silence.
   */
  readonly heldUntilMs?: number | undefined;
  /** Line, when asked with a bid: whether my entry is there, bound to my session, and how many stand before it. */
  readonly place?: { readonly present: boolean; readonly ahead: number } | undefined;
}

/** Who holds a name. */
export interface Holder {
  readonly candidate: string;
  readonly bid?: Bid | undefined;
  readonly token?: bigint | undefined;
  /** Of the token, read in the same step: given wherever a token is. Tokens of different domains do not compare (law 10). */
  readonly domain?: string | undefined;
  readonly value?: string | undefined;
}

/** What a keep need not do. A store may do it all the same. */
export interface KeepWish {
  /** Nothing is held by the session: it only has to live on. Nothing that this keep is answered moves a deadline. */
  readonly proof?: false;
  /** No claim is in doubt: there is nothing to look for. */
  readonly strays?: false;
  /** The session has other holds besides those sent along, and they are renewed with it. Only where `guarantee.holdsPerKeep` allows it, and never where strays are looked for. */
  readonly part?: true;
}

/** What a server has shown of itself, where the store's guarantee could only say what holds for any server. Each part takes the place of the guarantee's. */
export interface Met {
  /** Which server it is: "etcd 3.5.21". For people. */
  readonly server: string;
  /** The deadlines of this session are so much earlier. */
  readonly extraMarginMs?: number | undefined;
  /** As the guarantee's, where that had to assume something of the server (a tick). */
  readonly proofWithinMs?: number | undefined;
  readonly proofApartMs?: number | undefined;
  /** Ways in which this session may end before its ttl. */
  readonly earlyEnds?: readonly string[] | undefined;
}

/** The answer to a keep. */
export type Kept =
  /**
   * `lost`: of the holds sent along, those that are no longer there.
   * `unsure`: of the holds sent along, those not proven renewed (stores that renew record by record).
   * `strays`: entries of this session that were not sent along: a claim that committed after its caller had given up.
   * `asked`: of the holds sent along, those whose holder was asked to hand over, each with the token that was asked: read in the same step as the rest. A store may show
   *   a request that was meant for an earlier term; the machine obeys only one that names its own (asked.ts).
   * `proves: false`: the session lives as far as the store can tell, and that is no proof: it extends nothing (only where no proof was wished).
   * `witness`: with `proves: false`, what a claim names later to have this very keep confirmed (`Claim.witness`). Only of a store that `keepProves` "this-send".
   * `road`: of a store that `keepProves` "previous-send": the connection that has answered. A keep proves the one before it only if both came by the same road.
   * `met`: with an opening, what is known only now that the server has answered. It holds for this session.
   */
  | {
      readonly kind: "kept";
      readonly session: Session;
      readonly lost: readonly Hold[];
      readonly unsure: readonly Hold[];
      readonly strays: readonly Hold[];
      readonly asked?: readonly Hold[] | undefined;
      readonly proves?: false;
      readonly witness?: string | undefined;
      readonly road?: string | undefined;
      readonly met?: Met | undefined;
    }
  /** The store does not know the session, or has declared it dead. Final. */
  | { readonly kind: "session-lost" }
  | Unknown
  | Refused;

/** One attempt to get one name. */
export interface Claim {
  readonly session: Session;
  readonly name: Name;
  readonly bid: Bid;
  /** Race: exactly the version being replaced, which the recipe vouches for; or VACANT. Without it nothing is replaced. Line: ignored, the store judges. */
  readonly over?: Version | undefined;
  /** Line: this bid was answered `waiting` before. A store may read where it stands before it writes; one that takes no notice is right too. */
  readonly stands?: true | undefined;
  /** Of a keep that was answered before this claim was sent, and that proved nothing. A store that takes no notice of it is right too: it confirms nothing. */
  readonly witness?: string | undefined;
  /** What leader() shows beside the id. A claim of the bid that holds the name already only changes this. */
  readonly value: string;
}

/** The answer to one claim. */
export type Claimed =
  /**
   * Mine. Also the answer to a re-sent claim whose first try was applied.
   * `confirms`: the judge had received the keep that the claim's `witness` is of, while it was the judge, and the session is extended from then on. Nobody who
   * has become the judge since counts less. Never given for a witness that the store did not hand out, or not in its present life.
   */
  | { readonly kind: "granted"; readonly hold: Hold; readonly confirms?: true }
  /** Line: I stand in it, `ahead` > 0 before me. */
  | { readonly kind: "waiting"; readonly hold: Hold; readonly ahead: number }
  /** Race: not applied. Nor will this bid be: the version has moved. (Over VACANT an earlier try that is still on its way may be: then it shows as a stray.) */
  | { readonly kind: "beaten"; readonly seat: Seat }
  /** Line: not applied: this session still stands there under an older bid. Release that first: a new term needs a new token. */
  | { readonly kind: "leftover"; readonly bid: Bid }
  /** Not applied: the session is gone. */
  | { readonly kind: "session-lost" }
  | Unknown
  | Refused;

/** What to give back. Conditioned on session and bid, NEVER on version: renewals still in flight move versions. */
export interface Will {
  readonly session: Session;
  readonly holds: readonly Hold[];
  /** End the session too, so that requests of it still in flight are refused by the store. */
  readonly endSession: boolean;
}

/** `released`: nothing of the will stands any more, whether this call removed it or an earlier one. */
export type Released = { readonly kind: "released" } | Unknown | Refused;

/** Which name is looked at, and by whom. */
export interface Question {
  readonly name: Name;
  /** Of a watch: only hints of this memo are wanted. A store that takes no notice is right too. */
  readonly memo?: string | undefined;
  /** Line: asks for `place`. */
  readonly bid?: Bid | undefined;
  readonly session?: Session | undefined;
}

/** The answer to a look. */
export type Looked = { readonly kind: "seen"; readonly seats: readonly Seat[] } | Unknown | Refused;

/** The answer of `askToLeave`. `not-leading`: that term holds the name no longer, or never did; nothing was written. `seat`: what stands there. */
export type AskedToLeave =
  | { readonly kind: "asked" }
  | { readonly kind: "not-leading"; readonly seat: Seat }
  | Unknown
  | Refused;

/**
 * Word for everybody who watches a name: `to` is to lead next. It proves nothing, grants nothing and ends nothing, and it names a term, so that one that comes late is
 * for nobody (lease/invited.ts).
 */
export interface Invitation {
  /** The term after which it is to lead. */
  readonly token: Token;
  /** The id of a candidate, with the nonce of its process or without. */
  readonly to: string;
  /** Given if `to` invites itself, because it has this priority. Absent: somebody else wants it to lead, and it is to answer by asking the leader to leave. */
  readonly priority?: number | undefined;
}

/** The answer of `invite`. `told`: those who watch are told, as far as hints go. */
export type Invited = { readonly kind: "told" } | Unknown | Refused;

/** Who stands directly behind an entry of a line. `not-leading`: that term is not the first. */
export type ShownNext =
  | { readonly kind: "next"; readonly candidate: string | undefined }
  | { readonly kind: "not-leading" }
  | Unknown
  | Refused;

/** Who stands in a line, or leads it, in a session that speaks for no node. */
export type ShownNodeless = { readonly kind: "nodeless"; readonly candidates: readonly string[] } | Unknown | Refused;

/** Says that a look is worth while; one that shows the seat vacant (race), or nobody before me (line), that a claim is. May be late, doubled, lost. */
export interface Hint {
  readonly name: Name;
  /** This memo of the name was written: nothing else is known to have changed. */
  readonly memo?: string | undefined;
  readonly seat?: Seat | undefined;
  /** The holder was asked to hand over: its next keep tells whether that is so, and is sent at once. */
  readonly asked?: true | undefined;
  /** Somebody is invited to lead next: nothing else is known to have changed. */
  readonly invited?: Invitation | undefined;
}

/** A small value at a name that only the term in the seat can write. It outlives terms. */
export interface StoredMemo {
  readonly key: string;
  readonly value: string;
  /** Of the term that wrote it. */
  readonly token: Token;
  /** Counts the writes of this key in that term. INVARIANT: of two memos of one key, the later has the greater (token, n). */
  readonly n: number;
  /** Compare for equality only. INVARIANT: for one key of one name a version never repeats. */
  readonly version: Version;
}

/**
 * One write of one memo. INVARIANT: applied only if the session lives, the seat shows this session, bid AND token, and what stands has the version `over`.
 * Session and bid are not enough: a late duplicate of a claim can be granted another token under the same bid.
 */
export interface MemoWrite {
  readonly session: Session;
  /** With its token. */
  readonly hold: Hold;
  readonly key: string;
  readonly value: string;
  /** A write that is sent again keeps it. */
  readonly n: number;
  /** What stands there, as last read or written; undefined: nothing. */
  readonly over: Version | undefined;
  /** In the same step the ban of this node by this election begins or ends. Only where `guarantee.bans` says so. Refused with STORE_DENIED for the writer's own node. */
  readonly ban?: BanChange | undefined;
}

/** A ban stands from the step that writes its memo with `stands` until the step that writes it without, and outlives the term that wrote it. A node is banned while a ban of any election stands. */
export interface BanChange {
  readonly node: string;
  readonly stands: boolean;
  /**
   * With `stands`: the machine of the node was verified to be off since this very term has banned it. In the same step every session of the node is ended, so that what it held is vacant. Refused with
   * STORE_DENIED, and nothing is written or ended, unless a ban of this election stands in that step (ban-rule.ts, rule 6).
   */
  readonly endsSessions?: true | undefined;
}

/** The answer to a write of a memo. */
export type MemoWritten =
  /** It stands. Also the answer to a write whose first try was applied: what stands has the same token, `n` and value. */
  | { readonly kind: "written"; readonly version: Version }
  /** Not applied: something else stands there than `over`. */
  | { readonly kind: "conflict"; readonly memo: StoredMemo | undefined }
  /** Not applied: the seat does not show this hold. Final: no seat shows a token again. */
  | { readonly kind: "seat-lost" }
  | { readonly kind: "session-lost" }
  | Unknown
  | Refused;

/** The answer to a read of memos: in the order of their keys. Linearizable: it shows every write that was answered before it was sent. */
export type MemosRead = { readonly kind: "memos"; readonly memos: readonly StoredMemo[] } | Unknown | Refused;
