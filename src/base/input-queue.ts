// Hands a machine its inputs one at a time, in the order in which they came. Carrying out what a step asks for may bring the next input before the step is over: a signal aborts, or a request is refused at once. Such an
// input waits for the end of the step, so that a machine is never stepped inside its own step.

export class InputQueue<I extends object> {
  readonly #step: (input: I) => void;
  readonly #atRest: () => void;
  readonly #waiting: I[] = [];
  #isStepping = false;

  /** `step` handles one input. `atRest` is called whenever all have been handled. */
  constructor(step: (input: I) => void, atRest: () => void = () => {}) {
    this.#step = step;
    this.#atRest = atRest;
  }

  /** A step is under way. */
  get isStepping(): boolean {
    return this.#isStepping;
  }

  /** Handles `input` now, or inside a step as soon as that is over. What a step throws goes to the caller, and what waits stays for the next call. */
  put(input: I): void {
    this.#waiting.push(input);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#step(next);
    } finally {
      this.#isStepping = false;
    }
    this.#atRest();
  }
}
