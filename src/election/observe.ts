// Shows who leads, for routing and dashboards, and how a memo changes. It uses looks and hints only: the result is a hint, never a proof, and nothing here touches a term.
import type { Clock, Timer } from "../base/clock.ts";
import { ConclaveError, isConclaveError } from "../base/errors.ts";
import { withJson } from "../base/json.ts";
import { askedOnce, noAnswerToRead } from "../base/outcome.ts";
import { formatToken } from "../fencing/token.ts";
import type { Name, Question, Seat } from "../lease/exchange.ts";
import type { Store } from "../stores/contract.ts";
import { onAbort, untilAborted } from "./abort.ts";
import { exchange } from "./ask.ts";
import type { Leader } from "./face.ts";
import { type Memo, readMemo } from "./memo.ts";
import { Watches } from "./watches.ts";

export interface Lookout {
  /** The node of the candidate. */
  readonly node?: string | undefined;
  readonly store: Store;
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly pollMs: number;
  /** Reports an error that happens while somebody observes, and after which the look is repeated. */
  readonly report: (error: ConclaveError, election: Name) => void;
  /** The observer can see again who leads. */
  readonly sees: (election: Name) => void;
}

/** Looks once. */
export async function lookUp(lookout: Lookout, name: Name): Promise<Leader | undefined> {
  try {
    return await look(lookout, name);
  } catch (error) {
    if (!isConclaveError(error)) throw error;
    const { code, message, retryable, cause } = error;
    throw new ConclaveError(code, askedOnce(message), { retryable, cause });
  }
}

async function look(lookout: Lookout, name: Name): Promise<Leader | undefined> {
  const [seat] = await lookAtAll(lookout, [name]);
  return leaderOf(seat, lookout.clock.now().mono);
}

/** Looks once at several names. */
export function lookAtAll(
  lookout: Pick<Lookout, "store" | "clock" | "requestTimeoutMs">,
  names: readonly Name[],
): Promise<readonly Seat[]> {
  const { store, clock, requestTimeoutMs } = lookout;
  return new Promise((resolve, reject) => {
    const request = { method: "look", questions: names.map((name) => ({ name })) } as const;
    exchange(store, clock, request, requestTimeoutMs, clock.now(), (answer) => {
      if (answer.kind === "seen") return resolve(answer.seats);
      if (answer.kind === "refused")
        return reject(
          new ConclaveError(answer.code, answer.message, { retryable: answer.retryable, cause: answer.cause }),
        );
      const cause = answer.kind === "unknown" ? answer.cause : undefined;
      const message = noAnswerToRead(store.guarantee.store, `the question who leads "${names.join('", "')}"`, cause);
      return reject(new ConclaveError("STORE_TIMEOUT", message, { cause }));
    });
  });
}

/** False if the holder is proven dead, or if its time is known to have expired and no rival has come yet. */
export function isTaken(seat: Seat | undefined, nowMs: number): boolean {
  if (seat?.holder === undefined || seat.state === "abandoned") return false;
  return seat.heldUntilMs === undefined || seat.heldUntilMs >= nowMs;
}

function leaderOf(seat: Seat | undefined, nowMs: number): Leader | undefined {
  if (seat?.holder === undefined || !isTaken(seat, nowMs)) return undefined;
  const { candidate, token, value } = seat.holder;
  return withJson({ id: candidate, token, value: value === "" ? undefined : value });
}

/** Gives the present leader first, then each change. */
export function observeLeader(lookout: Lookout, name: Name, ends: Ends): AsyncIterable<Leader | undefined> {
  return observeUntil<Leader>(lookout, ends, {
    question: { name },
    look: () => look(lookout, name),
    keyOf: ({ id, token, value }) => `${id} ${token ?? ""} ${value ?? ""}`,
  });
}

/** Gives the present memo first, then each change. */
export function observeMemo(lookout: Lookout, name: Name, key: string, ends: Ends): AsyncIterable<Memo | undefined> {
  return observeUntil<Memo>(lookout, ends, {
    question: { name, memo: key },
    look: () => readMemo(lookout, name, key),
    keyOf: ({ token, n, value }) => `${formatToken(token)} ${n} ${value}`,
  });
}

type Ends = readonly (AbortSignal | undefined)[];

/** The thing that somebody observes: how to look at it, and when two sights of it are the same. */
interface Sight<V> {
  readonly question: Question;
  readonly look: () => Promise<V | undefined>;
  readonly keyOf: (seen: V) => string;
}

/**
 * Gives the present value first, then each change; a slow reader sees the latest. Ends when `signal` aborts. After an error it looks again, and reports the first error of
 * each kind until a look succeeds. If the first look fails with an error that looking again cannot solve, the error is thrown.
 */
function observeUntil<V>(lookout: Lookout, ends: Ends, sight: Sight<V>): AsyncIterable<V | undefined> {
  return {
    [Symbol.asyncIterator]() {
      const stop = new AbortController();
      const offs = ends.map((end) => onAbort(end, () => stop.abort()));
      if (ends.some((end) => end?.aborted === true)) stop.abort();
      const seen = observe(lookout, sight, stop.signal, () => offs.forEach((off) => off()));
      // A reader that leaves does not wait for a look that hangs.
      const leave = seen.return.bind(seen);
      seen.return = (value) => {
        stop.abort();
        return leave(value);
      };
      return seen;
    },
  };
}

async function* observe<V>(
  lookout: Lookout,
  { question, look: lookNow, keyOf }: Sight<V>,
  signal: AbortSignal,
  whenOver: () => void,
): AsyncGenerator<V | undefined, void> {
  const { name } = question;
  const bell = new Bell(lookout.clock, signal);
  const watches = new Watches(lookout.store, lookout.clock, () => bell.ring());
  watches.add(question);
  let shown: string | undefined;
  try {
    while (!signal.aborted) {
      try {
        const seen = await untilAborted(lookNow(), signal);
        const key = seen === undefined ? "nothing" : keyOf(seen);
        lookout.sees(name);
        if (key !== shown && !signal.aborted) yield seen;
        shown = key;
      } catch (error) {
        if (signal.aborted) return;
        if (!isConclaveError(error)) throw error;
        if (!error.retryable && shown === undefined) throw error;
        lookout.report(error, name);
      }
      await bell.wait(lookout.pollMs);
    }
  } finally {
    watches.close();
    bell.close();
    whenOver();
  }
}

/** Wakes a reader: when rung, after a while, or when told to stop. */
class Bell {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#stop, { once: true });
  }

  readonly #stop = (): void => this.ring();

  close(): void {
    this.#signal.removeEventListener("abort", this.#stop);
  }

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async wait(ms: number): Promise<void> {
    let timer: Timer | undefined;
    if (!this.#rung && !this.#signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = this.#clock.timer(ms, resolve);
      });
    timer?.cancel();
    this.#wake = undefined;
    this.#rung = false;
  }
}
