// The part of an AbortSignal that our own clients use. An AbortSignal is one. The drivers pass a lighter one (stores/call.ts), because making an AbortSignal and listening to it costs more than the rest of
// a request in this process.

/** It aborts when nobody waits for the answer any more. */
export interface StopSignal {
  readonly aborted: boolean;
  /** The reason, once it has aborted. */
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
