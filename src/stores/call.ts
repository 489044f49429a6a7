// A call of a store as the runner makes it: its abort signal exists only if the driver asks for one. Most calls are answered long before anybody gives them
// up, and a signal with a listener costs more than the rest of the call in the process.
import { setMaxListeners } from "node:events";
import type { StopSignal } from "../clients/stop-signal.ts";
import type { Call } from "./contract.ts";

export class LazyCall implements Call {
  readonly sentAtMs: number;
  #controller: AbortController | undefined;
  #stopSignal: CallSignal | undefined;
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

  /** See `stopSignalOf`. */
  get stopSignal(): StopSignal {
    this.#stopSignal ??= new CallSignal(this);
    return this.#stopSignal;
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

/** The signal of a call for a client that sends several requests for it, each with a listener of its own. */
export function stopSignalOf(call: Call): StopSignal {
  if (call instanceof LazyCall) return call.stopSignal;
  if (call.whenGivenUp !== undefined) return signalOf(call);
  // Every request of a batch adds a listener, and Node would take so many for a leak.
  setMaxListeners(0, call.signal);
  return call.signal;
}

/** A call has one listener, so it has one of these, however often it is asked for. For calls that somebody else has made: each entry here costs the garbage collector more than the rest of the call. */
const signals = new WeakMap<Call, CallSignal>();

function signalOf(call: Call): CallSignal {
  const known = signals.get(call);
  if (known !== undefined) return known;
  const signal = new CallSignal(call);
  signals.set(call, signal);
  return signal;
}

/** Passes the one word of a call on to every request that was made for it. */
class CallSignal implements StopSignal {
  readonly #call: Call;
  #listeners: Set<() => void> | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  get aborted(): boolean {
    return isGivenUp(this.#call);
  }

  get reason(): unknown {
    return this.#call.signal.reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#listeners === undefined) whenGivenUp(this.#call, () => this.#tell());
    (this.#listeners ??= new Set()).add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners?.delete(listener);
  }

  #tell(): void {
    const listeners = [...(this.#listeners ?? [])];
    this.#listeners?.clear();
    for (const listener of listeners) listener();
  }
}
