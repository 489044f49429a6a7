// The store of a world of failovers: two seats whose terms have growing tokens (who leads the monitors, who may be primary), one record beside the first, and votes that expire. Exclusion itself is not what is
// tested here (the lease world does that): a seat is granted only when the term before is over by its holder's own deadline. What may go wrong are requests, answers, processes and services.
import type { Vote } from "../../failover/words.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import { type Memo, type MemoAnswer, type MemoWrite, writeMemo } from "../kernel/memo.ts";

export interface SeatHolder<P> {
  readonly process: P;
  readonly incarnation: number;
  readonly token: number;
  deadlineMs: number;
  /** What it says of itself. */
  value: { readonly server: string; readonly epoch: number } | undefined;
  /** It has been told that its term ends. */
  isTold: boolean;
}

export class SimSeat<P> {
  token = 0;
  holder: SeatHolder<P> | undefined;
  readonly claims: Set<P> = new Set();

  grant(process: P, incarnation: number, deadlineMs: number): SeatHolder<P> {
    this.claims.delete(process);
    const token = ++this.token;
    this.holder = { process, incarnation, token, deadlineMs, value: undefined, isTold: false };
    return this.holder;
  }
}

/** The record beside the seat of the leader. */
export class RecordShelf {
  stored: Memo<FailoverRecord> | undefined;

  write(seatToken: number | undefined, write: MemoWrite<FailoverRecord>): MemoAnswer {
    const { memo, answer } = writeMemo(this.stored, seatToken, write);
    this.stored = memo;
    return answer;
  }
}

/** Votes of monitors, each until its session expires. */
export class VoteBox {
  readonly #votes = new Map<string, { readonly vote: Vote; readonly untilMs: number }>();

  cast(vote: Vote, untilMs: number): void {
    this.#votes.set(vote.monitor, { vote, untilMs });
  }

  withdraw(monitor: string): void {
    this.#votes.delete(monitor);
  }

  standing(nowMs: number): readonly Vote[] {
    return [...this.#votes.values()].filter(({ untilMs }) => untilMs > nowMs).map(({ vote }) => vote);
  }
}
