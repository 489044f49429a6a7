// The data beside the seats in the store of a world of failovers: the record, which only the term in the leader's seat can write, and votes that expire.
import type { MonitorVote } from "../../failover/state.ts";
import type { FailoverRecord } from "../../failover/record.ts";
import type { SightReports } from "../../failover/yielding.ts";
import { type ModelMemo, type MemoAnswer, type ModelMemoWrite, writeMemo } from "../kernel/memo.ts";

/** The record beside the leader's seat. */
export class RecordShelf {
  stored: ModelMemo<FailoverRecord> | undefined;

  write(seatToken: number | undefined, write: ModelMemoWrite<FailoverRecord>): MemoAnswer {
    const { memo, answer } = writeMemo(this.stored, seatToken, write);
    this.stored = memo;
    return answer;
  }
}

/** Votes of monitors and what they see, each until the session of the monitor expires. */
export class VoteBox {
  readonly #reports = new Map<string, { readonly sees: readonly string[]; readonly untilMs: number }>();
  readonly #votes = new Map<string, { readonly vote: MonitorVote; readonly untilMs: number }>();

  cast(vote: MonitorVote, untilMs: number): void {
    this.#votes.set(vote.monitor, { vote, untilMs });
  }

  withdraw(monitor: string): void {
    this.#votes.delete(monitor);
  }

  report(monitor: string, sees: readonly string[], untilMs: number): void {
    this.#reports.set(monitor, { sees, untilMs });
  }

  /** What monitors other than this one see. */
  reportsFor(monitor: string, nowMs: number): SightReports {
    const standing = [...this.#reports].filter(([name, { untilMs }]) => name !== monitor && untilMs > nowMs);
    return Object.fromEntries(standing.map(([name, { sees }]) => [name, sees]));
  }

  standing(nowMs: number): readonly MonitorVote[] {
    return [...this.#votes.values()].filter(({ untilMs }) => untilMs > nowMs).map(({ vote }) => vote);
  }
}
