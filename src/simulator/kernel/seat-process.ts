// A process of a world of tasks that stands for seats of the store: it reaches the store or does not, asks it, and may get no answer.
import { nextBetween, nextChance, type Rng } from "../../base/rng.ts";
import { Process } from "./process.ts";
import { send } from "./request.ts";

/** The part of its world (seat-world.ts) that it needs. */
interface Surroundings {
  readonly rng: Rng;
  readonly spec: { readonly ttlMs: number; readonly pollMs: number };
  readonly lossChance: number;
  readonly isStoreDown: boolean;
  travel(): number;
  later(afterMs: number, process: Process | undefined, run: () => void): void;
}

const TIMEOUT_MS = 300;
/** A request that was lost for its sender may arrive long after. */
const LATE_CHANCE = 0.4;

export abstract class SeatProcess<World extends Surroundings> extends Process {
  readonly world: World;
  readonly name: string;

  constructor(world: World, name: string) {
    super(1);
    this.world = world;
    this.name = name;
  }

  /** Begins a life. */
  abstract begin(): void;

  override restart(): void {
    this.begin();
  }

  /** Whether it renews what it holds. */
  get isAble(): boolean {
    return this.isAlive && this.pauses === 0 && this.cuts === 0 && !this.world.isStoreDown;
  }

  nap(): number {
    return nextBetween(this.world.rng, 0.5, 1) * this.world.spec.pollMs;
  }

  /** Sends one request. Without an answer `unanswered` is called after a while; the request may have been carried out. */
  ask<A>(atStore: () => A, onAnswer: (answer: A) => void, unanswered: () => void): void {
    const { world } = this;
    const isLost = (): boolean => this.cuts > 0 || world.isStoreDown || nextChance(world.rng, world.lossChance);
    const isGone = isLost();
    const lateMs = isGone && nextChance(world.rng, LATE_CHANCE) ? nextBetween(world.rng, 0, 3 * world.spec.ttlMs) : 0;
    const thereMs = isGone && lateMs === 0 ? undefined : world.travel() + lateMs;
    const backMs = (): number | undefined => (isGone || isLost() ? undefined : world.travel());
    send(world, this, { thereMs, backMs, timeoutMs: TIMEOUT_MS }, { atStore, onAnswer, onTimeout: unanswered });
  }
}
