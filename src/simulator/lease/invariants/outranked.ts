// OUTRANKED. A term that ends for a candidate with a greater priority (`outranked`) has led for two ttls of its own, by its own monotonic clock, and an invitation for exactly its token was sent with a
// priority that is greater than that of its candidate. An invitation that comes late ends no later term.
// Source: the section on priorities in docs/HANDING-OVER.md. Not checked: that a leader makes way, or for which candidate; invitations are hints, and may be lost.
import type { Token } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";

const LEAST_TENURE_TTLS = 2;

interface Led {
  readonly token: Token;
  /** A time on the monotonic clock. */
  readonly since: number;
}

export class Outranked implements LeaseInvariant {
  readonly name = "outranked";
  readonly hears: Ears = {
    elected: ({ who, election, token, now }) => this.#terms.set(who, election, { token, since: now.mono }),
    invited: ({ election, invitation: { token, priority } }) => {
      const key = keyOf(election, token);
      if (priority !== undefined) this.#greatest.set(key, Math.max(priority, this.#greatest.get(key) ?? 0));
    },
    ending: (observation) => this.#ending(observation),
    cloned: ({ who, copy }) => {
      for (const { election, value } of this.#terms.of(who)) this.#terms.set(copy, election, value);
    },
    died: ({ who }) => this.#terms.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #terms = new ByLife<Led>();
  /** Term → the greatest priority of the invitations for it. */
  readonly #greatest = new Map<string, number>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #ending({ who, election, reason, now }: ObservationOf<"ending">): void {
    const led = this.#terms.get(who, election);
    if (reason !== "outranked" || led === undefined) return;
    const { ttlMs = Infinity, priority = 0 } = this.#judgement.promises.candidates[who.slot] ?? {};
    const plea = this.#greatest.get(keyOf(election, led.token)) ?? 0;
    const ledMs = now.mono - led.since;
    if (plea > priority && ledMs >= LEAST_TENURE_TTLS * ttlMs) return;
    this.#judgement.violate(
      this.name,
      `${who.label}, of priority ${priority}, made way after ${ledMs} ms of "${election}" (ttl ${ttlMs}); the greatest priority that pleaded for its term is ${plea}`,
    );
  }
}

function keyOf(election: string, { domain, value, bid }: Token): string {
  return JSON.stringify([election, domain, `${value}`, bid]);
}
