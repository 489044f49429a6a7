// What the machine remembers, what it is told, and what it asks for. Plain data throughout: a machine is copied with structuredClone, and the
// copy behaves as the original.
import type { Agenda, AgendaEntry } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import type { ConclaveError, LossReason } from "../base/errors.ts";
import type { Rng } from "../base/rng.ts";
import type { Courtesy } from "./courtesy.ts";
import type { Crowd } from "./crowd.ts";
import type { ConclaveEvent } from "./events.ts";
import type {
  AskedToLeave,
  BanChange,
  Bid,
  Claim,
  Claimed,
  Hint,
  Hold,
  Invitation,
  Invited,
  KeepWish,
  Kept,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  Token,
  Version,
  Will,
} from "./exchange.ts";
import type { Greatest } from "./greatest.ts";
import type { Bounds, Lifeline } from "./lifeline.ts";
import type { TermMemos } from "./memo-state.ts";
import type { Pace, Settings } from "./settings.ts";

export interface Machine {
  readonly settings: Settings;
  /** Begins every bid and session nonce of this machine. Unique for ever: a process nonce and a counter. */
  readonly nonce: string;
  /** Follows the nonce. Drawn with each session where the store refuses clones, so that two copies of this machine have different bids from then on (beats.ts). */
  branch: string;
  readonly rng: Rng;
  /** In [0, 1): where in the poll interval this machine looks. */
  readonly pollPhase: number;
  session: SessionStage;
  /** Sessions that are over here, and perhaps not yet at the store (lapsed.ts). */
  readonly lapsed: LapsedSession[];
  /** Only names that are wanted, held or not yet settled; an idle name has no entry. */
  campaigns: Map<Name, Campaign>;
  campaignsMade: number;
  /** True: no campaign stands, and none has begun to since all were looked at. False: perhaps one does. */
  noneStands: boolean;
  /** When each campaign next acts by itself. */
  readonly agenda: Agenda<Campaign>;
  /** Of each term that has written a memo, what it knows of them (memo-book.ts). */
  readonly memos: Map<Name, TermMemos>;
  /** Before these, nothing is to be done for a memo that is sent again, a record that is renewed by itself (expiry.ts), a term that is led for `maxTenureMs` (tenure.ts). */
  memosDueAt: number;
  recordsDueAt: Reading;
  tenureDueAt: number;
  /** Requests without an answer. */
  errands: Map<number, Errand>;
  errandsSent: number;
  readonly crowd: Crowd;
  bidsMade: number;
  /** Some exchange with the store has succeeded: from then on nothing rejects, everything is retried and reported. */
  reached: boolean;
  closing: "no" | "yes" | "ended";
  /** Sessions in a row that the store ended before a keep of theirs was proven. */
  barren: number;
  /** The next session is not opened before this instant. */
  openAt: number;
}

// ---- session -------------------------------------------------------------------------------------------------------------------------

export type SessionStage = NoSession | Opening | Open;

/** `opened` counts sessions of this machine, so that an answer meant for an earlier one is known as such. */
export interface NoSession {
  readonly kind: "none";
  readonly opened: number;
}

export interface Opening {
  readonly kind: "opening";
  readonly opened: number;
  spec: SessionSpec;
  /** Read before the FIRST try: tries with one nonce are one opening. */
  readonly firstSentAt: Reading;
  errand: number;
  retryAt: number;
  failures: number;
}

export interface Open {
  readonly kind: "open";
  readonly opened: number;
  /** Only its beats change. */
  session: Session;
  readonly pace: Pace;
  /** The margins of the settings, but for what its opening has shown of the server. */
  readonly bounds: Bounds;
  /** What an answer must be to prove anything: as the guarantee says, but for what its opening has shown. */
  readonly proof: { readonly withinMs: number; readonly apartMs: number };
  readonly lifeline: Lifeline;
  /** The keep in flight, 0 for none: one at a time. */
  errand: number;
  keepsSent: number;
  /** Number of the latest keep that was proven. */
  keepProven: number;
  /** When the last answered keep was sent: what `previous-send` stores prove. */
  answeredSentAt: Reading;
  /** The road by which it was answered (`Kept.road`). */
  answeredRoad: string | undefined;
  renewAt: number;
  /** A keep of at least this number was asked for, beyond the rhythm. */
  renewalAsked: number;
  failures: number;
  /** The last answer said that the session lives, and proved nothing: nothing was held by it. */
  hearsay: boolean;
  /** The last keep that proved nothing, if a claim can have it confirmed (credit.ts). */
  heard: Heard | undefined;
  /** A claim was in doubt when so many keeps had been sent: those that follow look for strays, until enough of them have found none. −1: none is in doubt. */
  doubtedAt: number;
  /** A keep that carried a part has missed a hold: those that follow carry all, until one is answered (rota.ts). */
  missed: boolean;
  /** The renewal thread has stopped because the main loop did not turn; until the next proven keep. */
  stalled: boolean;
  /** Entries to be given back as soon as the store listens. isLeaving: a release of the entry waits for its answer. */
  readonly leftovers: { readonly hold: Hold; isLeaving: boolean }[];
  leftoversAt: number;
  /** How many releases wait for their answers. */
  releases: number;
}

/** A keep that was answered without a proof. */
export interface Heard {
  readonly keep: number;
  readonly sentAt: Reading;
  readonly witness: string;
}

/** INVARIANT: `opened` is never that of the present session. */
export interface LapsedSession {
  readonly opened: number;
  readonly session: Session;
  /** How many of its terms have work that has not settled. */
  works: number;
  readonly notBefore: number;
  endAt: number;
  errand: number;
  failures: number;
}

// ---- campaign ------------------------------------------------------------------------------------------------------------------------

export interface Campaign extends AgendaEntry {
  readonly name: Name;
  /** Whether the campaign stands again when the present term has ended. */
  wanted: boolean;
  /** What leader() shows beside the id. */
  value: string;
  /** Its record is watched only once it has outlasted a keep. */
  brief: boolean;
  stage: Stage;
  /** The keep that last asked for its hold, or the last one before it was won; −1: a hint says that it is another's (rota.ts). */
  askedBy: number;
  /** Terms in a row that ended sooner than one ttl: the cool-down doubles with each. */
  shortTerms: number;
  /** Claims in a row that were beaten: the more, the more rivals there are (only where `guarantee.wakesAll`). */
  lostRaces: number;
  /** The greatest token of each domain seen at this name, as granted or looked at. */
  greatest: readonly Greatest[];
  /** The store has answered for this name: from then on nothing rejects, everything is retried and reported. */
  answered: boolean;
  /** The bid of the leader that was reported last. */
  reported: Bid | string | undefined;
  /** Another was invited to lead next (invited.ts). */
  courtesy: Courtesy | undefined;
  /** For a candidate with a priority: before this instant it does not say again that it waits. */
  pleadAt: number;
}

export type Stage = StandingStage | LeadingStage | EndingStage | SettlingStage;

export interface StandingStage {
  readonly kind: "standing";
  readonly pursuit: Pursuit;
  /** Manual renewal: a keep of at least this number must be proven before anything is claimed. */
  afterKeep: number;
  /** Cooling down until then: no hint and no new session brings it forward. */
  notBefore: number;
}

export interface LeadingStage {
  readonly kind: "leading";
  readonly term: TermRecord;
}

/** The signal has aborted; still held until the work has settled or the deadline comes. */
export interface EndingStage {
  readonly kind: "ending";
  readonly term: TermRecord;
  readonly reason: LossReason;
}

/** No longer held. Waits for the work of a lost term, or for the store's answer to a release. */
export interface SettlingStage {
  readonly kind: "settling";
  readonly term: TermRecord;
  readonly reason: LossReason;
  readonly awaits: "work" | "release";
  readonly since: number;
}

export interface TermRecord {
  readonly hold: Hold;
  /** The session it was granted to: `Open.opened`. */
  readonly opened: number;
  /** The first send of the claim that won it. */
  readonly claimedAt: Reading;
  /** Keeps of at least this number carried the hold. */
  readonly carriedFrom: number;
  readonly lifeline: Lifeline;
  readonly electedAt: number;
}

// ---- pursuit: how a standing campaign tries ------------------------------------------------------------------------------------------

export type Pursuit = RacePursuit | LinePursuit;

interface Attempt {
  /** Set from the first send of a claim until its definite answer. */
  bid: Bid | undefined;
  firstSentAt: Reading | undefined;
  errand: number;
  failures: number;
  /** A hint came while an answer was on its way, and may be newer than that. */
  hinted: boolean;
  /** A claim is sent as soon as a keep is proven. */
  awaitsProof: boolean;
  /** The claim in flight was sent before the session was proven: its answer has to confirm the last keep (credit.ts). */
  onCredit: boolean;
}

export interface RacePursuit extends Attempt {
  readonly shape: "race";
  /** The version the unanswered claim replaces. */
  over: Version | undefined;
  seen: SeenVersion | undefined;
  /** The seat is vacant, for all we know: nothing was seen yet, or a hint says so. */
  hopeful: boolean;
}

/** A version that was looked at, and from when on it may be replaced (Infinity: never while it stands). */
export interface SeenVersion {
  readonly version: Version;
  readonly takeAt: number;
}

export interface LinePursuit extends Attempt {
  readonly shape: "line";
  /** My entry, once the store has named it. */
  place: Hold | undefined;
  /** A look found nobody ahead: ask by a claim, which proves. */
  first: boolean;
}

// ---- told, and asked for -------------------------------------------------------------------------------------------------------------

export type Input =
  /** Time has passed; act on what is due. Every other input only takes note: a tick follows when `nextWake` says so. */
  | { readonly type: "tick" }
  /** `brief`: meant to be held for less than a renewal, so that its record is not worth a watch. */
  | { readonly type: "stand"; readonly name: Name; readonly value: string; readonly brief?: boolean }
  /** Stop wanting. A held term begins to end; its work is waited for. */
  | { readonly type: "withdraw"; readonly name: Name }
  /** Give up the present term, but stay a candidate. */
  | { readonly type: "resign"; readonly name: Name }
  /** The work of the present term has ended. */
  | { readonly type: "settle"; readonly name: Name }
  | { readonly type: "renew" }
  | { readonly type: "announce"; readonly id: number; readonly name: Name; readonly value: string }
  /** Write a memo in the term of `bid`. */
  | {
      readonly type: "memo";
      readonly id: number;
      readonly name: Name;
      readonly bid: Bid;
      readonly key: string;
      readonly value: string;
      readonly ban?: BanChange | undefined;
    }
  | { readonly type: "hint"; readonly hint: Hint }
  | { readonly type: "answer"; readonly errand: number; readonly answer: Answer }
  /** The renewal thread has sent a keep in this machine's place, at `sentAt`: one of session `opened`, with the holds that number `keep` carries (deputy.ts). */
  | {
      readonly type: "repeated";
      readonly opened: number;
      readonly keep: number;
      readonly sentAt: Reading;
      readonly kept: Kept;
      readonly beat?: string | undefined;
    }
  /** The renewal thread is about to send a keep of session `opened` that leaves this beat. */
  | { readonly type: "beat"; readonly opened: number; readonly beat: string }
  /** The renewal thread has stopped, because the main loop has not turned for `stallAfterMs`. */
  | { readonly type: "stalled"; readonly opened: number }
  | { readonly type: "close" };

export type Answer =
  | Kept
  | Released
  | Looked
  | MemoWritten
  | MemosRead
  | AskedToLeave
  | Invited
  | { readonly kind: "claimed"; readonly claimed: readonly Claimed[] };

export type Request =
  | {
      readonly method: "keep";
      readonly session: Session | SessionSpec;
      readonly holds: readonly Hold[];
      readonly wish?: KeepWish;
    }
  | { readonly method: "claim"; readonly claims: readonly Claim[] }
  | { readonly method: "release"; readonly will: Will }
  | { readonly method: "look"; readonly questions: readonly Question[] }
  | { readonly method: "writeMemo"; readonly write: MemoWrite }
  | { readonly method: "readMemos"; readonly name: Name; readonly key: string | undefined }
  | { readonly method: "askToLeave"; readonly name: Name; readonly token: Token }
  | { readonly method: "invite"; readonly name: Name; readonly invitation: Invitation };

export type Effect =
  /** Send this to the store; answer exactly once, `unknown` after `timeoutMs`. */
  | { readonly type: "call"; readonly errand: number; readonly timeoutMs: number; readonly request: Request }
  | { readonly type: "event"; readonly event: ConclaveEvent }
  | { readonly type: "watch"; readonly question: Question }
  | { readonly type: "unwatch"; readonly name: Name }
  /** Keep number `keep` was proven, or was not. */
  | { readonly type: "kept"; readonly keep: number; readonly roundTripMs: number; readonly remainingMs: number }
  | { readonly type: "unkept"; readonly keep: number; readonly error: ConclaveError }
  /** Renewal by a thread: from now on its keeps carry this hold, and the first of them has number `keep`. */
  | { readonly type: "carry"; readonly opened: number; readonly keep: number; readonly hold: Hold }
  /** The announcement or the memo of that id was done, or was not. */
  | { readonly type: "done"; readonly id: number; readonly error: ConclaveError | undefined }
  /** A definite answer: another stands before this candidate. */
  | { readonly type: "contested"; readonly name: Name }
  /** The name is neither wanted nor held any more, and its work has settled. `error`: it could not be had as things are. */
  | { readonly type: "free"; readonly name: Name; readonly error?: ConclaveError }
  /** Before the first exchange: cannot succeed as things are. Nothing stands any more. */
  | { readonly type: "failed"; readonly error: ConclaveError }
  | { readonly type: "closed" };

/** What a keep carries, and whether these are all holds of the session (rota.ts). */
export interface Carried {
  readonly holds: readonly Hold[];
  readonly all: boolean;
}

export type Errand =
  | {
      readonly kind: "keep";
      readonly opened: number;
      readonly keep: number;
      readonly sentAt: Reading;
      /** false: it did not look for strays. */
      readonly looked?: boolean;
      readonly carried?: Carried | undefined;
      /** What it leaves in the session's record. */
      beat?: string | undefined;
    }
  | {
      readonly kind: "claim";
      readonly opened: number;
      readonly bids: readonly { readonly name: Name; readonly bid: Bid }[];
      readonly sentAt: Reading;
      readonly patienceMs: number;
      /** What those of them that were sent on credit are to confirm (credit.ts). */
      readonly heard?: Heard | undefined;
    }
  | { readonly kind: "announce"; readonly id: number; readonly opened: number; readonly hold: Hold }
  | { readonly kind: "release"; readonly opened: number; readonly holds: readonly Hold[]; readonly last: boolean }
  | { readonly kind: "look"; readonly names: readonly Name[] }
  /** A request or an invitation, whose answer changes nothing here. */
  | { readonly kind: "word" }
  | {
      readonly kind: "memo";
      readonly does: "read" | "write";
      readonly name: Name;
      readonly bid: Bid;
      readonly key: string;
    };
