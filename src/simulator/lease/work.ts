// The simulated user of one process: it starts work when elected, writes to the fenced resource now and then, and stops when the signal aborts, after a drain of its own length; sometimes it overstays,
// sometimes it writes without asking.
import { nextBetween, nextChance, nextOf, type Rng } from "../../base/rng.ts";
import type { Bid, Name, Token } from "../../lease/exchange.ts";
import type { Input } from "../../lease/state.ts";
import { NO_DOMAIN } from "./guarantees.ts";
import type { WorkSpec } from "./spec.ts";

/** The part of the process that the work needs. */
export interface WorkHost {
  readonly label: string;
  isHeld(election: Name, bid: Bid): boolean;
  /** Calls `SimulatedWork.due` with `kind` after a while, if the process still lives and runs by then. */
  remind(afterMs: number, kind: WorkEvent, shift: Shift): void;
  write(election: Name, token: Token): void;
  /** Announces something about itself beside its name, as a claim of its holds; or leaves a memo. */
  say(input: Extract<Input, { type: "announce" | "memo" }>): void;
  /** The work of the present term has ended. */
  settle(election: Name): void;
}

export type WorkEvent = "write" | "settle";

/** The work of one term. */
export interface Shift {
  readonly election: Name;
  readonly token: Token;
  isStopping: boolean;
  isOver: boolean;
}

export class SimulatedWork {
  readonly #desk: WorkHost;
  readonly #spec: WorkSpec;
  readonly #drainMs: number;
  readonly #rng: Rng;
  readonly #shifts = new Map<Name, Shift>();
  #memos = 0;

  constructor(desk: WorkHost, spec: WorkSpec, drainMs: number, rng: Rng) {
    this.#desk = desk;
    this.#spec = spec;
    this.#drainMs = drainMs;
    this.#rng = rng;
  }

  get isIdle(): boolean {
    return this.#shifts.size === 0;
  }

  shifts(): Iterable<Shift> {
    return this.#shifts.values();
  }

  begin(election: Name, token: Token): void {
    const shift = { election, token, isStopping: false, isOver: false };
    this.#shifts.set(election, shift);
    this.#desk.remind(nextBetween(this.#rng, 0, this.#spec.writeEveryMs), "write", shift);
  }

  /** Goes on with the work of the process that this one is a copy of. */
  goOn({ election, token, isStopping }: Shift): void {
    this.begin(election, token);
    if (isStopping) this.stop(election);
  }

  /** The signal has aborted. */
  stop(election: Name): void {
    const shift = this.#shifts.get(election);
    if (shift === undefined || shift.isStopping) return;
    shift.isStopping = true;
    this.#desk.remind(this.#drawDrainMs(), "settle", shift);
  }

  /** The work ends by itself. */
  finish(election: Name): void {
    const shift = this.#shifts.get(election);
    if (shift !== undefined) this.due("settle", shift);
  }

  due(kind: WorkEvent, shift: Shift): void {
    if (shift.isOver) return;
    if (kind === "write") return this.#write(shift);
    shift.isOver = true;
    this.#shifts.delete(shift.election);
    this.#desk.settle(shift.election);
  }

  #write(shift: Shift): void {
    const { election, token } = shift;
    if (this.#spec.isCareless || this.#desk.isHeld(election, token.bid)) this.#desk.write(election, token);
    const { label } = this.#desk;
    if (nextChance(this.#rng, 0.1)) this.#desk.say({ type: "announce", id: 0, name: election, value: label });
    if (this.#spec.memoChance !== undefined) this.#leaveMemos(shift, this.#spec.memoChance);
    if (this.#spec.bans !== undefined) this.#banSomebody(shift, this.#spec.bans);
    this.#desk.remind(this.#spec.writeEveryMs, "write", shift);
  }

  /** Bans a node, or lifts a ban, at once or much later, in this term or in another. */
  #banSomebody({ election, token }: Shift, { chance, nodes }: NonNullable<WorkSpec["bans"]>): void {
    if (token.domain === NO_DOMAIN) return;
    while (nextChance(this.#rng, chance)) {
      const node = nextOf(this.#rng, nodes);
      const stands = nextChance(this.#rng, 0.5);
      const value = `${stands} ${++this.#memos}`;
      const ban = { node, stands };
      this.#desk.say({ type: "memo", id: this.#memos, name: election, bid: token.bid, key: node, value, ban });
    }
  }

  /** Leaves several memos at once, with two keys: they wait for each other, or overtake each other. */
  #leaveMemos({ election, token }: Shift, chance: number): void {
    if (token.domain === NO_DOMAIN) return;
    while (nextChance(this.#rng, chance)) {
      const key = nextChance(this.#rng, 0.5) ? "a" : "b";
      const value = `${this.#desk.label} ${++this.#memos}`;
      this.#desk.say({ type: "memo", id: this.#memos, name: election, bid: token.bid, key, value });
    }
  }

  #drawDrainMs(): number {
    const { overstayChance, overstayMaxMs } = this.#spec;
    if (nextChance(this.#rng, overstayChance)) return nextBetween(this.#rng, this.#drainMs, overstayMaxMs);
    return nextChance(this.#rng, 0.3) ? 0 : nextBetween(this.#rng, 0, this.#drainMs * 0.8);
  }
}
