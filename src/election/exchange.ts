// One request of the machine, carried out at a store and answered exactly once: with the store's answer, or `unknown` when it takes too long, throws,
// rejects, or answers something that is no answer. Late answers are dropped: whatever they say, the machine asks again.
import type { Clock, Reading } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { unknown } from "../base/outcome.ts";
import type { Claimed } from "../lease/exchange.ts";
import type { Answer, Request } from "../lease/state.ts";
import type { Call, Store } from "../stores/contract.ts";

/** The abort signal is made only if the driver asks for it. */
class LazyCall implements Call {
  readonly sentAtMs: number;
  #controller: AbortController | undefined;
  #abandoned = false;

  constructor(sentAtMs: number) {
    this.sentAtMs = sentAtMs;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abandoned) this.#controller.abort();
    return this.#controller.signal;
  }

  abandon(): void {
    this.#abandoned = true;
    this.#controller?.abort();
  }
}

export interface Exchange {
  /** Nobody waits for the answer any more. */
  cancel(): void;
}

export function exchange(
  store: Store,
  clock: Clock,
  request: Request,
  timeoutMs: number,
  sentAt: Reading,
  answer: (answer: Answer) => void,
): Exchange {
  const call = new LazyCall(sentAt.mono);
  let open = true;
  const close = (): boolean => {
    if (!open) return false;
    open = false;
    timer.cancel();
    return true;
  };
  const timer = clock.timer(timeoutMs, () => {
    if (!close()) return;
    call.abandon();
    answer(unknown(new ConclaveError("STORE_TIMEOUT", `no answer within ${Math.round(timeoutMs)} ms`)));
  });
  invoke(store, request, call).then(
    (result) => void (close() && answer(checked(store, request, result))),
    (error: unknown) => void (close() && answer(unknown(error))),
  );
  return {
    cancel: () => {
      if (close()) call.abandon();
    },
  };
}

async function invoke(store: Store, request: Request, call: Call): Promise<Answer> {
  switch (request.method) {
    case "keep":
      return store.keep(request.session, request.holds, call);
    case "claim":
      return { kind: "claimed", claimed: await store.claim(request.claims, call) };
    case "release":
      return store.release(request.will, call);
    case "look":
      return store.look(request.questions, call);
  }
}

/** A driver's bug must not become two leaders: what does not have the shape of an answer counts as none. */
function checked(store: Store, request: Request, answer: Answer): Answer {
  if (typeof answer !== "object" || answer === null || typeof answer.kind !== "string")
    return unknown(
      new TypeError(
        `${store.guarantee.store}.${request.method} answered ${JSON.stringify(answer)}, which is no outcome`,
      ),
    );
  if (answer.kind !== "claimed" || request.method !== "claim") return answer;
  if (!Array.isArray(answer.claimed) || answer.claimed.length !== request.claims.length)
    return unknown(
      new TypeError(`${store.guarantee.store}.claim answered ${request.claims.length} claims with something else`),
    );
  return {
    kind: "claimed",
    claimed: answer.claimed.map((each, index) => checkedClaim(store, request.claims[index]?.bid, each)),
  };
}

function checkedClaim(store: Store, bid: string | undefined, claimed: Claimed): Claimed {
  if (claimed.kind !== "granted" && claimed.kind !== "waiting") return claimed;
  const { hold } = claimed;
  const fenced = store.guarantee.fencing === "fenced";
  if (hold.bid === bid && (!fenced || (typeof hold.token?.value === "bigint" && hold.token.bid === bid)))
    return claimed;
  const message = `${store.guarantee.store}.claim granted bid ${String(bid)} without its ${fenced ? "token" : "bid"}. This is a bug of the driver: run storeConformance of conclave/testing on it.`;
  return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
}
