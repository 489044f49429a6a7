// Deadline arithmetic, and nothing else: when a holder stops believing (law 1), how long a taker waits (law 2), and that sleep counts (law 4).
//
// ρ bounds how far a running clock's rate is from real time; g how far a hand may lag behind the true instant (base/clock.ts).
//
// LAW 1, deadline from send.   believes until   D = ttl·(1−ρ)/(1+ρ) − g − extra   after `sentAt`, on the holder's clock.
//   Argument: the keep was sent at true time s and reached the judge at c ≥ s. The judge counts ttl on its own clock, whose rate is at
//   most 1+ρ, so it frees nothing before c + ttl/(1+ρ). The holder's clock runs at least at 1−ρ, so that D + g of its milliseconds are at
//   most (D+g)/(1−ρ) ≤ ttl/(1+ρ) of true time; g pays for the hand that lags when the check is made. Hence the holder has stopped
//   believing at s + ttl/(1+ρ) ≤ c + ttl/(1+ρ). The argument needs a judge that counts from receipt, on a clock that neither jumps nor
//   forgets, and that nothing else ends the lease early: `Guarantee.judge` and `earlyEnds` say whether that holds.
//
// LAW 2, the taker's silence.  W = ttl·(1+2ρ) + g   on the taker's monotonic hand, from the RECEIPT of the first look that showed the version.
//   Argument: that version was written at c, before the receipt r. The taker's clock runs at most at 1+ρ and its hand lagged by at most g at
//   r, so the silence ended no earlier than r + ttl·(1+2ρ)/(1+ρ) ≥ c + ttl/(1+ρ): the taker is a judge as law 1 wants one, with 2ρ to spare.
//
// LAW 4, suspend counts. The deadline stands on both hands; the hand that passes it first ends the term.
import type { Grain, Reading } from "../base/clock.ts";

export interface Margins {
  /** Bound on the relative error of a running clock's rate. */
  readonly rho: number;
  readonly grain: Grain;
  readonly extraMarginMs: number;
}

/** How long a holder may believe after the send of a proven keep, before grain is taken off. */
function beliefMs(ttlMs: number, margins: Margins): number {
  return (ttlMs * (1 - margins.rho)) / (1 + margins.rho) - margins.extraMarginMs;
}

/** The deadline counts from the send (law 1), on both hands of the clock. */
export function deadlineOf(sentAt: Reading, ttlMs: number, margins: Margins): Reading {
  const belief = beliefMs(ttlMs, margins);
  return {
    mono: sentAt.mono + belief - margins.grain.monoMs,
    boot: sentAt.boot + belief - margins.grain.bootMs,
  };
}

/** The shortest belief a keep can give: what settings must fit renewals and drain into. */
export function shortestBeliefMs(ttlMs: number, margins: Margins): number {
  return beliefMs(ttlMs, margins) - Math.max(margins.grain.monoMs, margins.grain.bootMs);
}

/** A rival waits for a full ttl of silence (law 2): how long a taker watches an unchanged version before it may swap over it. */
export function silenceMs(recordedTtlMs: number, margins: Margins): number {
  return recordedTtlMs * (1 + 2 * margins.rho) + margins.grain.monoMs;
}

/** An instant that neither hand reaches, and one that both have passed. */
export const NEVER: Reading = { mono: Infinity, boot: Infinity };
export const AT_ONCE: Reading = { mono: -Infinity, boot: -Infinity };

/** On each hand the one that comes first: before this, neither of the two is past. */
export function firstOf(a: Reading, b: Reading): Reading {
  return { mono: Math.min(a.mono, b.mono), boot: Math.min(a.boot, b.boot) };
}

/** Sleep counts (law 4): an instant is past as soon as either hand has passed it. */
export function isPast(instant: Reading, now: Reading): boolean {
  return now.mono >= instant.mono || now.boot >= instant.boot;
}

/** Boot time has gone further than the monotonic hand since then, by more than both could lag: the host slept. For the reason only. */
export function sleptSince(then: Reading, now: Reading, grain: Grain): boolean {
  return now.boot - then.boot - (now.mono - then.mono) > 2 * (grain.monoMs + grain.bootMs);
}

/** Milliseconds until `instant`, on the hand that is nearer; 0 when past. */
export function remainingMs(instant: Reading, now: Reading): number {
  return Math.max(0, Math.min(instant.mono - now.mono, instant.boot - now.boot));
}

/** Sleep counts (law 4): how long ago `then` was, on the hand that has gone further. */
export function elapsedMs(then: Reading, now: Reading): number {
  return Math.max(now.mono - then.mono, now.boot - then.boot);
}

export function earlier(instant: Reading, byMs: number): Reading {
  return { mono: instant.mono - byMs, boot: instant.boot - byMs };
}

/** Hands never go back, so of two readings of one clock the later has no hand behind and one ahead; a coarse hand may show both the same. */
export function isLater(a: Reading, b: Reading): boolean {
  return a.mono > b.mono || a.boot > b.boot;
}

/** The one of two readings of one clock that was taken first. */
export function earlierOf(a: Reading, b: Reading): Reading {
  return isLater(b, a) ? a : b;
}

export function later(instant: Reading, byMs: number): Reading {
  return { mono: instant.mono + byMs, boot: instant.boot + byMs };
}
