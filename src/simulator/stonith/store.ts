// The store of a world of STONITH: one seat, memos beside it that only the term in the seat can write, bans, and notes. A banned node is granted nothing, and nothing is accepted from it.
import type { StonithRecord } from "../../stonith/record.ts";
import type { Notes } from "../../stonith/state.ts";
import { type ModelMemo, type MemoAnswer, type ModelMemoWrite, writeMemo } from "../kernel/memo.ts";
import { SimSeat } from "../kernel/seat.ts";

/** Forgotten notes cost time, and nothing else. */
const NOTES_MAX = 30;

/** Everything that the processes of a node hold elsewhere in this store depends on such a session, which only its own process can keep. */
export interface NodeSession {
  readonly node: string;
  readonly life: string;
  expiresMs: number;
}

export class StonithStore<P extends { readonly incarnation: number }> {
  readonly seat: SimSeat<P> = new SimSeat();
  record: ModelMemo<StonithRecord> | undefined;
  readonly #bans = new Map<string, ModelMemo<boolean>>();
  sessions: readonly NodeSession[] = [];
  notes: Notes = { settled: [], gone: [] };

  isBanned(node: string): boolean {
    return this.#bans.get(node)?.value === true;
  }

  get bans(): readonly string[] {
    return [...this.#bans.keys()].filter((node) => this.isBanned(node));
  }

  banVersion(node: string): number | undefined {
    return this.#bans.get(node)?.version;
  }

  writeRecord(node: string, write: ModelMemoWrite<StonithRecord>): MemoAnswer {
    if (this.isBanned(node)) return { is: "seat-lost" };
    const { memo, answer } = writeMemo(this.record, this.seat.holder?.token, write);
    this.record = memo;
    return answer;
  }

  /** A ban, or its lift. */
  writeBan(node: string, target: string, write: ModelMemoWrite<boolean>): MemoAnswer {
    if (this.isBanned(node) || target === node) return { is: "seat-lost" };
    const { memo, answer } = writeMemo(this.#bans.get(target), this.seat.holder?.token, write);
    if (memo !== undefined) this.#bans.set(target, memo);
    return answer;
  }

  /** A keep, or an opening. A banned node is granted neither. */
  keepSession(node: string, life: string, expiresMs: number): void {
    if (this.isBanned(node)) return;
    const known = this.sessions.find((session) => session.life === life);
    if (known !== undefined) known.expiresMs = expiresMs;
    else this.sessions = [...this.sessions, { node, life, expiresMs }];
  }

  /** Ends the sessions of the target: guarded like a ban, and only while the ban stands. Returns the answer, and the sessions that have ended. */
  endSessions(
    node: string,
    target: string,
    write: ModelMemoWrite<boolean>,
  ): { readonly answer: MemoAnswer; readonly ended: readonly NodeSession[] } {
    if (!this.isBanned(target)) return { answer: { is: "conflict" }, ended: [] };
    const answer = this.writeBan(node, target, write);
    if (answer.is !== "written") return { answer, ended: [] };
    const ended = this.sessions.filter((session) => session.node === target);
    this.sessions = this.sessions.filter((session) => session.node !== target);
    return { answer, ended };
  }

  /** The statements of a process about itself stay true, so the order of notes does not matter. False: its node is banned. */
  note(node: string, { settled, gone }: Notes): boolean {
    if (this.isBanned(node)) return false;
    this.notes = {
      settled: [...this.notes.settled, ...settled].slice(-NOTES_MAX),
      gone: [...this.notes.gone, ...gone].slice(-NOTES_MAX),
    };
    return true;
  }
}
