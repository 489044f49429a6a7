// Folds repeated errors: there is one event when a trouble begins, and one (`recovered`) when it is over.
//
// A trouble is either an outage or a refusal. An outage means that the store cannot be reached or does not answer; there is one for the whole candidate. There is one refusal for each
// code and election. A trouble is over when everything that has failed in it has worked again. A success proves only itself: a store that answers looks while its
// renewals hang stays in trouble. A request that was not tried again for a whole ttl, because nobody wants it any more, is not waited for.
import type { ErrorCode } from "../base/errors.ts";
import type { ConclaveEvent, Doing } from "../lease/events.ts";
import type { Name } from "../lease/exchange.ts";

type ErrorEvent = Extract<ConclaveEvent, { type: "error" }>;
type Recovered = Extract<ConclaveEvent, { type: "recovered" }>;

interface Trouble {
  readonly code: ErrorCode;
  /** The election of a refusal that concerns one name. */
  readonly election: Name | undefined;
  readonly since: number;
  failures: number;
  /** The requests that failed, and when each failed last. */
  readonly failing: Map<string, number>;
}

/** The requests that a success proves to work again. */
const PROVES: Readonly<Record<Doing, readonly Doing[]>> = {
  open: ["open", "renew"],
  renew: ["open", "renew"],
  claim: ["claim", "look"],
  look: ["look"],
  release: ["release"],
  grant: ["grant", "claim", "look"],
  observe: ["observe"],
  memo: ["memo"],
};

export class Troubles {
  readonly #nowMs: () => number;
  readonly #forgetAfterMs: number;
  readonly #troubles = new Map<string, Trouble>();

  constructor(nowMs: () => number, forgetAfterMs: number) {
    this.#nowMs = nowMs;
    this.#forgetAfterMs = forgetAfterMs;
  }

  /** True if this is news. An error that belongs to no request always is. */
  isNews({ error, election, during }: ErrorEvent): boolean {
    if (during === undefined) return true;
    const isOutage = error.code === "STORE_UNREACHABLE" || error.code === "STORE_TIMEOUT";
    const key = isOutage ? "outage" : `${error.code} ${election ?? ""}`;
    const now = this.#nowMs();
    const known = this.#troubles.get(key);
    const trouble: Trouble = known ?? {
      code: error.code,
      election: isOutage ? undefined : election,
      since: now,
      failures: 0,
      failing: new Map(),
    };
    trouble.failures++;
    trouble.failing.set(keyOf(during, election), now);
    this.#troubles.set(key, trouble);
    return known === undefined;
  }

  /** Something worked. Returns the troubles that are over because of that. */
  worked(doing: Doing, election?: Name): readonly Recovered[] {
    if (this.#troubles.size === 0) return [];
    const now = this.#nowMs();
    const over: Recovered[] = [];
    for (const [key, trouble] of this.#troubles) {
      for (const proven of PROVES[doing]) trouble.failing.delete(keyOf(proven, election));
      for (const [what, atMs] of trouble.failing) if (now - atMs > this.#forgetAfterMs) trouble.failing.delete(what);
      if (trouble.failing.size > 0) continue;
      this.#troubles.delete(key);
      const { code, election: name, since, failures } = trouble;
      const named = name === undefined ? {} : { election: name };
      over.push({ type: "recovered", code, ...named, afterMs: now - since, failures });
    }
    return over;
  }
}

function keyOf(doing: Doing, election: Name | undefined): string {
  return `${doing} ${election ?? ""}`;
}
