// What monitors and guards of a world of failovers share: they live, are paused, are cut from the store; they ask it, and may get no answer.
import { nextBetween, nextChance } from "../../base/rng.ts";
import { Process } from "../kernel/process.ts";
import { send } from "../kernel/request.ts";
import type { SeatHolder } from "./seats.ts";
import type { FailoverWorld } from "./world.ts";

const TIMEOUT_MS = 300;
const LATE_CHANCE = 0.4;

export abstract class FailoverProcess extends Process {
  readonly world: FailoverWorld;
  readonly name: string;

  constructor(world: FailoverWorld, name: string) {
    super(1);
    this.world = world;
    this.name = name;
  }

  /** It renews what it holds. */
  get isAble(): boolean {
    return this.isAlive && this.pauses === 0 && this.cuts === 0 && !this.world.isStoreDown;
  }

  /** Begins a life. */
  abstract begin(): void;
  abstract granted(seat: "leader" | "primary", holder: SeatHolder<FailoverProcess>): void;
  /** The signal of a term aborts, or the term is lost. */
  abstract ended(seat: "leader" | "primary"): void;
  /** The record has changed. */
  abstract shown(): void;

  override restart(): void {
    this.begin();
  }

  /** One request. No answer: `unanswered`, after a while; and it may have been carried out. */
  ask<A>(atStore: () => A, onAnswer: (answer: A) => void, unanswered: () => void): void {
    const { world } = this;
    const isLost = (): boolean => this.cuts > 0 || world.isStoreDown || nextChance(world.rng, world.lossChance);
    const isGone = isLost();
    // A request that was lost for its sender may arrive long after.
    const lateMs = isGone && nextChance(world.rng, LATE_CHANCE) ? nextBetween(world.rng, 0, 3 * world.spec.ttlMs) : 0;
    const thereMs = isGone && lateMs === 0 ? undefined : world.travel() + lateMs;
    const backMs = (): number | undefined => (isGone || isLost() ? undefined : world.travel());
    send(world, this, { thereMs, backMs, timeoutMs: TIMEOUT_MS }, { atStore, onAnswer, onTimeout: unanswered });
  }

  nap(): number {
    return nextBetween(this.world.rng, 0.5, 1) * this.world.spec.pollMs;
  }
}
