// A seat of the store in a world of tasks: its terms have growing tokens, and one of the processes that stand is granted the next one. Such a world
// does not test exclusion itself (the lease world does that): a seat is
// granted only when the term before is over by its holder's own deadline.

/** The term in a seat. `V`: what its holder says of itself. */
export interface SeatHolder<P, V = never> {
  readonly process: P;
  /** The life of the process that was granted it. */
  readonly incarnation: number;
  readonly token: number;
  deadlineMs: number;
  value: V | undefined;
  /** Whether it has been told that its term ends. */
  isTold: boolean;
}

export class SimSeat<P extends { readonly incarnation: number }, V = never> {
  holder: SeatHolder<P, V> | undefined;
  /** The processes that stand. */
  readonly claims: Set<P> = new Set();
  #token = 0;

  isHeldBy(process: P): boolean {
    return this.holder?.process === process && this.holder.incarnation === process.incarnation;
  }

  /** The process stands, unless it holds the seat and has not been told that its term ends. */
  claim(process: P): void {
    if (!this.isHeldBy(process) || this.holder?.isTold === true) this.claims.add(process);
  }

  grant(process: P, deadlineMs: number): SeatHolder<P, V> {
    this.claims.delete(process);
    const { incarnation } = process;
    const token = ++this.#token;
    this.holder = { process, incarnation, token, deadlineMs, value: undefined, isTold: false };
    return this.holder;
  }
}
