// A world of tasks in which processes stand for seats of a store that may be away: how terms are granted, renewed, warned of and run out, in true time. The worlds of failovers and of STONITH are such worlds.
import { nextBetween, nextOf } from "../../base/rng.ts";
import type { Process } from "./process.ts";
import type { SeatHolder, SimSeat } from "./seat.ts";
import type { SeatSpec } from "./seat-spec.ts";
import { TaskWorld, type TaskWorldKind, type TaskWorldOptions } from "./task-world.ts";

/** Who can hold a seat (seat-process.ts). */
interface SeatWaiter extends Process {
  readonly isAble: boolean;
}

export abstract class SeatWorld<
  Spec extends SeatSpec,
  Event extends { readonly atMs: number },
  Tally extends string,
> extends TaskWorld<Spec, Event, Tally> {
  lossChance: number;
  #storeOutages = 0;

  constructor(spec: Spec, options: TaskWorldOptions, kind: TaskWorldKind<Tally>) {
    super(spec, options, kind);
    this.lossChance = spec.lossChance;
  }

  get isStoreDown(): boolean {
    return this.#storeOutages > 0;
  }

  /** For so long the store answers nobody. */
  loseStore(lastsMs: number): void {
    this.#storeOutages++;
    this.later(lastsMs, undefined, () => void this.#storeOutages--);
  }

  travel(): number {
    return nextBetween(this.rng, 0, this.isCalm ? 2 : this.spec.latencyMaxMs);
  }

  /** Again and again, after about so long. */
  protected every(ms: number, run: () => void): void {
    this.again(undefined, () => nextBetween(this.rng, 0.5, 1.5) * ms, run);
  }

  protected override calm(): void {
    this.lossChance = 0;
  }

  // ---- seats

  /** By the holder's clock, which is the true one here. */
  protected leads<P extends Process>(seat: SimSeat<P, unknown>, process: P): boolean {
    const { holder } = seat;
    return holder !== undefined && seat.isHeldBy(process) && !holder.isTold && !this.#isInDrain(holder);
  }

  /** A term is renewed while that is possible, and its holder told when it leads no longer. */
  protected attend(holder: SeatHolder<SeatWaiter, unknown>, isRenewable: boolean, ended: () => void): void {
    if (!lives(holder) || holder.isTold) return;
    if (isRenewable && holder.process.isAble && !this.#isInDrain(holder))
      holder.deadlineMs = this.nowMs + this.spec.ttlMs;
    if (holder.process.pauses > 0 || !this.#isInDrain(holder)) return;
    holder.isTold = true;
    this.later(0, holder.process, ended);
  }

  /** Frees a seat whose term has run out. A holder that has not been told hears of it. */
  protected runOut(holder: SeatHolder<SeatWaiter, unknown>, free: () => void, ended: () => void): void {
    if (this.nowMs < holder.deadlineMs) return;
    free();
    if (lives(holder) && !holder.isTold) this.later(0, holder.process, ended);
  }

  /** The term of one of those that stand and may have a free seat. Nobody has told it yet. */
  protected grantOne<P extends SeatWaiter, V>(
    seat: SimSeat<P, V>,
    mayHave: (process: P) => boolean = () => true,
  ): SeatHolder<P, V> | undefined {
    if (seat.holder !== undefined || this.isStoreDown) return undefined;
    const able = [...seat.claims].filter((process) => process.isAble && mayHave(process));
    return able.length === 0 ? undefined : seat.grant(nextOf(this.rng, able), this.nowMs + this.spec.ttlMs);
  }

  #isInDrain({ deadlineMs }: { readonly deadlineMs: number }): boolean {
    return this.nowMs >= deadlineMs - this.spec.drainMs;
  }
}

function lives({ process, incarnation }: SeatHolder<Process, unknown>): boolean {
  return process.isAlive && process.incarnation === incarnation;
}
