// The store of a world of schedules: one seat, whose terms have growing tokens, and one memo beside it. Exclusion is not what is tested here (the lease world does that), so the seat simply
// grants no term before the last one is over; what may go wrong are requests, answers, processes and clocks.
import type { Mark } from "../../schedule/mark.ts";
import { type ModelMemo, type MemoAnswer, type ModelMemoWrite, writeMemo } from "../kernel/memo.ts";

export class ScheduleSeat {
  /** Of the present term; it is over when `isHeld` is false. */
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
