// What judges of all worlds of tasks share: the first invariant that is broken is the finding, and ends the run. A judge sees what happens, in true
// time, and does not know how a promise is kept.
import type { Violation } from "./hunt.ts";

export class Judge {
  readonly #judgedBy: readonly string[] | undefined;
  violation: Violation | undefined;

  /** `judgedBy`: the invariants that count; all of them if undefined. */
  constructor(judgedBy: readonly string[] | undefined) {
    this.#judgedBy = judgedBy;
  }

  find(invariant: string, story: string, atMs: number): void {
    if (this.#judgedBy?.includes(invariant) ?? true) this.violation ??= { invariant, story, atMs };
  }
}
