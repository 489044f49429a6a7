// The store of a world of partitions: a seat for each member and one for the controller, whose terms have growing tokens, and memos beside them that only the term in the seat can write. This world does
// not test exclusion at a seat (the lease world does that): a seat simply grants no term before the last one is over.
import type { Chunk } from "../../partitions/chunk.ts";
import type { Ack } from "../../partitions/member.ts";
import { type ModelMemo, type MemoAnswer, type ModelMemoWrite, writeMemo } from "../kernel/memo.ts";

/** A session of a process at the store. Its holder believes in it until `deadlineMs`; the store waits at least so long. */
export interface SimSession {
  readonly who: number;
  deadlineMs: number;
  isEnded: boolean;
  /** Its process has given it back. Otherwise it ran out. */
  isReleased: boolean;
}

export class PartitionSeat<V> {
  token = 0;
  holder: SimSession | undefined;
  readonly memos: Map<number, ModelMemo<V>> = new Map();

  get isHeld(): boolean {
    return this.holder !== undefined && !this.holder.isEnded;
  }

  grant(session: SimSession): number {
    this.holder = session;
    return ++this.token;
  }

  free(token: number): void {
    if (token === this.token) this.holder = undefined;
  }

  write(key: number, write: ModelMemoWrite<V>): MemoAnswer {
    const { memo, answer } = writeMemo(this.memos.get(key), this.isHeld ? this.token : undefined, write);
    if (memo !== undefined) this.memos.set(key, memo);
    return answer;
  }
}

export class SimStore {
  readonly controller: PartitionSeat<Chunk> = new PartitionSeat();
  readonly members: readonly PartitionSeat<readonly Ack[]>[];

  constructor(members: number) {
    this.members = Array.from({ length: members }, () => new PartitionSeat());
  }
}
