// EXCLUSION. No two terms of one election are held at one true instant. A term is held if `isHeld` says so by its process's own clock at that instant: a paused process counts, since it could wake and
// ask.
// Source: the deadline counts from the send (law 1), a rival waits for a full ttl of silence (law 2), `isHeld()` is computed (law 3), sleep counts (law 4), drain, then release (law 8).
// Checked after every step of every machine; between steps a belief can only end. Not checked while the promise is void (excuses.ts says when, and for how long).
// Work that goes on without asking `isHeld` is checked where it has effects (fencing.ts).
import type { Bid, Name } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";
import { ByLife } from "./by-life.ts";
import { Excuses } from "./excuses.ts";

interface Belief {
  readonly who: Who;
  readonly election: Name;
  readonly bid: Bid;
  readonly value: bigint;
}

export class Exclusion implements LeaseInvariant {
  readonly name = "exclusion";
  readonly hears: Ears;
  readonly #judgement: Judgement;
  readonly #excuses: Excuses;
  /** The latest term of each process for each election: the one that its user has. */
  readonly #latest = new ByLife<Belief>();
  /** Election → the beliefs that were true when last asked. Others are false, since belief begins only in a step. */
  readonly #believers = new Map<Name, Belief[]>();

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
    this.#excuses = new Excuses(judgement.promises);
    this.hears = {
      ...this.#excuses.hears,
      elected: ({ who, election, token }) =>
        this.#latest.set(who, election, { who, election, bid: token.bid, value: token.value }),
      stepped: (observation) => this.#stepped(observation),
      died: ({ who }) => this.#latest.forget(who),
      cloned: (observation) => this.#cloned(observation),
    };
  }

  /** The copy believes everything that the original believes. */
  #cloned(observation: ObservationOf<"cloned">): void {
    this.#excuses.cloned(observation);
    const { who, copy } = observation;
    for (const { election, value: belief } of this.#latest.of(who))
      this.#latest.set(copy, election, { ...belief, who: copy });
  }

  #stepped({ who, atMs }: ObservationOf<"stepped">): void {
    for (const { value: belief } of this.#latest.of(who)) {
      const isBeliever = this.#believers.get(belief.election)?.includes(belief) ?? false;
      if (isBeliever || !this.#isHeld(belief)) continue;
      const others = (this.#believers.get(belief.election) ?? []).filter((other) => this.#isHeld(other));
      this.#believers.set(belief.election, [...others, belief]);
      for (const other of others) this.#judge(other, belief, atMs);
    }
  }

  #isHeld({ who, election, bid }: Belief): boolean {
    return this.#judgement.probes.isHeld(who, election, bid);
  }

  #judge(older: Belief, newer: Belief, atMs: number): void {
    const { election } = newer;
    if (this.#excuses.isFrozen(older.who) || this.#excuses.isFrozen(newer.who)) return;
    if (this.#excuses.covers(older.bid, election, atMs) || this.#excuses.covers(newer.bid, election, atMs)) return;
    const story = `"${election}" is held by ${older.who.label} (token ${older.value}) and by ${newer.who.label} (token ${newer.value}) at once`;
    this.#judgement.violate(this.name, story);
  }
}
