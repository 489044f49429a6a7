// The store of a world of STONITH: one seat with growing tokens, memos beside it, bans, and notes. Exclusion by leases is not what is tested here (the lease world does that): a seat is granted only when the term
// before is over by its holder's own deadline, and nothing is granted to a banned node, judged in the step that would grant it.
import type { StonithRecord } from "../../stonith/record.ts";
import type { Notes } from "../../stonith/words.ts";
import { type Memo, type MemoAnswer, type MemoWrite, writeMemo } from "../kernel/memo.ts";

/** Notes that are forgotten cost time, and nothing else. */
const NOTES_MAX = 30;

export interface Holder<P> {
  readonly process: P;
  readonly incarnation: number;
  readonly node: string;
  readonly token: number;
  deadlineMs: number;
  /** It has been told that its term ends. */
  isTold: boolean;
}

export class StonithStore<P> {
  holder: Holder<P> | undefined;
  record: Memo<StonithRecord> | undefined;
  readonly claims: Set<P> = new Set();
  #token = 0;
  readonly #bans = new Map<string, Memo<boolean>>();
  notes: Notes = { settled: [], gone: [] };

  grant(process: P, incarnation: number, node: string, deadlineMs: number): Holder<P> {
    this.claims.delete(process);
    this.holder = { process, incarnation, node, token: ++this.#token, deadlineMs, isTold: false };
    return this.holder;
  }

  isBanned(node: string): boolean {
    return this.#bans.get(node)?.value === true;
  }

  get bans(): readonly string[] {
    return [...this.#bans.keys()].filter((node) => this.isBanned(node));
  }

  banVersion(node: string): number | undefined {
    return this.#bans.get(node)?.version;
  }

  writeRecord(node: string, write: MemoWrite<StonithRecord>): MemoAnswer {
    if (this.isBanned(node)) return { is: "seat-lost" };
    const { memo, answer } = writeMemo(this.record, this.holder?.token, write);
    this.record = memo;
    return answer;
  }

  /** A ban, or its lift. */
  writeBan(node: string, target: string, write: MemoWrite<boolean>): MemoAnswer {
    if (this.isBanned(node) || target === node) return { is: "seat-lost" };
    const { memo, answer } = writeMemo(this.#bans.get(target), this.holder?.token, write);
    if (memo !== undefined) this.#bans.set(target, memo);
    return answer;
  }

  /** What a process says of itself stays true, so that the order of notes does not matter. False: its node is banned. */
  note(node: string, { settled, gone }: Notes): boolean {
    if (this.isBanned(node)) return false;
    this.notes = {
      settled: [...this.notes.settled, ...settled].slice(-NOTES_MAX),
      gone: [...this.notes.gone, ...gone].slice(-NOTES_MAX),
    };
    return true;
  }
}
