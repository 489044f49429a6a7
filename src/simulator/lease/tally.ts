// Counts things that only several processes together show: takeovers, and how close to the old leader's deadline they came.
import type { Reading } from "../../base/clock.ts";
import type { Bid, Name } from "../../lease/exchange.ts";
import type { Counts } from "./counts.ts";
import type { Proofs } from "./invariants/proofs.ts";
import type { Ears, ObservationOf, Who } from "./observation.ts";

/** A takeover within this many milliseconds after the old deadline would have been an overlap without the margins. */
const CLOSE_MS = 25;

export class Tally {
  readonly hears: Ears = {
    elected: (observation) => this.#elected(observation),
    noted: ({ write: { ban } }) => {
      if (ban !== undefined) this.#counts[ban.stands ? "bansWritten" : "bansLifted"]++;
    },
    answer: ({ answer }) => {
      if (answer.kind === "refused" && answer.code === "NODE_BANNED") this.#counts.bannedOpenings++;
    },
  };
  readonly #counts: Counts;
  readonly #proofs: Proofs;
  readonly #read: (who: Who) => Reading;
  readonly #latest = new Map<Name, { readonly who: Who; readonly bid: Bid }>();

  constructor(counts: Counts, proofs: Proofs, read: (who: Who) => Reading) {
    this.#counts = counts;
    this.#proofs = proofs;
    this.#read = read;
  }

  #elected({ who, election, token }: ObservationOf<"elected">): void {
    const before = this.#latest.get(election);
    this.#latest.set(election, { who, bid: token.bid });
    if (before === undefined || before.who === who) return;
    this.#counts.takeovers++;
    const due = this.#proofs.dueOf(before.who, before.bid);
    if (due === undefined) return;
    const now = this.#read(before.who);
    const pastMs = Math.max(now.mono - due.deadline.mono, now.boot - due.deadline.boot);
    if (pastMs >= 0 && pastMs <= CLOSE_MS) this.#counts.closeTakeovers++;
  }
}
