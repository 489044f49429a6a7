// The public types: the names that users use, and nothing else. The implementations are in candidate.ts and election.ts.
//
// A candidate is the place of this process at one store: one identity, one session, one deadline, any number of elections and locks.
import type { FencedStore, Store } from "../stores/contract.ts";
import type { Ban } from "./bans.ts";
import type { Memo } from "./memo.ts";
import type { Term, UnfencedTerm } from "./term.ts";
import type { Listener, Logger } from "./voice.ts";

/** The kind of term that a store gives: with a token, or without. */
export type TermOf<S extends Store> = S extends FencedStore ? Term : UnfencedTerm;

/**
 * A keeper is a small process beside this one. When this process is dead and no process that it has started lives, the keeper gives back what it held. See docs/KEEPER.md.
 * A request that was sent before the death may still arrive. So you must say either that this does no harm, or how long it may take.
 */
export type KeeperOptions = (
  | {
      /** Every resource that this process and its children write to compares the token of the term (docs/FENCING.md): the seat is given back at once. */
      readonly effectsAreFenced: true;
      readonly quietMs?: undefined;
    }
  | {
      readonly effectsAreFenced?: false | undefined;
      /** The seat is given back this long after the last of these processes was gone, because requests of a dead process may arrive until then. At most 8000. */
      readonly quietMs: number;
    }
) & {
  /** This process starts no others. This is needed where the system does not show whose child a process is: everywhere except on Linux, where children are looked for in any case. */
  readonly noChildren?: boolean | undefined;
};

/** The settings of a candidate, beside its store. */
export interface CandidateSettings {
  /** @default hostname; a nonce of this process is always added */
  readonly id?: string | undefined;
  /** @default 15_000 */
  readonly ttlMs?: number | undefined;
  /** The signal aborts this long before the deadline, so that work can stop while nobody else may lead yet. @default a fifth of ttlMs */
  readonly drainMs?: number | undefined;
  /**
   * A term that has been led for this long is given up: its signal aborts with the reason `tenure`, its work drains, and another candidate gets its turn. If there is no
   * other, this one leads again after a pause (at most one ttl), with a new token. This does not apply to locks. At least ttlMs. See docs/HANDING-OVER.md. @default no limit
   */
  readonly maxTenureMs?: number | undefined;
  /**
   * A leader makes way for a waiting candidate with a greater priority, once it has led for two ttls. If several candidates wait, those with a smaller priority let it go first. This is a
   * preference and no promise: see docs/HANDING-OVER.md. From 0 to 1000. Only on stores that pass invitations on. @default 0
   */
  readonly priority?: number | undefined;
  /**
   * - "loop" renews by timers of this process: work that blocks the event loop for longer than about half a ttl loses the term.
   * - "thread" renews from a worker thread, even while the event loop is blocked, until the loop has not turned for `stallAfterMs`. The thread opens the store
   *   again, so it needs one that was opened from a URL. If the thread is lost, an error event says so (`THREAD_LOST`), and renewals go on as with "loop".
   * - "manual" renews only when `term.renew()` is called, and is meant for `tryCampaign`. A candidate that waits renews nothing either, so it begins anew after
   *   each ttl; in a queue it then goes to the end.
   *
   * @default "loop"
   */
  readonly renewal?: "loop" | "thread" | "manual" | undefined;
  /**
   * With `renewal: "thread"`: the thread stops when the event loop has not turned for this long. A process that hangs for ever is therefore replaced
   * `stallAfterMs` + `ttlMs` after its last turn. From about half of `ttlMs` to a hundred times `ttlMs`. @default twice ttlMs
   */
  readonly stallAfterMs?: number | undefined;
  /**
   * Lets another process give back the terms of this one when it is killed, so that nobody waits for the ttl. Needs a store that was opened from a URL. If the keeper is lost, an
   * error event says so (`KEEPER_LOST`), and another one is started. @default none: after a crash the ttl has to pass, except on stores that notice by themselves
   */
  readonly keeper?: KeeperOptions | undefined;
  /**
   * The machine that this process runs on, as `conclave stonith` knows it: its name, or name and machine id. It is recorded with the session; while the node is banned, nothing is
   * granted to it. Only on stores that keep bans. @default none: this candidate cannot be banned. The machine id is that of the system
   */
  readonly node?: string | { readonly name: string; readonly machine?: string | undefined } | undefined;
  /** What happens when work still runs although its term is lost. @default "report": an event, and no new term here until the work has settled */
  readonly onOverstay?: "report" | "exit" | ((election: string) => void) | undefined;
  /** Called with every event, in order: docs/EVENTS.md. It works as `subscribe` does, from the beginning. If it throws or rejects, this does no harm. */
  readonly onEvent?: Listener | undefined;
  /** Gets every event as one line: `console`, pino, or any object that has these four methods. */
  readonly logger?: Logger | undefined;
}

/** A store without tokens must be accepted explicitly, with `unfenced: true` beside the store. */
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
  /** Stops leading, or waiting to lead: `shutdownSignal()`. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `campaign` and `tryCampaign`. */
export interface CampaignOptions {
  /** Stops waiting. A term that was won belongs to the caller. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `leader`, `observe`, `memo`, `bans` and `observeMemo`. */
export interface LookOptions {
  /** Stops looking. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `transfer`. */
export interface TransferOptions {
  /** How long the candidate has to answer, and how long the term has to end. @default 30_000 */
  readonly withinMs?: number | undefined;
  /** For `election.transfer`: only the term with this token is transferred. @default the term that leads now */
  readonly token?: bigint | undefined;
}

/** The answer of `term.transfer`. If it is not accepted, nothing was given up, and this term continues. */
export type TransferAnswer = { readonly accepted: true } | { readonly accepted: false; readonly why: string };

/**
 * The answer of `election.transfer`.
 * - `transferred`: that candidate leads now, with a token of its own
 * - `another-leads`: the term was given up, and another candidate was quicker
 * - `given-up`: the term was given up, and nobody leads yet
 * - `stays`: the term continues. The candidate has not answered, or the work of the leader still drains
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
  /** The present leader, as the store shows it. */
  readonly leader?: Leader | undefined;
}

/** Options of `withLock`. */
export interface LockOptions {
  /** Stops waiting. While the work runs, it aborts the signal of its term. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up with `LOCK_TIMEOUT` after this long. With 0, the lock is taken only if it is free now. @default as long as it takes */
  readonly waitMs?: number | undefined;
}

/** Options of `close`. */
export interface CloseOptions {
  /**
   * How long the user of a term from `campaign` or `election.term()` may work on after its signal aborted; 0 for no time. Work of `lead`, `withLock` and `ifLeading`
   * is always waited for, and for no longer than it takes. @default `drainMs` of the candidate
   */
  readonly drainMs?: number | undefined;
}

/** The present leader, as the store shows it. This is a hint, which may be out of date. */
export interface Leader {
  readonly id: string;
  readonly token?: bigint | undefined;
  readonly value?: string | undefined;
}

/** The place of this process at one store: one identity and one session, for any number of elections and locks. */
export interface Candidate<T extends UnfencedTerm = Term> extends AsyncDisposable {
  /** The id, with the nonce of this process. */
  readonly id: string;
  election(name: string): Election<T>;
  /**
   * Runs `work` under the lock `name`. While waiting, rejects with `LOCK_TIMEOUT` after `waitMs`, and with `signal.reason` on abort. With `waitMs` 0 it takes the lock only if it is free now, and rejects at once with the
   * store's error if the store does not answer. While `work` runs, an abort aborts the term's signal, and `work` decides. It rejects with `TERM_LOST` if the lock was lost before `work` resolved.
   * It is not re-entrant: `work` that asks for the same name again waits for itself.
   */
  withLock<R>(name: string, work: (term: T) => Promise<R>, options?: LockOptions): Promise<R>;
  /**
   * Calls `listener` with every event, in order. A listener that throws or rejects is reported and does no harm. Returns a function that stops this.
   * While there is no listener, by this, `onEvent` or `logger`, trouble is reported as a warning of the process (`process.emitWarning`).
   */
  subscribe(listener: Listener): () => void;
  /**
   * Stops campaigning, aborts every term's signal with `resigned`, waits for the work, releases the terms and ends the session. This happens at once if no work runs. A store that
   * does not answer is waited for 6 s at most. The user's client stays open.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** The election of one name, as one candidate sees it. */
export interface Election<T extends UnfencedTerm = Term> extends AsyncDisposable {
  readonly name: string;
  /** The node of its candidate, if it was given one. */
  readonly node: string | undefined;
  /**
   * Leads while `work` runs, each time this process is elected.
   * - If `work` resolves before the term's signal aborts, it resigns and resolves with the value of `work`.
   * - If `work` rejects before the term's signal aborts, it resigns and rejects with the error of `work`.
   * - If the term's signal aborts because the term expires or is lost, it waits for `work` to settle, then campaigns again.
   * - If `signal` aborts or `close()` is called, it waits for `work`, resigns and resolves with `undefined`.
   * - `term.resign()` inside `work` has the same effect as a lost term, after a pause.
   *
   * To end from inside `work`, return; awaiting `close()` there would wait for `work` itself.
   */
  lead<R>(work: (term: T) => Promise<R>, options?: LeadOptions): Promise<R | undefined>;
  /**
   * Campaigns in the background and keeps the terms that it wins until `close()`. Ask `term()` for the present one. It goes on trying whatever happens, even where `lead` and
   * `campaign` would reject: a problem is an `error` event, and a warning of the process if there is no listener.
   */
  start(): void;
  /**
   * Runs `work` if this election leads at this moment, and resolves as it does; otherwise resolves with `undefined`. This is for schedulers in every replica. `work` belongs to the
   * term: closing, resigning and the next term wait for it, and for nothing else. Pass `term.signal` on, so that it ends in time.
   */
  ifLeading<R>(work: (term: T) => Promise<R>): Promise<R | undefined>;
  /** True if this election leads at this moment, by the clock. This is for status pages; to do something, use `ifLeading` or `term()`. */
  isLeading(): boolean;
  /**
   * The term in which this election leads at this moment, by the clock. There is none after its signal has aborted, so that nothing new is begun. Nobody sees what you do with the term, so
   * closing waits `drainMs` for it. Work of `ifLeading` is waited for as long as it takes, and no longer.
   */
  term(): T | undefined;
  /** Resolves when elected. The caller ends the term, with `resign()` or `await using`. */
  campaign(options?: CampaignOptions): Promise<T>;
  /** Works as `campaign` does, but gives up at the first definite answer that another stands before this candidate. Rejects with the store's error if the store refuses or does not answer in time. */
  tryCampaign(options?: CampaignOptions): Promise<T | undefined>;
  /** The present leader. This is a hint for routing and dashboards, never a proof. */
  leader(options?: LookOptions): Promise<Leader | undefined>;
  /**
   * Asks for a transfer to the candidate with the id `to`, from any process, whichever process leads: that candidate is invited, and asks the leader to leave. Resolves with the outcome.
   * If the candidate is not there, nothing is given up. Rejects with `STORE_UNSUPPORTED` where the store cannot do it. See docs/HANDING-OVER.md.
   */
  transfer(to: string, options?: TransferOptions): Promise<Transfer>;
  /** Calls `listener` with the events of this election and those of its candidate as a whole: its session, its renewals, the store. Returns a function that stops this. */
  subscribe(listener: Listener): () => void;
  /** Gives the present leader first, then each change; a slow reader sees the latest. It ends when `signal` aborts or `close()` is called. */
  observe(options?: LookOptions): AsyncIterable<Leader | undefined>;
  /**
   * The memo that a leader has left under `key` with `term.memo`, or undefined. Anybody may read it. A leader that reads it sees every write that was confirmed to its predecessors.
   */
  memo(key: string, options?: LookOptions): Promise<Memo | undefined>;
  /** The bans of this election that are in force, by one linearizable read. The nodes are to be powered off, or were, and nothing is granted to them until that is settled. */
  bans(options?: LookOptions): Promise<readonly Ban[]>;
  /** Gives the present memo first, then each change; a slow reader sees the latest. It ends when `signal` aborts or `close()` is called. */
  observeMemo(key: string, options?: LookOptions): AsyncIterable<Memo | undefined>;
  /** Stops campaigning, waits for the work of a held term, and releases it. This happens at once if no work runs. */
  close(options?: CloseOptions): Promise<void>;
}
