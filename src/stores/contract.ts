// What a store must do for an election: six methods, plain values, three-valued outcomes.
//
// A driver translates and does not decide. It reads no clock, retries nothing, caches nothing, computes no deadline: the lease machine
// (src/lease) owns time, and dates every success at the instant before the call. One call is one request, or one batch. The
// client library's own retries must be off, or idempotent by bid.
//
// `unknown`: it may have happened, may still happen, and may happen AFTER later calls. `refused`: definitely not applied. A method that
// throws or rejects counts as unknown. Everything a driver names is exported here (conclave/stores/contract). Prove a driver with `storeConformance` of conclave/testing.
import { ConclaveError } from "../base/errors.ts";
import { requireOptions } from "../base/option-keys.ts";
import type {
  AskedToLeave,
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
  ShownNodeless,
  ShownNext,
  Token,
  Version,
  Will,
} from "../lease/exchange.ts";
import type { Refused, Unknown } from "../base/outcome.ts";
import type { Fencing, Guarantee } from "../lease/guarantee.ts";

export type * from "../lease/exchange.ts";
export { VACANT } from "../lease/exchange.ts";
export type { Hazard, Fencing, Guarantee, MemoBounds } from "../lease/guarantee.ts";
export type { RefusalCode, Refused, Unknown } from "../base/outcome.ts";

/** What the host tells a driver with each request. */
export interface Call {
  /** Aborts when the caller has given up. Stop waiting; what was sent may still be applied. An election makes it when it is first read. */
  readonly signal: AbortSignal;
  /**
   * The same without a signal, which costs more than the rest of a call inside the process. An election always has these two; a call made by hand may
   * leave them out. A driver asks by `isGivenUp` and `whenGivenUp` of src/stores/call.ts, which take whichever the call has.
   */
  readonly isGivenUp?: boolean | undefined;
  /** Calls `then` once when the caller gives up. There is one listener: that of the driver. */
  readonly whenGivenUp?: ((then: () => void) => void) | undefined;
  /** The caller's monotonic clock just before this call, for stores whose takers read the same clock (one kernel). */
  readonly sentAtMs: number;
}

/** Where candidates meet. A driver has these six methods and a declaration of what it promises. */
export interface Store<F extends Fencing = Fencing> {
  readonly guarantee: Guarantee<F>;

  /**
   * 1. Opens a session, or extends it and every hold bound to it: one request for all holds where `guarantee.keep` says so.
   * `wish` says what need not be done; a store that takes no notice of it is right too.
   * Opening again with the same nonce is the same opening and extends nothing. A session that is over stays over: `session-lost`.
   */
  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish?: KeepWish): Promise<Kept>;

  /**
   * 2. One conditional write per name: join the queue (line), or replace the record (race). Answers in the order of `claims`.
   * A bid that holds the name already, or is in its queue, is answered with its present place, and its value is recorded. A race swaps over
   * exactly `over` (VACANT: over any version that is vacant), in the same step takes the next token from the name's counter, and ends the silent session whose seat it took
   * (unless that is its own). An ended session stays ended: no keep of it can succeed any more.
   */
  claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]>;

  /** 3. Gives back, conditioned on session and bid. Idempotent. */
  release(will: Will, call: Call): Promise<Released>;

  /** 4. Shows who holds these names, in their order. It extends nothing and proves nothing. */
  look(questions: readonly Question[], call: Call): Promise<Looked>;

  /** 5. Yields hints that something may have changed, until `signal` aborts or the source breaks. A hint may be late, doubled or lost. */
  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint>;

  /** 6. Closes what the driver itself opened. Releases nothing. */
  close(): Promise<void>;
}

/** A store whose terms have tokens. */
export type FencedStore = Store<"fenced">;
/** A store without tokens. It must be accepted with `unfenced: true`. */
export type UnfencedStore = Store<"unfenced">;

/** Made from a URL, so that another thread or process can open it again. */
export interface Reopenable {
  readonly url: string;
  /** Around a client that the user made: another process can open the URL beside it, a thread of this one should not. */
  readonly isBorrowed?: boolean | undefined;
}

/**
 * A store that shows rivals by an open descriptor that its process is alive: the kernel tells them when the LAST process that has it is gone. Every process that can act for a term holds it;
 * `conclave run` gives it to its keeper and to the child. Undefined where there is none: then a death is noticed when the ttl runs out.
 */
export interface ShowsLife {
  lifeDescriptor(): Promise<number | undefined>;
  /** The file by which rivals find that descriptor. Where it was removed they find nothing, which proves nothing: then a death is noticed when the ttl runs out. */
  lifeFile?(): string | undefined;
}

/** The answer of `listNames`. `isWhole`: there are no more. */
export type ListedNames =
  | { readonly kind: "listed"; readonly names: readonly Name[]; readonly isWhole: boolean }
  | Unknown
  | Refused;

/** A store that can say which elections it knows of: where somebody stands or leads, or has led, as far as the store remembers. For people; it proves nothing. */
export interface ListsNames {
  /** In the order of their names, `most` at most. */
  listNames(most: number, call: Call): Promise<ListedNames>;
}

/**
 * A store that can ask the leader of a term to hand over. In one step: if the seat is held with exactly this token (domain, value and bid), the request is kept beside it,
 * and every keep that carries this hold shows it (`Kept.asked`) until the name is granted anew; otherwise nothing is written. It ends nothing by itself, moves no
 * version, and may be sent again. Its holder obeys when it renews; a store that can give hints gives one with `asked`.
 */
export interface AsksToLeave {
  askToLeave(name: Name, token: Token, call: Call): Promise<AskedToLeave>;
}

/**
 * A store that passes invitations on: it has this method, and `askToLeave`, exactly if its guarantee says so (`guarantee.invites`). Everybody who watches the name gets a hint with
 * the invitation, unless that is lost. Nothing else changes: no version, no seat, no request. It may be sent again. Whether the term that it names leads is not the store's affair.
 */
export interface PassesInvitations extends AsksToLeave {
  invite(name: Name, invitation: Invitation, call: Call): Promise<Invited>;
}

/** Whether a store passes invitations on. Narrows its type. */
export function passesInvitations<S extends Store>(store: S): store is S & PassesInvitations {
  return store.guarantee.invites === true && "invite" in store && "askToLeave" in store;
}

/** A store with a line that can say who is the second in it: who leads next, if the first gives its entry back and the second stays. For a decision of the first; it proves nothing. */
export interface ShowsNext {
  showNext(name: Name, token: Token, call: Call): Promise<ShownNext>;
}

/**
 * A store that keeps bans, and can say which candidates of a name obey none, because their session speaks for no node: candidates of other programs, of versions before bans, and those that gave no node. Those that lead
 * and those that wait. A linearizable read; what joins later is not in it.
 */
export interface ShowsNodeless {
  showNodeless(name: Name, call: Call): Promise<ShownNodeless>;
}

/** Whether a store shows who obeys no bans. Narrows its type. */
export function showsNodeless<S extends Store>(store: S): store is S & ShowsNodeless {
  return "showNodeless" in store;
}

/**
 * A store that keeps memos: it has these two methods exactly if its guarantee says how much it keeps (`guarantee.memos`). A store whose server or layout cannot do it after all
 * refuses them, and never a campaign.
 */
export interface KeepsMemos {
  /**
   * One step: checks the session, the seat and what stands, and writes (exchange.ts, `MemoWrite`). Durable before it is answered, as a grant is. It extends nothing.
   * Refused with `STORE_FULL` if the name has as many keys as the guarantee says, or the value is too large.
   */
  writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten>;
  /** The memo of `key`, or all of the name: a linearizable read, never an old copy. Anybody may read. */
  readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead>;
}

/** Whether a store keeps memos. Narrows its type. */
export function keepsMemos<S extends Store>(store: S): store is S & KeepsMemos {
  return (
    (store as Partial<Store> | undefined)?.guarantee?.memos !== undefined &&
    "writeMemo" in store &&
    "readMemos" in store
  );
}

/** The error for a store that keeps no memos. */
export function cannotKeepMemos(store: Store): ConclaveError {
  const message = `${store.guarantee.store} keeps no memos. Use a store that does (docs/MEMOS.md lists them), or keep what is to be remembered in a database of your own, fenced by the token.`;
  return new ConclaveError("STORE_UNSUPPORTED", message);
}

/** Whether a store keeps bans: it keeps memos, records the node of a session, and takes notice of `MemoWrite.ban`. */
export function keepsBans<S extends Store>(store: S): store is S & KeepsMemos {
  return store.guarantee.bans === true && keepsMemos(store);
}

/** The error for a store that keeps no bans. */
export function cannotKeepBans(store: Store): ConclaveError {
  const message = `${store.guarantee.store} keeps no bans: it cannot refuse a node that is to be powered off. Use a store that does (docs/STONITH.md lists them).`;
  return new ConclaveError("STORE_UNSUPPORTED", message);
}

/** Whether a store gives tokens. Narrows its type. */
export function isFenced<S extends Store>(store: S): store is S & FencedStore {
  return (store as Partial<Store> | undefined)?.guarantee?.fencing === "fenced";
}

/** For a store known only at run time: narrows its type, or throws with the sentence that the store declares. */
export function requireFenced<S extends Store>(store: S): asserts store is S & FencedStore {
  requireOptions("requireFenced", { store }, { store: "store" });
  if (!isFenced(store)) throw cannotFence(store);
}

/** The error for a store without tokens that was not accepted with `unfenced: true`. */
export function cannotFence(store: Store): ConclaveError {
  const { store: name, under, earlyEnds } = store.guarantee;
  const early = earlyEnds.length === 0 ? "" : ` And two may lead if ${earlyEnds.join("; or if ")}.`;
  const message = `${name} cannot fence: ${under.processPause}${early} Pass unfenced: true if duplicate work is only wasteful, or use a store with tokens (docs/GUARANTEES.md lists them).`;
  return new ConclaveError("STORE_UNSUPPORTED", message);
}

/** A version is the store's own text; only equality means anything. */
export function asVersion(text: string): Version {
  return text as Version;
}

/** Reads a bid back from where the store recorded it. */
export function asBid(text: string): Bid {
  return text as Bid;
}
