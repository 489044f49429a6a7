// The store of a world of schedules: one seat, whose terms have growing tokens, and one memo beside it. Exclusion is not what is tested here (the lease world does that), so the seat simply
// grants no term before the last one is over; what may go wrong are requests, answers, processes and clocks.
import type { Mark } from "../../schedule/mark.ts";

export interface SeatMemo {
  readonly mark: Mark;
  readonly token: number;
  readonly n: number;
  readonly version: number;
}

export interface MarkWrite {
  readonly token: number;
  readonly n: number;
  readonly over: number | undefined;
  readonly mark: Mark;
}

export type MarkAnswer =
  /** `isApplied`: by this request, and not by an earlier try of it. */
  | { readonly is: "written"; readonly version: number; readonly isApplied: boolean }
  | { readonly is: "conflict" }
  | { readonly is: "seat-lost" };

export class Seat {
  /** Of the present term; it is over when `isHeld` is false. */
  token = 0;
  isHeld = false;
  memo: SeatMemo | undefined;
  #versions = 0;

  grant(): number {
    this.isHeld = true;
    return ++this.token;
  }

  free(token: number): void {
    if (token === this.token) this.isHeld = false;
  }

  /** One step, as docs/adr/0037-memos.md has it. */
  write({ token, n, over, mark }: MarkWrite): MarkAnswer {
    if (!this.isHeld || token !== this.token) return { is: "seat-lost" };
    if (this.memo?.token === token && this.memo.n === n)
      return { is: "written", version: this.memo.version, isApplied: false };
    if (this.memo?.version !== over) return { is: "conflict" };
    this.memo = { mark, token, n, version: ++this.#versions };
    return { is: "written", version: this.memo.version, isApplied: true };
  }
}
