// The public face: what users name, and nothing else. Bodies are in candidate.ts and election.ts.
//
// A candidate is this process's standing at one store: one identity, one session, one deadline, any number of elections and locks.
import type { FencedStore, Store } from "../stores/contract.ts";
import type { Ban } from "./bans.ts";
import type { Memo } from "./memo.ts";
import type { Term, UnfencedTerm } from "./term.ts";
import type { Listener, Logger } from "./voice.ts";

/** The kind of term that a store gives: with a token, or without. */
export type TermOf<S extends Store> = S extends FencedStore ? Term : UnfencedTerm;

/**
 * A keeper: a small process beside this one, which gives back what this process holds as soon as it is dead, and nothing that it has started lives. See docs/KEEPER.md.
 * What was sent before the death may still arrive. So it must be said either that this does no harm, or how long it may take.
 */
export type KeeperOptions = (
  | {
      /** Everything that this process and its children write to compares the token of the term (docs/FENCING.md): the seat is given back at once. */
      readonly effectsAreFenced: true;
      readonly quietMs?: undefined;
    }
  | {
      readonly effectsAreFenced?: false | undefined;
      /** The seat is given back so long after the last of them was gone: requests of a dead process may arrive until then. At most 8000. */
      readonly quietMs: number;
    }
) & {
  /** This process starts no others. Needed where the system does not show whose child a process is: everywhere but on Linux, where they are looked for in any case. */
  readonly noChildren?: boolean | undefined;
};

/** What can be set for a candidate, beside its store. */
export interface CandidateSettings {
  /** @default hostname; a nonce of this process is always added */
  readonly id?: string | undefined;
  /** @default 15_000 */
  readonly ttlMs?: number | undefined;
  /** The signal aborts this long before the deadline, so that work can stop while nobody else may lead yet. @default a fifth of ttlMs */
  readonly drainMs?: number | undefined;
  /**
   * A term that has been led for so long is given up: its signal aborts with the reason `tenure`, its work drains, and another candidate gets its turn. If there is no
   * other, this one leads again after a pause (at most one ttl), with a new token. Not for locks. At least ttlMs. See docs/HANDING-OVER.md. @default no limit
   */
  readonly maxTenureMs?: number | undefined;
  /**
   * A leader makes way for a candidate with a greater priority that waits, once it has led for two ttls; and of several that wait, those with a smaller one let it go first. A preference
   * and no promise: see docs/HANDING-OVER.md. From 0 to 1000. Only on stores that pass invitations on. @default 0
   */
  readonly priority?: number | undefined;
  /**
   * - "loop" renews by timers of this process: work that blocks the event loop for longer than about half a ttl loses the term.
   * - "thread" renews from a worker thread, also while the event loop is blocked, until it has not turned for `stallAfterMs`. The thread opens the store
   *   again, so it needs one that was opened from a URL. If it is lost, an error event says so (`THREAD_LOST`), and renewals go on as with "loop".
   * - "manual" renews only when `term.renew()` is called, and is meant for `tryCampaign`: a candidate that waits renews nothing either, so that it begins
   *   anew after each ttl, in a line at its end.
   *
   * @default "loop"
   */
  readonly renewal?: "loop" | "thread" | "manual" | undefined;
  /**
   * With `renewal: "thread"`: the thread stops once the event loop has not turned for so long. A process that hangs for good is therefore replaced
   * `stallAfterMs` + `ttlMs` after its last turn. From about half of `ttlMs` to a hundred times `ttlMs`. @default twice ttlMs
   */
  readonly stallAfterMs?: number | undefined;
  /**
   * Lets another process give this one's terms back when it is killed, instead of the ttl. Needs a store that was opened from a URL. If the keeper is lost, an
   * error event says so (`KEEPER_LOST`), and another one is started. @default none: after a crash the ttl has to pass, except on stores that notice by themselves
   */
  readonly keeper?: KeeperOptions | undefined;
  /**
   * The machine that this process runs on, as `conclave stonith` knows it: its name, or name and machine id. Recorded with the session; while the node is banned nothing is
   * granted to it. Only on stores that keep bans. @default none: this candidate cannot be banned. The machine id is that of the system
   */
  readonly node?: string | { readonly name: string; readonly machine?: string | undefined } | undefined;
  /** What happens when work still runs although its term is lost. @default "report": an event, and no new term here until the work has settled */
  readonly onOverstay?: "report" | "exit" | ((election: string) => void) | undefined;
  /** Called with every event, in order: docs/EVENTS.md. As `subscribe`, from the beginning. What it throws or rejects with does no harm. */
  readonly onEvent?: Listener | undefined;
  /** Gets every event as one line: `console`, pino, or whatever has these four methods. */
  readonly logger?: Logger | undefined;
}

/** A store without tokens must be accepted in words, once, where it is named. */
export type CandidateOptions<S extends Store> = CandidateSettings & { readonly store: S } & ([S] extends [FencedStore]
    ? { readonly unfenced?: false | undefined }
    : {
        /** This store cannot fence: a paused holder may still write after a successor has begun. See docs/GUARANTEES.md. */
        readonly unfenced: true;
      });

/** The options of `elect`: those of its candidate. */
export type ElectOptions<S extends Store> = CandidateOptions<S>;

/** Options of `lead`. */
export interface LeadOptions {
  /** Stop leading, or waiting to: `shutdownSignal()`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `campaign` and `tryCampaign`. */
export interface CampaignOptions {
  /** Stop waiting. A term that was won belongs to the caller. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `leader`, `observe`, `memo`, `bans` and `observeMemo`. */
export interface LookOptions {
  /** Stop looking. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `transfer`. */
export interface TransferOptions {
  /** How long the candidate has to answer, and the term to end. @default 30_000 */
  readonly withinMs?: number | undefined;
  /** Of `election.transfer`: only after the term with this token. @default the term that leads now */
  readonly token?: bigint | undefined;
}

/** The answer of `term.transfer`. Not accepted: nothing was given up, and this term leads on. */
export type TransferAnswer = { readonly accepted: true } | { readonly accepted: false; readonly why: string };

/**
 * The answer of `election.transfer`.
 * - `transferred`: that candidate leads now, with a token of its own
 * - `another-leads`: the term was given up, and another candidate was quicker
 * - `given-up`: the term was given up, and nobody leads yet
 * - `stays`: the term leads on. The candidate has not answered, or the work of the leader still drains
 * - `leads-already`, `nobody-leads`, `not-that-term`: nothing was asked
 */
export interface Transfer {
  readonly outcome:
    | "transferred"
    | "another-leads"
    | "given-up"
    | "stays"
    | "leads-already"
    | "nobody-leads"
    | "not-that-term";
  /** Who leads, as the store shows it. */
  readonly leader?: Leader | undefined;
}

/** Options of `withLock`. */
export interface LockOptions {
  /** Stop waiting; while the work runs, abort the signal of its term. */
  readonly signal?: AbortSignal | undefined;
  /** Give up with `LOCK_TIMEOUT` after so long; 0: only if it is free now. @default as long as it takes */
  readonly waitMs?: number | undefined;
}

/** Options of `close`. */
export interface CloseOptions {
  /**
   * How long a term that was handed out, by `campaign` or `election.term()`, may be worked in after its signal aborted; 0: not at all. Work of `lead`, `withLock`
   * and `ifLeading` is always waited for, and for nothing else. @default `drainMs` of the candidate
   */
  readonly drainMs?: number | undefined;
}

/** Who leads, as the store shows it: a hint, which may be out of date. */
export interface Leader {
  readonly id: string;
  readonly token?: bigint | undefined;
  readonly value?: string | undefined;
}

/** This process's standing at one store: one identity and one session, for any number of elections and locks. */
export interface Candidate<T extends UnfencedTerm = Term> extends AsyncDisposable {
  /** With the nonce of this process. */
  readonly id: string;
  election(name: string): Election<T>;
  /**
   * Runs `work` under the lock `name`. While it waits: rejects `LOCK_TIMEOUT` after `waitMs` (0: only if it is free now; then also at once with the store's error if the store does not answer), `signal.reason` on abort.
   * While `work` runs, an abort aborts the term's signal, and `work` decides; rejects `TERM_LOST` if the lock was lost before `work` resolved.
   * Not re-entrant: `work` that asks for the same name again waits for itself.
   */
  withLock<R>(name: string, work: (term: T) => Promise<R>, options?: LockOptions): Promise<R>;
  /**
   * Every event, in order. A listener that throws or rejects is reported and does no harm. Returns how to stop.
   * While nobody listens, by this, `onEvent` or `logger`, trouble is a warning of the process (`process.emitWarning`).
   */
  subscribe(listener: Listener): () => void;
  /**
   * Stops campaigning, aborts every term's signal with `resigned`, waits for the work, releases, ends the session. At once where nothing is at work; a store that
   * does not answer is waited for 6 s at most. The user's client stays open.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** The election of one name, as one candidate sees it. */
export interface Election<T extends UnfencedTerm = Term> extends AsyncDisposable {
  readonly name: string;
  /** Of its candidate, if it was given one. */
  readonly node: string | undefined;
  /**
   * Leads while `work` runs, each time this process is elected.
   * - `work` resolves before the term's signal aborts: resign; resolves with its value.
   * - `work` rejects before the term's signal aborts: resign; rejects with its error.
   * - the signal aborts because the term runs out or is lost: waits for `work` to settle, then campaigns again.
   * - `signal` aborts or `close()`: waits for `work`, resigns, resolves `undefined`.
   * - `term.resign()` inside `work`: as if the term had been lost, after a pause.
   *
   * To end from inside `work`, return; awaiting `close()` there would wait for `work` itself.
   */
  lead<R>(work: (term: T) => Promise<R>, options?: LeadOptions): Promise<R | undefined>;
  /**
   * Campaigns in the background and keeps what it wins until `close()`. Ask `term()`. It goes on trying whatever happens, also where `lead` and
   * `campaign` would reject: what is wrong is an `error` event, and a warning of the process if nobody listens.
   */
  start(): void;
  /**
   * Runs `work` if this election leads at this moment, and resolves as it does; otherwise resolves `undefined`. For schedulers in every replica. `work` belongs to the
   * term: closing, resigning and the next term wait for it, and for nothing else. Pass `term.signal` on, so that it ends in time.
   */
  ifLeading<R>(work: (term: T) => Promise<R>): Promise<R | undefined>;
  /** Whether this election leads at this moment, by the clock: for status pages. To do something, use `ifLeading` or `term()`. */
  isLeading(): boolean;
  /**
   * The term in which this election leads at this moment, by the clock; none from its signal on, so that nothing new is begun. What you do with it nobody sees, so that
   * closing waits `drainMs` for it; work of `ifLeading` is waited for as long as it takes, and no longer.
   */
  term(): T | undefined;
  /** Resolves when elected. The caller ends the term: `resign()`, or `await using`. */
  campaign(options?: CampaignOptions): Promise<T>;
  /** As `campaign`, but gives up at the first definite answer that another stands before this candidate. Rejects with the store's error if the store refuses or does not answer in time. */
  tryCampaign(options?: CampaignOptions): Promise<T | undefined>;
  /** A hint for routing and dashboards; never a proof. */
  leader(options?: LookOptions): Promise<Leader | undefined>;
  /**
   * Asks for a transfer to the candidate with the id `to`, from any process, whoever leads: that candidate is invited, and asks the leader to leave. Resolves with what has become of it.
   * If the candidate is not there, nothing is given up. Rejects with `STORE_UNSUPPORTED` where the store cannot do it. See docs/HANDING-OVER.md.
   */
  transfer(to: string, options?: TransferOptions): Promise<Transfer>;
  /** The events of this election, and those of its candidate as a whole: its session, its renewals, the store. Returns how to stop. */
  subscribe(listener: Listener): () => void;
  /** The present leader first, then each change; a slow reader sees the latest. Ends when `signal` aborts or `close()` is called. */
  observe(options?: LookOptions): AsyncIterable<Leader | undefined>;
  /**
   * What a leader has left under `key` with `term.memo`, or undefined. Anybody may read; a leader that reads sees everything that its predecessors were told is written.
   */
  memo(key: string, options?: LookOptions): Promise<Memo | undefined>;
  /** The bans of this election that stand: of nodes that are to be powered off, or were, and to which nothing is granted until that is settled. By one linearizable read. */
  bans(options?: LookOptions): Promise<readonly Ban[]>;
  /** The present memo first, then each change; a slow reader sees the latest. Ends when `signal` aborts or `close()` is called. */
  observeMemo(key: string, options?: LookOptions): AsyncIterable<Memo | undefined>;
  /** Stops campaigning, waits for the work of a held term, releases it. At once where nothing is at work. */
  close(options?: CloseOptions): Promise<void>;
}
