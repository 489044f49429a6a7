// Many names at once: how many claims are under way together. A candidate that stands for ten thousand names in one moment would otherwise hand the store
// ten thousand claims that share one patience, and its renewal would wait behind them. So claims go out in requests of a few hundred, of which a few are under
// way; each has its own patience, and the names behind them wait here, where nothing of theirs has been sent.
//
// How many are under way depends on how quickly the store answers. The work that it has before it is what a renewal has to wait for, and stores differ: etcd with users looks at
// every key of a lease whenever it adds one (docs/stores/etcd.md), so that the same request takes it longer and longer. The window begins small. An answer that
// comes quickly lets more out, up to a limit; one that took long halves the window. And where the window is small, a renewal that is under way has precedence: no claim is sent
// before it is answered. All of this decides when a claim is sent, and nothing else.
//
//   INVARIANT  1 ≤ window ≤ CLAIMS_UNDER_WAY      so that parked names go on whenever nothing is under way
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import type { Claim } from "./exchange.ts";
import type { Campaign, Errand, Machine } from "./state.ts";

const CLAIMS_UNDER_WAY = 1024;
const CLAIMS_PER_REQUEST = 256;
const FIRST_WINDOW = 128;
/** So many requests share a window, so that one is on its way while another is answered. */
const REQUESTS_IN_A_WINDOW = 4;
/** Of a request's patience. A renewal may be several requests one after the other, and has the same patience for all of them. */
const QUICK = 1 / 16;
const SLOW = 1 / 6;

export interface Crowd {
  /** Names in claims without an answer. */
  underWay: number;
  /** So many may be. */
  window: number;
  /** When the window was last made smaller, on the monotonic hand. */
  narrowedAt: number;
  /** Names that wait until fewer are under way. */
  readonly parked: Set<Campaign>;
}

export function createCrowd(): Crowd {
  return { underWay: 0, window: FIRST_WINDOW, narrowedAt: -Infinity, parked: new Set() };
}

/** Whether another claim may be sent, where `more` are about to be. A claim that would be the only one under way holds nothing up, and a candidate for one name is no crowd: it never waits for a renewal. */
export function hasRoom({ crowd, session }: Machine, more: number): boolean {
  if (crowd.underWay + more === 0) return true;
  const isRenewing = session.kind === "open" && session.errand !== 0;
  return crowd.underWay + more < crowd.window && !(isRenewing && crowd.window < FIRST_WINDOW);
}

/** The campaign waits until claims have been answered. */
export function park({ crowd }: Machine, campaign: Campaign): void {
  crowd.parked.add(campaign);
}

type SentClaims = Pick<Extract<Errand, { kind: "claim" }>, "bids" | "sentAt" | "patienceMs">;

/** Claims were answered, one way or another. */
export function noteAnswered({ crowd }: Machine, { bids, sentAt, patienceMs }: SentClaims, now: Reading): void {
  crowd.underWay -= bids.length;
  const tookMs = now.mono - sentAt.mono;
  if (tookMs <= patienceMs * QUICK) crowd.window = Math.min(CLAIMS_UNDER_WAY, crowd.window + bids.length);
  // Those that were sent before the window was last narrowed have waited for one another: they do not narrow it again.
  else if (tookMs > patienceMs * SLOW && sentAt.mono >= crowd.narrowedAt) {
    crowd.window = Math.max(1, Math.floor(crowd.window / 2));
    crowd.narrowedAt = now.mono;
  }
}

/** Claims, or a renewal, were answered: names that waited for that are due. */
export function makeRoom(machine: Machine, now: Reading): void {
  const { crowd } = machine;
  let room = crowd.window - crowd.underWay;
  for (const campaign of crowd.parked) {
    if (room-- <= 0) return;
    crowd.parked.delete(campaign);
    // A campaign that is no longer wanted, or is on the agenda for another reason, is left as it is.
    if (machine.campaigns.get(campaign.name) === campaign && campaign.stage.kind === "standing" && campaign.place < 0)
      schedule(machine.agenda, campaign, now.mono);
  }
}

export function requestsOf({ crowd, settings }: Machine, claims: readonly Claim[]): readonly (readonly Claim[])[] {
  const { claimsPerRequest = CLAIMS_PER_REQUEST } = settings.guarantee;
  const most = Math.min(claimsPerRequest, Math.ceil(crowd.window / REQUESTS_IN_A_WINDOW));
  if (claims.length <= most) return claims.length === 0 ? [] : [claims];
  const requests: (readonly Claim[])[] = [];
  for (let at = 0; at < claims.length; at += most) requests.push(claims.slice(at, at + most));
  return requests;
}
