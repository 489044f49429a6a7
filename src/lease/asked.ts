// Handing over on request (`conclave resign`). Somebody asks the leader of one term to leave; the store keeps that request beside the seat, and shows it to the
// holder with its keeps. The machine then does what `resign` does: the signal aborts, the work drains, and the store is told when the work has settled (law 8).
//
// A request ends no term but the one that was asked. It names domain, value and bid of that term, and the machine compares all three with its own: a request that
// was delayed, or is shown by a store that still has it from before, finds another token and is not obeyed. A value alone would not do, because values of
// different domains do not compare (law 10): a store that took the place of another counts from 1 again.
// A request is no proof: it extends nothing, and what it does not end stays as it was. An unfenced term has no token, so nobody can ask for its end.
import { becomeEnding, isIn } from "./campaign.ts";
import type { Hold, Token } from "./exchange.ts";
import type { Effect, Machine } from "./state.ts";

/** `asked`: as a keep has shown it. */
export function obeyAll(machine: Machine, asked: readonly Hold[] | undefined, effects: Effect[]): void {
  for (const { name, token } of asked ?? []) {
    const campaign = machine.campaigns.get(name);
    if (campaign === undefined || !isIn(campaign, "leading")) continue;
    if (isSameTerm(campaign.stage.term.hold.token, token)) becomeEnding(campaign, "asked", effects);
  }
}

export function isSameTerm(mine: Token | undefined, asked: Token | undefined): boolean {
  return mine !== undefined && mine.domain === asked?.domain && mine.value === asked.value && mine.bid === asked.bid;
}
