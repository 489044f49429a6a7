// The beats of one life of one process: they stamp its keeps if the store refuses clones (lease/beats.ts). They are drawn from a stream of their own, so that other draws stay the same.
import { nextUint32, type Rng } from "../../base/rng.ts";
import { stampKeep } from "../../lease/beats.ts";
import type { Machine, Request } from "../../lease/state.ts";

export class Stamps {
  readonly #machine: Machine;
  readonly #rng: Rng;

  constructor(machine: Machine, rng: Rng) {
    this.#machine = machine;
    this.#rng = rng;
  }

  /** Undefined if the store ignores beats. */
  fresh(): string | undefined {
    if (this.#machine.settings.guarantee.refusesClones !== true) return undefined;
    return [0, 1].map(() => nextUint32(this.#rng).toString(16).padStart(8, "0")).join("-");
  }

  /** Returns the request as it is to be sent. */
  stamped(errand: number, request: Request): Request {
    const beat = request.method === "keep" ? this.fresh() : undefined;
    return beat === undefined ? request : stampKeep(this.#machine, errand, request, beat);
  }
}
