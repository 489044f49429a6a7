// The cases in which two leaders at one instant are no breach, because the promise was void. Exclusion and tokens share them; each excuse is as narrow as the argument for it.
//
//   frozen     all clocks of a process stood still: its beliefs are void for the rest of that life (an assumption of law 4, that sleep counts)
//   session    an operator ended a session: its holder learns by its next keep, or its deadline, which is at most one ttl away (law 14: a deletion is a forced takeover)
//   record     an operator deleted an entry of a line: the next in line is first at once, and the old first likewise learns within a ttl.
//              Where holds take turns in being asked for, two renewals may come in between: two thirds of a ttl more.
//              In a race this is NO excuse: the seat shows `missing`, and takers wait the last ttl (law 14 again)
//   forgot     a failover lost the last writes: terms that were granted or kept before it may end early. In a race versions may repeat after it, so that
//              a candidate that looked before may swap over one that is alive again: void for the rest of the run; only tokens help
//   cloned     a copy of a process goes on beside it: both act for one session until the second of them has next kept, or its deadline has passed: one ttl.
//              If it gives something back until then, its twin, or the process that was granted it since, learns of that within another ttl
//   jumped     the store judges by a wall clock that jumped forward: terms that were granted or kept before it may end early
//
// Otherwise an excuse lasts for one ttl after the act: "detected within a ttl" is itself checked. `session` and `record` cover only terms granted before the act; `forgot` and `jumped` also cover a term
// granted later, whose session was kept before.
import type { Bid, Name, Token } from "../../../lease/exchange.ts";
import type { Ears, Meddling, ObservationOf, Promises, Who } from "../observation.ts";

interface Act {
  readonly atMs: number;
  readonly election: Name | undefined;
  readonly coversLater: boolean;
  readonly untilMs: number;
}

export class Excuses {
  readonly hears: Pick<Ears, "granted" | "meddled" | "frozen" | "cloned"> = {
    granted: (observation) => this.granted(observation),
    meddled: (observation) => this.#meddled(observation),
    frozen: ({ who }) => void this.#frozen.add(who),
    cloned: (observation) => this.cloned(observation),
  };
  readonly #promises: Promises;
  readonly #grantedAtMs = new Map<Bid, number>();
  /** Bid and value → epoch. Both are needed: after a forgetting one bid may be granted twice. */
  readonly #epochs = new Map<string, number>();
  readonly #acts: Act[] = [];
  readonly #frozen = new Set<Who>();
  #epoch = 0;

  constructor(promises: Promises) {
    this.#promises = promises;
  }

  granted({ token, atMs }: ObservationOf<"granted">): void {
    this.#grantedAtMs.set(token.bid, atMs);
    this.#epochs.set(keyOf(token), this.#epoch);
  }

  #meddled({ act, atMs, election }: ObservationOf<"meddled">): void {
    if (act === "forgot") this.#epoch++;
    const isForGood = act === "forgot" && this.#promises.shape === "race";
    const untilMs = isForGood ? Infinity : atMs + this.#noticedWithinMs(act);
    const coversLater = act === "forgot" || act === "jumped";
    if (this.#isExcuse(act)) this.#acts.push({ atMs, election, coversLater, untilMs });
  }

  /** Where holds take turns, two keeps may extend a session before the third asks for the entry: two thirds of a ttl more. */
  #noticedWithinMs(act: Meddling): number {
    const { takesTurns, ttlMaxMs } = this.#promises;
    return act === "record" && takesTurns ? (ttlMaxMs * 5) / 3 : ttlMaxMs;
  }

  cloned({ who, copy, atMs }: ObservationOf<"cloned">): void {
    if (this.#frozen.has(who)) this.#frozen.add(copy);
    this.#acts.push({ atMs, election: undefined, coversLater: true, untilMs: atMs + 2 * this.#promises.ttlMaxMs });
  }

  #isExcuse(act: Meddling): boolean {
    return act !== "record" || this.#promises.shape === "line";
  }

  isFrozen(who: Who): boolean {
    return this.#frozen.has(who);
  }

  /** Tells whether the term that was granted to `bid` may have ended without its holder knowing yet. */
  covers(bid: Bid, election: Name, nowMs: number): boolean {
    const grantedAtMs = this.#grantedAtMs.get(bid) ?? nowMs;
    return this.#acts.some(
      (act) =>
        (act.election ?? election) === election && (act.coversLater || grantedAtMs <= act.atMs) && nowMs <= act.untilMs,
    );
  }

  /** Grants with a forgetting between them do not compare: the counter itself was set back. */
  epochOf(token: Token): number {
    return this.#epochs.get(keyOf(token)) ?? this.#epoch;
  }
}

function keyOf({ bid, value }: Token): string {
  return `${bid}#${value}`;
}
