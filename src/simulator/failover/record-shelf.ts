// The data beside the seats in the store of a world of failovers: the record, which only the term in the leader's seat can write, and votes that expire.
import type { MonitorVote } from "../../failover/words.ts";
import type { FailoverRecord } from "../../failover/record.ts";
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

/** Votes of monitors, each until its session expires. */
export class VoteBox {
  readonly #votes = new Map<string, { readonly vote: MonitorVote; readonly untilMs: number }>();

  cast(vote: MonitorVote, untilMs: number): void {
    this.#votes.set(vote.monitor, { vote, untilMs });
  }

  withdraw(monitor: string): void {
    this.#votes.delete(monitor);
  }

  standing(nowMs: number): readonly MonitorVote[] {
    return [...this.#votes.values()].filter(({ untilMs }) => untilMs > nowMs).map(({ vote }) => vote);
  }
}
