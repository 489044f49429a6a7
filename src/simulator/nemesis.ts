// The nemesis carries out a schedule of faults: begins each at its time and ends it at its time, or when calm comes. What a fault does is the
// world's business (`Victims`); the schedule is data (faults.ts), so this works for any world that has processes and a network.
import type { Fault } from "./faults.ts";
import type { Actor, Kernel, KernelEvent } from "./kernel.ts";

export interface Victims {
  /** Returns what undoes it; undefined if there is nothing to undo. */
  inflict(fault: Fault): (() => void) | undefined;
}

export class Nemesis implements Actor {
  readonly #kernel: Kernel;
  readonly #victims: Victims;
  readonly #calmAtMs: number;

  constructor(kernel: Kernel, victims: Victims, calmAtMs: number) {
    this.#kernel = kernel;
    this.#victims = victims;
    this.#calmAtMs = calmAtMs;
  }

  plan(faults: readonly Fault[]): void {
    for (const fault of faults) this.#kernel.schedule(fault.atMs, this, "begin", fault.index, fault);
  }

  handle(event: KernelEvent): void {
    if (event.kind === "end") return (event.payload as () => void)();
    const fault = event.payload as Fault;
    const undo = this.#victims.inflict(fault);
    // Just before calm, so that calm finds everything whole.
    if (undo !== undefined)
      this.#kernel.schedule(
        Math.min(fault.atMs + fault.durationMs, this.#calmAtMs - 0.001),
        this,
        "end",
        fault.index,
        undo,
      );
  }
}
