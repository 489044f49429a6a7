// The race: the candidate that first swaps a record that may be replaced holds it. A look finds out whether it may be; only the swap decides.
// Before the first look, and when a hint says that the seat is vacant, a claim asks for it as such (VACANT): most names are free when they are asked for, and
// the answer of a claim that is beaten shows as much as a look.
//
// When a version may be replaced:
//   vacant      at once: it was never held, or given back on purpose
//   mine        at once: an older attempt of this very machine, whose term is over (it would not stand otherwise). With a new bid, so a new token
//   abandoned   at once where terms are fenced; where not, after a quiet period, because statements outlive a process (law 13)
//   held        after silence, where a taker or the kernel judges (law 2). Where the store judges, never: it will show the seat vacant
//   missing     after silence, on every store: a deletion is a forced takeover, and the old holder learns of it only by its next keep (law 14)
//
// LAW 2. Silence starts at the RECEIPT of the first look that showed this version, lasts the RECORDED ttl, and ends in a swap over exactly
//   that version. Any other version starts anew, and so does a restart of this process, because `seen` lives here and nowhere else.
//   Why at most one leads: the swap succeeds only if the version is still the one watched. Every keep of the holder changes the version,
//   and versions never repeat, so the holder's last keep that the store applied was applied before the first look came back. From there
//   law 1 ends its belief no later than silence ends (lease/deadline.ts). Two takers swap over the same version: one of them wins.
//   A claim over VACANT replaces nobody: the store grants it only while the seat is vacant, in the step that finds it so.
// LAW 7. A claim without an answer is sent again with the same bid over the same version, until the answer is definite. One over VACANT that was delayed
//   may be granted after its term has ended: an entry of this session that nobody believes in, and that the next keep shows as a stray.
import { schedule } from "../base/agenda.ts";
import type { Reading } from "../base/clock.ts";
import { nextPollAt, spreadMs } from "./backoff.ts";
import { prefixOf } from "./beats.ts";
import { type CampaignIn, noteSeat } from "./campaign.ts";
import { silenceMs } from "./deadline.ts";
import { type Bid, type Seat, VACANT, type Version } from "./exchange.ts";
import type { Effect, Machine, RacePursuit, StandingStage } from "./state.ts";

/** What a due pursuit does next. `canWin`: a grant could be used now. */
export function nextRaceMove(pursuit: RacePursuit, canWin: boolean, now: Reading): "claim" | "look" {
  if (pursuit.bid !== undefined || (pursuit.hopeful && canWin)) return "claim";
  return now.mono >= (pursuit.seen?.takeAt ?? Infinity) ? "claim" : "look";
}

/** What a new attempt swaps over. */
export function nextOver({ hopeful, seen }: RacePursuit): Version | undefined {
  return hopeful ? VACANT : seen?.version;
}

/**
 * A claim was beaten, and the answer shows the seat. If it shows the very version that the claim was to replace, the store does not give the seat yet
 * (a lock-delay that runs on its clock): asking again at once would go on until it does, so it is asked at the next poll.
 */
export function handleBeaten(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  pursuit: RacePursuit,
  seat: Seat,
  now: Reading,
  effects: Effect[],
): void {
  const isNotYet = pursuit.over === seat.version;
  if (machine.settings.guarantee.wakesAll === true) campaign.lostRaces++;
  handleRaceSeat(machine, campaign, pursuit, seat, now, effects);
  if (isNotYet) schedule(machine.agenda, campaign, nextPollAt(machine, now.mono));
}

/**
 * A hint that shows the seat, of a store that tells everybody at once (`guarantee.wakesAll`): claims are spread (`spreadMs`), and a seat that is held is not looked at,
 * because the hint has shown it. A hint proves nothing: what it saves is only a request, and the next poll looks in any case.
 */
export function hearWithAll(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  pursuit: RacePursuit,
  seat: Seat,
  now: Reading,
  effects: Effect[],
): void {
  const isVacant = seat.state === "vacant";
  if (pursuit.errand !== 0) {
    pursuit.hopeful ||= isVacant;
    pursuit.hinted ||= isVacant;
    return;
  }
  if (pursuit.bid !== undefined || pursuit.failures > 0) return; // an attempt without an answer is sent again when its pause is over
  noteSeat(campaign, seat, effects);
  pursuit.hopeful = isVacant;
  const next = isVacant ? now.mono + spreadMs(machine, campaign.lostRaces) : nextPollAt(machine, now.mono);
  schedule(machine.agenda, campaign, Math.max(next, campaign.stage.notBefore));
}

/** A look, or a lost swap, showed this seat; the answer has just been received. */
export function handleRaceSeat(
  machine: Machine,
  campaign: CampaignIn<StandingStage>,
  pursuit: RacePursuit,
  seat: Seat,
  now: Reading,
  effects: Effect[],
): void {
  noteSeat(campaign, seat, effects);
  const { seen, hinted } = pursuit;
  pursuit.hopeful &&= hinted;
  pursuit.hinted = false;
  if (seen === undefined || seen.version !== seat.version)
    pursuit.seen = { version: seat.version, takeAt: takeAtMs(machine, seat, now) };
  // A death is noticed without a write, so the version stays: it can only bring the instant forward.
  else if (seat.state === "abandoned")
    pursuit.seen = { ...seen, takeAt: Math.min(seen.takeAt, takeAtMs(machine, seat, now)) };
  const takeAt = pursuit.seen?.takeAt ?? Infinity;
  if (takeAt > now.mono)
    effects.push({ type: "contested", name: campaign.name }, { type: "watch", question: { name: campaign.name } });
  const next = hinted ? now.mono : Math.min(takeAt, nextPollAt(machine, now.mono));
  schedule(machine.agenda, campaign, Math.max(now.mono, next));
}

/** On the monotonic hand: from when on this version, first seen now, may be swapped over. */
function takeAtMs(machine: Machine, seat: Seat, now: Reading): number {
  const { guarantee, margins, quietMs } = machine.settings;
  if (seat.state === "vacant" || isOwn(machine, seat.holder?.bid)) return now.mono;
  if (seat.state === "abandoned") return guarantee.fencing === "fenced" ? now.mono : now.mono + quietMs;
  if (seat.state === "held" && guarantee.judge !== "taker" && guarantee.judge !== "kernel") return Infinity;
  if (seat.heldUntilMs !== undefined) return seat.heldUntilMs + margins.grain.monoMs;
  return now.mono + silenceMs(seat.ttlMs ?? Infinity, margins);
}

/**
 * An attempt of this machine; of this process and no other, since the nonce is. Where the store refuses clones, of this session: another copy of this process has the
 * same nonce, and its seat is no seat of ours.
 */
function isOwn(machine: Machine, bid: Bid | undefined): boolean {
  return bid !== undefined && bid.startsWith(`${prefixOf(machine)}.`);
}
