// One leadership of one partition by one member: a term that depends on the term of the member's own seat. It ends when the controller takes the partition away, or with the member's session, whichever
// comes first. Its token is the epoch of the assignment (revision.ts), so that a guard can compare it: each partition is a guarded resource of its own.
import { TermLostError } from "../base/errors.ts";
import { type FencingToken, makeToken } from "../fencing/token.ts";
import type { Fenced } from "../fencing/token.ts";
import type { Term } from "../election/term.ts";
import { epochToken, type Revision } from "./revision.ts";

/** What a member holds while it leads a partition. */
export interface PartitionTerm extends Fenced {
  readonly group: string;
  readonly partition: number;
  /** The id of the member. */
  readonly member: string;
  /** The epoch of this assignment: of two terms of one partition, the later has the greater token. Compare it where the writes of this partition land (docs/FENCING.md). */
  readonly token: FencingToken;
  /** Aborts when the partition is taken away, or the member's session ends: `drainMs` before its deadline. */
  readonly signal: AbortSignal;
  /** Whether no other member leads this partition at this moment: asks the clocks. Also true while the work is stopping, until it has settled or the session is lost. */
  isHeld(): boolean;
  /** Whether to go on: true until the signal aborts, by the clock. */
  isLeading(): boolean;
  /** Throws TERM_LOST when `isLeading()` is false. */
  throwIfNotLeading(): void;
}

export class LedPartition implements PartitionTerm {
  readonly group: string;
  readonly partition: number;
  readonly member: string;
  readonly token: FencingToken;
  readonly #session: Term;
  readonly #controller = new AbortController();
  #isOver = false;

  constructor(group: string, partition: number, member: string, session: Term, domain: string, epoch: Revision) {
    this.group = group;
    this.partition = partition;
    this.member = member;
    this.#session = session;
    this.token = makeToken(epochToken(domain, epoch));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** SAFETY: a partition is held only while the session's own term is, by the clocks at this moment. */
  isHeld(): boolean {
    return this.#session.isHeld() && !this.#isOver;
  }

  isLeading(): boolean {
    return this.#session.isLeading() && !this.#controller.signal.aborted;
  }

  throwIfNotLeading(): void {
    if (!this.isLeading()) throw new TermLostError(this.name, this.#session.isLeading() ? "asked" : "expired");
  }

  get name(): string {
    return `${this.group}/${this.partition}`;
  }

  /** The partition is taken away, or the session ends. The first reason stays. */
  stop(): void {
    this.#controller.abort(new TermLostError(this.name, this.#session.isLeading() ? "asked" : "expired"));
  }

  /** The work has settled: from now on it is not held, whatever becomes of the session. */
  end(): void {
    this.#isOver = true;
    if (!this.#controller.signal.aborted) this.stop();
  }

  toJSON(): object {
    const { group, partition, member, token } = this;
    return { group, partition, member, token, isLeading: this.isLeading() };
  }
}
