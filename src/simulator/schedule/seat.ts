// The store of a world of schedules: one seat, whose terms have growing tokens, and one memo beside it. This world does not test exclusion (the lease world does that), so the seat simply
// grants no term before the last one is over. Requests, answers, processes and clocks may fail.
import type { Mark } from "../../schedule/mark.ts";
import { type ModelMemo, type MemoAnswer, type ModelMemoWrite, writeMemo } from "../kernel/memo.ts";

export class ScheduleSeat {
  /** The token of the present term; the term is over when `isHeld` is false. */
  token = 0;
  isHeld = false;
  memo: ModelMemo<Mark> | undefined;

  grant(): number {
    this.isHeld = true;
    return ++this.token;
  }

  free(token: number): void {
    if (token === this.token) this.isHeld = false;
  }

  write(write: ModelMemoWrite<Mark>): MemoAnswer {
    const { memo, answer } = writeMemo(this.memo, this.isHeld ? this.token : undefined, write);
    this.memo = memo;
    return answer;
  }
}
