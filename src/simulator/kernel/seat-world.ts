// A world of tasks in which processes stand for seats of a store that may be away: how terms are granted, renewed, warned of and run out, in true time. The worlds of failovers and of STONITH are such worlds.
import { nextBetween, nextOf } from "../../base/rng.ts";
import type { Process } from "./process.ts";
import type { SeatHolder, SimSeat } from "./seat.ts";
import type { SeatSpec } from "./seat-spec.ts";
import { TaskWorld, type TaskWorldKind, type TaskWorldOptions } from "./task-world.ts";

/** A process that can hold a seat (seat-process.ts). */
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

  /** For so long the store answers no request. */
  loseStore(lastsMs: number): void {
    this.#storeOutages++;
    this.later(lastsMs, undefined, () => void this.#storeOutages--);
  }

  travel(): number {
    return nextBetween(this.rng, 0, this.isCalm ? 2 : this.spec.latencyMaxMs);
  }

  /** Runs it again and again, about so many milliseconds apart. */
  protected every(ms: number, run: () => void): void {
    this.again(undefined, () => nextBetween(this.rng, 0.5, 1.5) * ms, run);
  }

  protected override calm(): void {
    this.lossChance = 0;
  }

  // ---- seats

  /** Whether the process leads, by the holder's clock, which is the true one here. */
  protected leads<P extends Process>(seat: SimSeat<P, unknown>, process: P): boolean {
    const { holder } = seat;
    return holder !== undefined && seat.isHeldBy(process) && !holder.isTold && !this.#isInDrain(holder);
  }

  /** Renews a term while that is possible, and tells its holder when it leads no longer. */
  protected attend(holder: SeatHolder<SeatWaiter, unknown>, isRenewable: boolean, ended: () => void): void {
    if (!lives(holder) || holder.isTold) return;
    if (isRenewable && holder.process.isAble && !this.#isInDrain(holder))
      holder.deadlineMs = this.nowMs + this.spec.ttlMs;
    if (holder.process.pauses > 0 || !this.#isInDrain(holder)) return;
    holder.isTold = true;
    this.later(0, holder.process, ended);
  }

  /** Frees a seat whose term has run out, and tells a holder that has not been told. */
  protected runOut(holder: SeatHolder<SeatWaiter, unknown>, free: () => void, ended: () => void): void {
    if (this.nowMs < holder.deadlineMs) return;
    free();
    if (lives(holder) && !holder.isTold) this.later(0, holder.process, ended);
  }

  /** Grants a free seat to one of those that stand and may have it. Its process has not been told yet. */
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
