// The public types of a semaphore, and a permit as users hold it.
//
// A permit has no token, on any store, at compile time and at run time. Each seat of a semaphore has a token of its own, but the greatest of n numbers does not show which holder is late. A
// resource that compared them would refuse good writes and admit stale ones.
import type { LossReason } from "../base/errors.ts";
import type { TermState } from "../lease/events.ts";
import type { Store } from "../stores/contract.ts";
import type { CampaignOptions, CandidateSettings, CloseOptions, LeadOptions, LookOptions } from "./face.ts";
import type { HeldTerm } from "./held-term.ts";
import type { UnfencedTerm } from "./term.ts";
import type { Listener } from "./voice.ts";

/** The options of `semaphore`: those of a candidate, how many processes may hold a permit at once, and `unfenced`, which accepts that a permit fences nothing. */
export interface SemaphoreOptions extends CandidateSettings {
  readonly store: Store;
  /** At most this many processes hold a permit at one instant: 1 to 100. Every process must give the same number; if not, the greatest one counts. */
  readonly permits: number;
  /** A permit has no token: a paused holder may still write after its permit went to another process, and nothing can refuse that. This must be set on every store. */
  readonly unfenced: true;
}

/** One of n permits: it has everything of a term except for its token and its memos. */
export interface Permit extends Omit<UnfencedTerm, "memo"> {
  /** The name of the semaphore. */
  readonly election: string;
  /** The number of this permit, from 0 on: at one instant no other holder has the same. */
  readonly seat: number;
}

/** A holder of a permit, as the store shows it. This is a hint, which may be out of date. */
export interface PermitHolder {
  readonly seat: number;
  readonly id: string;
  readonly value?: string | undefined;
}

/** A semaphore works as an election does, but up to `permits` processes lead at once. One process holds at most one permit by one of these objects; its calls take turns. */
export interface Semaphore extends AsyncDisposable {
  readonly name: string;
  readonly permits: number;
  /** Runs `work` each time this process has a permit, as `lead` of an election does: it ends when the work ends, and tries again when the permit is lost. */
  lead<R>(work: (permit: Permit) => Promise<R>, options?: LeadOptions): Promise<R | undefined>;
  /** Resolves when a permit is free. The caller ends it, with `resign()` or `await using`. */
  campaign(options?: CampaignOptions): Promise<Permit>;
  /** Works as `campaign` does, but gives up when all permits are taken. Rejects with the store's error if the store refuses or does not answer in time. */
  tryCampaign(options?: CampaignOptions): Promise<Permit | undefined>;
  /** The holders of the permits, in the order of the seats. This is a hint for dashboards, never a proof. */
  holders(options?: LookOptions): Promise<readonly PermitHolder[]>;
  /** Calls `listener` with the events of its seats, whose names are `semaphores/NAME/SEAT`, and those of its candidate as a whole. Returns a function that stops this. */
  subscribe(listener: Listener): () => void;
  /** Stops campaigning, waits for the work of a permit, and gives the permit back. */
  close(options?: CloseOptions): Promise<void>;
}

const PREFIX = "semaphores/";

/** The name of the election of one seat. */
export const seatName = (semaphore: string, seat: number): string => `${PREFIX}${semaphore}/${seat}`;

/** The semaphore and the seat to which this election belongs. Undefined if it is another election. */
export function seatOfName(name: string): { readonly semaphore: string; readonly seat: number } | undefined {
  const [, semaphore, seat] = /^semaphores\/(.+)\/(0|[1-9]\d{0,3})$/su.exec(name) ?? [];
  return semaphore === undefined ? undefined : { semaphore, seat: Number(seat) };
}

export class HeldPermit implements Permit {
  readonly election: string;
  readonly seat: number;
  readonly candidate: string;
  readonly #term: HeldTerm;

  constructor(election: string, seat: number, term: HeldTerm) {
    this.election = election;
    this.seat = seat;
    this.candidate = term.candidate;
    this.#term = term;
  }

  get signal(): AbortSignal {
    return this.#term.signal;
  }

  get ended(): Promise<LossReason> {
    return this.#term.ended;
  }

  isLeading(): boolean {
    return this.#term.isLeading();
  }

  isHeld(): boolean {
    return this.#term.isHeld();
  }

  throwIfNotLeading(): void {
    this.#term.throwIfNotLeading();
  }

  state(): TermState {
    return this.#term.state();
  }

  remainingMs(): number {
    return this.#term.remainingMs();
  }

  renew(): Promise<void> {
    return this.#term.renew();
  }

  announce(value: string): Promise<void> {
    return this.#term.announce(value);
  }

  resign(): Promise<void> {
    return this.#term.resign();
  }

  /** The fields that a log or a status page may show, as of now. */
  toJSON(): object {
    const { election, seat, candidate } = this;
    return { election, seat, candidate, state: this.state(), remainingMs: Math.round(this.remainingMs()) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resign();
  }
}
