// The nemesis carries out a schedule of faults: it begins each at its time and ends it at its time, or when calm comes. The world (`Victims`) knows the effect of each fault; the schedule is data
// (faults.ts), so this works for any world that has processes and a network.
import type { Fault } from "./faults.ts";
import type { Actor, Kernel, KernelEvent } from "../kernel/kernel.ts";

export interface Victims {
  /** Returns a function that undoes the fault; undefined if there is nothing to undo. */
  inflict(fault: Fault): (() => void) | undefined;
}

export class Nemesis implements Actor {
  readonly #kernel: Kernel;
  readonly #victims: Victims;
  readonly #calmAtMs: number;
  /** Faults whose time has come, and that wait for an election. */
  readonly #waiting: Fault[] = [];

  constructor(kernel: Kernel, victims: Victims, calmAtMs: number) {
    this.#kernel = kernel;
    this.#victims = victims;
    this.#calmAtMs = calmAtMs;
  }

  plan(faults: readonly Fault[]): void {
    for (const fault of faults) this.#kernel.schedule(fault.atMs, this, "begin", fault.index, fault);
  }

  /** A candidate was elected: faults that waited for that strike now, each in an event of its own. */
  notice(election: number): void {
    for (const fault of this.#waiting.filter((waiting) => waiting.election === election)) {
      this.#waiting.splice(this.#waiting.indexOf(fault), 1);
      this.#kernel.schedule(this.#kernel.nowMs, this, "strike", fault.index, fault);
    }
  }

  handle(event: KernelEvent): void {
    if (event.kind === "end") return (event.payload as () => void)();
    const fault = event.payload as Fault;
    if (event.kind === "begin" && fault.waitsForElection) this.#waiting.push(fault);
    else this.strike(fault);
  }

  strike(fault: Fault): void {
    const { nowMs } = this.#kernel;
    if (nowMs >= this.#calmAtMs - 0.002) return;
    const undo = this.#victims.inflict(fault);
    // A fault ends just before calm, so that calm finds everything whole.
    const endsAtMs = Math.min(nowMs + fault.durationMs, this.#calmAtMs - 0.001);
    if (undo !== undefined) this.#kernel.schedule(endsAtMs, this, "end", fault.index, undo);
  }
}
