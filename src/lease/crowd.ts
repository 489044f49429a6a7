// Many names at once: how many claims are under way together. A candidate that stands for ten thousand names in one moment would otherwise hand the store
// ten thousand claims that share one patience, and its renewal would wait behind them. So claims go out in requests of a few hundred, of which a few are under
// way; each has its own patience, and the names behind them wait here, where nothing of theirs has been sent.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import type { Claim } from "./exchange.ts";
import type { Campaign, Machine } from "./state.ts";

const CLAIMS_UNDER_WAY = 1024;
const CLAIMS_PER_REQUEST = 256;

/** Whether another claim may be sent, where `more` are about to be. */
export function hasRoom(machine: Machine, more: number): boolean {
  return machine.claimsUnderWay + more < CLAIMS_UNDER_WAY;
}

/** The campaign waits until claims have been answered. */
export function park(machine: Machine, campaign: Campaign): void {
  machine.parked.add(campaign);
}

/** So many claims were answered, one way or another: names that waited for them are due. */
export function makeRoom(machine: Machine, answered: number, now: Reading): void {
  machine.claimsUnderWay -= answered;
  let room = CLAIMS_UNDER_WAY - machine.claimsUnderWay;
  for (const campaign of machine.parked) {
    if (room-- <= 0) return;
    machine.parked.delete(campaign);
    // A campaign that is no longer wanted, or is on the agenda for another reason, is left as it is.
    if (machine.campaigns.get(campaign.name) === campaign && campaign.stage.kind === "standing" && campaign.place < 0)
      schedule(machine.agenda, campaign, now.mono);
  }
}

export function requestsOf(claims: readonly Claim[]): readonly (readonly Claim[])[] {
  if (claims.length <= CLAIMS_PER_REQUEST) return claims.length === 0 ? [] : [claims];
  const requests: (readonly Claim[])[] = [];
  for (let at = 0; at < claims.length; at += CLAIMS_PER_REQUEST)
    requests.push(claims.slice(at, at + CLAIMS_PER_REQUEST));
  return requests;
}
