// A world of tasks: processes that can be paused, cut off and killed, a queue of what they do later, faults that befall them, and a calm at the end. The worlds of schedules, partitions, failovers and STONITH are such
// worlds. Each adds its spec, its processes, which host the real machines, and its judge.
//
// One seed gives one run. Everything that is drawn in the run comes from `rng`, and the order of things that are due at one instant from a stream of its own.
import { createRng, type Rng } from "../../base/rng.ts";
import type { Judge } from "./judge.ts";
import { type Actor, Kernel, type KernelEvent } from "./kernel.ts";
import type { Process } from "./process.ts";
import { emptyTallies } from "./tallies.ts";
import { Trace } from "./trace.ts";

/** What faults of all such worlds have. */
export interface TaskFault {
  /** The number by which `--faults` names it. */
  readonly index: number;
  readonly atMs: number;
}

/** What the specs of all such worlds have. */
export interface TaskSpec {
  readonly seed: number;
  readonly faults: readonly TaskFault[];
  /** From here on nothing fails. */
  readonly calmAtMs: number;
  readonly endMs: number;
}

/** How a world is looked at. */
export interface TaskWorldOptions {
  readonly isRecorded: boolean;
  /** Only these invariants judge; all of them if undefined. */
  readonly judgedBy: readonly string[] | undefined;
}

/** What is fixed for all seeds of one world. */
export interface TaskWorldKind<Tally extends string> {
  /** Streams of random numbers: this one for the run, the next one for the order of one instant. Specs are drawn from another. */
  readonly stream: number;
  readonly minima: Readonly<Record<Tally, number>>;
}

interface Task {
  readonly process: Process | undefined;
  readonly incarnation: number;
  readonly run: () => void;
}

export abstract class TaskWorld<
  Spec extends TaskSpec,
  Event extends { readonly atMs: number },
  Tally extends string,
> implements Actor {
  readonly spec: Spec;
  readonly rng: Rng;
  readonly kernel: Kernel;
  readonly trace: Trace<Event>;
  readonly tallies: Record<Tally, number>;
  abstract readonly judge: Judge;
  /** Nothing fails any more. */
  isCalm = false;

  constructor(spec: Spec, { isRecorded }: TaskWorldOptions, { stream, minima }: TaskWorldKind<Tally>) {
    this.spec = spec;
    this.rng = createRng(spec.seed, stream);
    this.kernel = new Kernel(createRng(spec.seed, stream + 1));
    this.trace = new Trace(isRecorded);
    this.tallies = emptyTallies(minima);
  }

  protected abstract inflict(fault: Spec["faults"][number]): void;
  /** The calm begins: everything that is still broken is mended. */
  protected abstract calm(): void;
  /** The run has ended, and nothing was found: judges what must have come about by now. */
  protected judgeAtRest(): void {}
  /** Is called before a process is killed by `kill`. */
  protected dying(_process: Process): void {}

  get nowMs(): number {
    return this.kernel.nowMs;
  }

  count(what: Tally, by = 1): void {
    this.tallies[what] += by;
  }

  // ---- tasks

  /** With a process: not while it is paused, and not after it was killed. Without one: in any case. */
  later(afterMs: number, process: Process | undefined, run: () => void): void {
    const task: Task = { process, incarnation: process?.incarnation ?? 0, run };
    this.kernel.schedule(this.nowMs + afterMs, this, "task", process?.tag ?? -1, task);
  }

  /** Runs again and again, after a time that is drawn each time. */
  again(process: Process | undefined, afterMs: () => number, run: () => void): void {
    this.later(afterMs(), process, () => {
      run();
      this.again(process, afterMs, run);
    });
  }

  handle({ payload, subject }: KernelEvent): void {
    const { process, incarnation, run } = payload as Task;
    this.trace.hash.mixTime(this.nowMs);
    this.trace.hash.mix(subject);
    if (process === undefined) return run();
    if (process.incarnation !== incarnation) return;
    if (process.pauses > 0) process.deferred.push(run);
    else run();
  }

  /** Runs to the end, or to the first finding. */
  run(): void {
    while (this.kernel.nextAtMs <= this.spec.endMs && this.judge.violation === undefined) {
      const event = this.kernel.take();
      event?.actor?.handle(event);
    }
    if (this.judge.violation === undefined) this.judgeAtRest();
  }

  // ---- faults

  /** Called once, by the constructor of a world. */
  protected arrangeFaults(): void {
    for (const fault of this.spec.faults)
      this.later(fault.atMs, undefined, () => {
        if (!this.isCalm) this.inflict(fault);
      });
    this.later(this.spec.calmAtMs, undefined, () => {
      this.isCalm = true;
      this.calm();
    });
  }

  /** What the process is told meanwhile comes when it goes on, all at once and in any order. */
  pause(process: Process, lastsMs: number): void {
    process.pauses++;
    this.later(lastsMs, undefined, () => {
      process.pauses--;
      if (process.pauses > 0) return;
      for (const run of process.deferred.splice(0)) this.later(0, process, run);
    });
  }

  /** The process does not reach the store for so long. */
  cut(process: Process, lastsMs: number): void {
    process.cuts++;
    this.later(lastsMs, undefined, () => void process.cuts--);
  }

  /** The process begins again after so long, with nothing. */
  kill(process: Process, lastsMs: number): void {
    if (!process.isAlive) return;
    this.dying(process);
    process.kill();
    this.later(lastsMs, undefined, () => {
      if (!process.isAlive) process.restart();
    });
  }
}
