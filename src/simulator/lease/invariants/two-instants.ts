// TWO INSTANTS. They are counted from the last proven keep. The signal of a held term has aborted once `deadline − drainMs` has passed on either clock, and it does not abort for lack of renewal before
// that; `lost` for lack of renewal does not come before the deadline. Between steps the machine asks to be woken no later than the next of the two instants. A term is announced only while its signal is
// still ahead, and it is held at that instant.
// Source: `isHeld()` is computed, not remembered (law 3); the signal comes before the deadline (law 5); a late grant is never announced (law 7). And a safe term is never aborted for lack of renewal.
// Not checked: that a timer fires in time. A late timer costs availability only, because `isHeld` asks the clock.
import type { Reading } from "../../../base/clock.ts";
import type { Bid } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf } from "../observation.ts";
import { ByLife } from "./by-life.ts";
import type { TermDue, Proofs } from "./proofs.ts";

/** Sums of the same numbers in another order may differ in their last bits. */
const ROUNDING_MS = 1e-6;

interface SignalledTerm {
  readonly bid: Bid;
  isEnding: boolean;
}

export class TwoInstants implements LeaseInvariant {
  readonly name = "two-instants";
  readonly hears: Ears = {
    elected: (observation) => this.#elected(observation),
    ending: (observation) => this.#ending(observation),
    lost: (observation) => this.#lost(observation),
    settled: ({ who, election }) => this.#terms.delete(who, election),
    stepped: (observation) => this.#stepped(observation),
    died: ({ who }) => this.#terms.forget(who),
  };
  readonly #judgement: Judgement;
  readonly #proofs: Proofs;
  readonly #terms = new ByLife<SignalledTerm>();

  constructor(judgement: Judgement, proofs: Proofs) {
    this.#judgement = judgement;
    this.#proofs = proofs;
  }

  #elected({ who, election, token, now }: ObservationOf<"elected">): void {
    this.#terms.set(who, election, { bid: token.bid, isEnding: false });
    const due = this.#proofs.dueOf(who, token.bid);
    if (due === undefined || byMs(due.signalAt, now) >= -ROUNDING_MS)
      this.#judgement.violate(
        this.name,
        `${who.label} announced "${election}" (bid ${token.bid}) ${lateness(due, now)}`,
      );
  }

  #ending({ who, election, reason, now }: ObservationOf<"ending">): void {
    const term = this.#terms.get(who, election);
    if (term === undefined) return;
    term.isEnding = true;
    const due = this.#proofs.dueBefore(who, term.bid);
    const early = due === undefined ? 0 : -byMs(due.signalAt, now);
    if ((reason === "expired" || reason === "suspended" || reason === "stalled") && early > ROUNDING_MS)
      this.#judgement.violate(
        this.name,
        `the signal of "${election}" on ${who.label} aborted (${reason}) ${early.toFixed(3)} ms before it was due`,
      );
  }

  #lost({ who, election, reason, now }: ObservationOf<"lost">): void {
    const term = this.#terms.get(who, election);
    if (term === undefined) return;
    this.#terms.delete(who, election);
    const due = this.#proofs.dueBefore(who, term.bid);
    const early = due === undefined ? 0 : -byMs(due.deadline, now);
    if ((reason === "expired" || reason === "suspended" || reason === "stalled") && early > ROUNDING_MS)
      this.#judgement.violate(
        this.name,
        `${who.label} lost "${election}" (${reason}) ${early.toFixed(3)} ms before its deadline`,
      );
  }

  #stepped({ who, now, wakeAt }: ObservationOf<"stepped">): void {
    for (const { election, value: term } of this.#terms.of(who)) {
      const due = this.#proofs.dueOf(who, term.bid);
      if (due === undefined) continue;
      const next = term.isEnding ? due.deadline : due.signalAt;
      const what = term.isEnding ? "the deadline" : "the signal";
      const overdueMs = byMs(next, now);
      if (overdueMs > ROUNDING_MS)
        this.#judgement.violate(
          this.name,
          `${what} of "${election}" on ${who.label} was due ${overdueMs.toFixed(3)} ms ago and has not come`,
        );
      else if (wakeAt > now.mono - overdueMs + ROUNDING_MS)
        this.#judgement.violate(
          this.name,
          `${who.label} sleeps past ${what} of "${election}" by ${(wakeAt - now.mono + overdueMs).toFixed(3)} ms`,
        );
    }
  }
}

/** Returns how far `now` is past `instant`, on the clock that is further on. */
function byMs(instant: Reading, now: Reading): number {
  return Math.max(now.mono - instant.mono, now.boot - instant.boot);
}

function lateness(due: TermDue | undefined, now: Reading): string {
  return due === undefined ? "without any proof" : `${byMs(due.signalAt, now).toFixed(3)} ms after its signal was due`;
}
