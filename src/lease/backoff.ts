// Pauses between tries: they grow, have jitter so that many candidates do not beat in step, and take the machine's own randomness.
import { nextBetween, nextFraction } from "../base/rng.ts";
import type { Machine } from "./state.ts";

const FIRST_RETRY_MS = 20;

/** The pause after `failures` failures in a row. Never longer than a quarter of the ttl, so that a term can be saved by a later try. */
export function retryAfterMs(machine: Machine, failures: number): number {
  const longest = Math.min(5000, machine.settings.ttlMs / 4);
  return jittered(machine, Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)));
}

/** The pause after a lost term. It doubles while terms stay shorter than a ttl, so that a storm of losses dies down. */
export function coolDownAfterMs(machine: Machine, shortTerms: number): number {
  const { coolDownMs, ttlMs } = machine.settings;
  return jittered(machine, Math.min(ttlMs, coolDownMs * 2 ** Math.min(shortTerms, 10)));
}

/**
 * Before a claim for a seat whose vacancy everybody was told of at once (`guarantee.wakesAll`). If all claimed at once, all but one would be beaten, each with a write for the store to refuse.
 * So a claim that was beaten makes the next one wait for longer, up to the cool-down, somewhere from nothing on: of many who wait somebody is early, and the
 * others hear that the seat is taken before they have asked for it. A candidate without rivals is never beaten, and never waits.
 */
export function spreadMs(machine: Machine, lostRaces: number): number {
  if (lostRaces === 0) return 0;
  const longest = Math.min(machine.settings.coolDownMs, FIRST_RETRY_MS * 2 ** Math.min(lostRaces, 10));
  return longest * nextFraction(machine.rng);
}

/**
 * After a term that was given up on request, or because it had had its time. In a race the first claim wins, so the old leader stays away until every candidate with its settings has
 * looked once and had time to claim; in a line the others stand before it anyway. If nobody else stands, it leads again after this.
 */
export function yieldMs({ settings: { guarantee, pollMs, ttlMs } }: Machine): number {
  return guarantee.shape === "race" ? Math.min(1.5 * pollMs, ttlMs) : 0;
}

/** The next look of a waiting candidate, in step with the other looks of this machine (one batch), out of step with other machines. */
export function nextPollAt(machine: Machine, nowMs: number): number {
  const { pollMs } = machine.settings;
  const phaseMs = machine.pollPhase * pollMs;
  const next = (Math.floor((nowMs - phaseMs) / pollMs) + 1) * pollMs + phaseMs;
  // At the very instant of a look, rounding may give this instant again.
  return next - nowMs < pollMs / 100 ? next + pollMs : next;
}

function jittered(machine: Machine, ms: number): number {
  return ms * nextBetween(machine.rng, 0.5, 1);
}
