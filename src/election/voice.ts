// Reports events: to listeners, a logger, NODE_DEBUG=conclave, and the channel `conclave` of node:diagnostics_channel. When nobody listens, trouble becomes
// a warning of the process, so that a wrong URL is never silent. A listener that throws or rejects does no harm (law 16).
import { channel } from "node:diagnostics_channel";
import { debuglog } from "node:util";
import { ConclaveError, type LossReason, TermLostError } from "../base/errors.ts";
import { askedOnce } from "../base/outcome.ts";
import { show } from "../base/show.ts";
import type { ConclaveEvent } from "../lease/events.ts";
import { levelOf, logLine } from "../telemetry/log.ts";
import { callUser } from "./callbacks.ts";

/** The type of `pino()`, `console` and most loggers. Each line is one text. */
export interface Logger {
  debug(line: string): unknown;
  info(line: string): unknown;
  warn(line: string): unknown;
  error(line: string): unknown;
}

/** A function that is called with every event, in order. */
export type Listener = (event: ConclaveEvent) => unknown;

export interface VoiceOptions {
  readonly onEvent?: Listener | undefined;
  readonly logger?: Logger | undefined;
  /** The candidate that speaks, and its store, without a password. */
  readonly who: () => string;
  readonly store: string;
  /** True if the error was thrown at a caller, so that no warning is needed. */
  readonly isDelivered: (error: ConclaveError) => boolean;
}

/** These losses were wished for, so no warning is needed. */
const SILENT: ReadonlySet<LossReason | undefined> = new Set<LossReason>(["resigned", "tenure", "outranked"]);

/** The channel gets every event of every candidate of this process, as `{ candidate, event }`. */
const events = channel("conclave");
const debug = debuglog("conclave");

/** How many causes of an error are looked at. */
const CAUSES_MAX = 4;

/** Marks a listener that only counts, such as a metric: nobody reads it, so warnings are still needed. */
const COUNTS_ONLY = Symbol.for("conclave.counts-only");

/** A listener that takes the place of another one: if that one only counts, this one only counts too. */
export function sameMark(own: Listener, listener: Listener): Listener {
  if (typeof listener !== "function")
    throw new ConclaveError("CONFIG_INVALID", `subscribe: ${show(listener)} is not a function. Pass (event) => { … }`);
  return COUNTS_ONLY in listener ? countingOnly(own) : own;
}

/** Marks a listener that nobody reads: it silences no warning. */
export function countingOnly(listener: Listener): Listener {
  return Object.assign(listener, { [COUNTS_ONLY]: true });
}

export class Voice {
  readonly #options: VoiceOptions;
  readonly #listeners = new Set<Listener>();

  constructor(options: VoiceOptions) {
    this.#options = options;
    if (options.onEvent !== undefined) this.#listeners.add(options.onEvent);
  }

  /** Returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void {
    const own = sameMark((event) => listener(event), listener);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  say(event: ConclaveEvent): void {
    const { logger, who, store } = this.#options;
    if (events.hasSubscribers) events.publish({ candidate: who(), event });
    const isHeard = this.#isHeard();
    for (const listener of this.#listeners)
      callUser("a listener of conclave's events", listener, () => listener(event));
    if (logger !== undefined) {
      const place = isWithoutPlace(event) ? ` store=${JSON.stringify(store)}` : "";
      callUser("conclave's logger", logger, () => logger[levelOf(event)](`conclave: ${logLine(event)}${place}`));
    }
    if (debug.enabled) debug("%s %s", who(), logLine(event));
    if (!isHeard) this.#warn(event);
  }

  #isHeard(): boolean {
    if (this.#options.logger !== undefined || debug.enabled || events.hasSubscribers) return true;
    for (const listener of this.#listeners) if (!(COUNTS_ONLY in listener)) return true;
    return false;
  }

  #warn(event: ConclaveEvent): void {
    const { store } = this.#options;
    if (event.type === "error" && !this.#options.isDelivered(event.error)) {
      const about = namesItself(event.error, event.election) ? "" : `"${event.election}": `;
      const goesOn = event.during === undefined ? "" : " It goes on trying, and says here when it is over.";
      this.#emit(event.error.code, `${about}${sentence(withCause(event.error))} Store: ${store}.${goesOn}`);
    }
    if (event.type === "recovered") {
      const { election, afterMs, failures, code } = event;
      const named = election === undefined ? "" : `"${election}": `;
      const requests = failures === 1 ? "1 failed request" : `${failures} failed requests`;
      this.#emit("RECOVERED", `${named}${store} works again, ${inSeconds(afterMs)} and ${requests} after ${code}.`);
    }
    // Every loss begins with this state; what follows depends on whether work is under way.
    if (event.type === "state" && event.state === "ending" && !SILENT.has(event.reason))
      this.#emit(
        "TERM_LOST",
        `${new TermLostError(event.election, event.reason ?? "expired").message} Store: ${store}.`,
      );
    if (event.type === "warning") this.#emit(event.code, event.message);
  }

  #emit(code: string, message: string): void {
    const detail = `To be told more, pass onEvent or logger, or set NODE_DEBUG=conclave. See docs/EVENTS.md and docs/ERRORS.md.`;
    process.emitWarning(`${this.#options.who()}: ${message}`, {
      type: "ConclaveWarning",
      code: `CONCLAVE_${code}`,
      detail,
    });
  }
}

/** Some messages begin with the name of their election, and it is not put before them once more. */
function namesItself(error: ConclaveError, election: string | undefined): boolean {
  return election === undefined || error.message.startsWith(`"${election}":`);
}

/** True if the message has no address: the machine, which writes this error, knows none, while the messages of the drivers name theirs. */
function isWithoutPlace(event: ConclaveEvent): boolean {
  return event.type === "error" && event.error.code === "STORE_TIMEOUT";
}

/** Adds the cause that the message does not contain, and removes the sentence that is added at the end in any case. */
function withCause(error: ConclaveError): string {
  const message = askedOnce(error.message);
  const { cause } = error;
  // A STORE_TIMEOUT has the words of its cause already (`noAnswerTo`).
  if (error.code === "STORE_TIMEOUT" || !(cause instanceof Error) || cause.message === "") return message;
  return codesOf(cause).some((code) => message.includes(code)) || message.includes(cause.message)
    ? message
    : `${message} (${cause.message})`;
}

/** The codes of an error and of the errors that caused it: a driver may have wrapped the error that has the code. */
function codesOf(error: unknown, depth = 0): readonly string[] {
  if (!(error instanceof Error) || depth > CAUSES_MAX) return [];
  const code = "code" in error && typeof error.code === "string" && error.code !== "" ? [error.code] : [];
  return [...code, ...codesOf(error.cause, depth + 1)];
}

/** Ends the text with a full stop, so that the text after it does not look like a part of a command at the end of the message. */
function sentence(text: string): string {
  return /[.?!)]$/.test(text) ? text : `${text}.`;
}

function inSeconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
