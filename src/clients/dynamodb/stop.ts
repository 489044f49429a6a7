// How a request of a client that we have made is given up. AWS's client takes an abort signal as an option of a request; but then it puts its middleware together anew for every request, which
// takes as long as everything that we do ourselves for a lock. Without options it does that once (`cacheMiddleware`). So the signal travels with the input of the command, under a symbol, which is
// no field of any request and is not sent; and a middleware of our own, next to the one that sends, hands it over.
import type { StopSignal } from "../stop-signal.ts";

const STOP: unique symbol = Symbol("stop");

interface Sending {
  readonly input: { readonly [STOP]?: StopSignal };
  readonly request: unknown;
}

/** The parts of AWS's client that this needs. */
export interface SdkClient {
  readonly config: {
    readonly requestHandler: { handle(request: unknown, options: object): Promise<unknown> };
  };
  readonly middlewareStack: {
    add(middleware: (next: (sending: Sending) => Promise<unknown>) => typeof next, where: object): void;
  };
}

/** The input of a command that is given up when the signal aborts. */
export function withStop(input: object, signal: StopSignal): object {
  return { ...input, [STOP]: signal };
}

/** From now on the commands of this client heed `withStop`. */
export function hearsStop({ config, middlewareStack }: SdkClient): void {
  middlewareStack.add(
    (next) => (sending) => {
      const abortSignal = sending.input[STOP];
      return abortSignal === undefined ? next(sending) : config.requestHandler.handle(sending.request, { abortSignal });
    },
    // The innermost: what follows would be the sending itself.
    { step: "deserialize", priority: "low", name: "conclaveStop" },
  );
}
