// How the machine speaks: effects, and the errors that go with an outcome that is not an answer.
import { ConclaveError } from "../base/errors.ts";
import { noAnswerTo, type Refused, type Unknown } from "../base/outcome.ts";
import { renewed } from "../base/worn-map.ts";
import type { ConclaveEvent, Doing } from "./events.ts";
import type { Name } from "./exchange.ts";
import type { Effect, Errand, Machine, Request } from "./state.ts";

export function emit(effects: Effect[], event: ConclaveEvent): void {
  effects.push({ type: "event", event });
}

/** Sends `request`; its answer will find `errand`. */
export function send(machine: Machine, errand: Errand, timeoutMs: number, request: Request, effects: Effect[]): number {
  const id = ++machine.errandsSent;
  machine.errands = renewed(machine.errands, id);
  machine.errands.set(id, errand);
  effects.push({ type: "call", errand: id, timeoutMs, request });
  return id;
}

export function errorOf(what: string, outcome: Unknown | Refused, machine: Machine): ConclaveError {
  const store = machine.settings.guarantee.store;
  if (outcome.kind === "refused")
    return new ConclaveError(outcome.code, outcome.message, { retryable: outcome.retryable, cause: outcome.cause });
  const hint = machine.reached
    ? ""
    : " Is the address right, and do both sides use TLS or neither? A firewall that drops packets looks the same.";
  const message = `${store}: ${noAnswerTo(what, outcome.cause)}; the request may or may not have been carried out.${hint}`;
  return new ConclaveError("STORE_TIMEOUT", message, { cause: outcome.cause });
}

export function emitError(effects: Effect[], during: Doing, error: ConclaveError, election?: Name): void {
  emit(effects, { type: "error", error, during, ...(election === undefined ? {} : { election }) });
}

/** A call rejects only before the first successful exchange (law 9): then a refusal that trying again cannot help ends everything. */
export function isFatal(machine: Machine, outcome: Unknown | Refused): boolean {
  return !machine.reached && outcome.kind === "refused" && !outcome.retryable;
}
