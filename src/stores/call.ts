// A call of a store as the runner makes it: its abort signal exists only if the driver asks for one. Most calls are answered long before anybody gives them
// up, and a signal with a listener costs more than the rest of the call in the process.
import type { Call } from "./contract.ts";

export class LazyCall implements Call {
  readonly sentAtMs: number;
  #controller: AbortController | undefined;
  #listener: (() => void) | undefined;
  #abandoned = false;

  constructor(sentAtMs: number) {
    this.sentAtMs = sentAtMs;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abandoned) this.#controller.abort();
    return this.#controller.signal;
  }

  get isGivenUp(): boolean {
    return this.#abandoned;
  }

  whenGivenUp(then: () => void): void {
    this.#listener = then;
  }

  /** Nobody waits for it any more. */
  abandon(): void {
    if (this.#abandoned) return;
    this.#abandoned = true;
    this.#controller?.abort();
    this.#listener?.();
  }
}

export function isGivenUp(call: Call): boolean {
  return call.isGivenUp ?? call.signal.aborted;
}

/** Calls `then` when nobody waits any more. Returns how to stop waiting for that, where there is something to stop. */
export function whenGivenUp(call: Call, then: () => void): (() => void) | undefined {
  if (call.whenGivenUp !== undefined) {
    call.whenGivenUp(then);
    return undefined;
  }
  const { signal } = call;
  signal.addEventListener("abort", then, { once: true });
  return () => signal.removeEventListener("abort", then);
}
