// Pauses between tries: they grow, have jitter so that many candidates do not beat in step, and take the machine's own randomness.
import { nextBetween } from "../base/rng.ts";
import type { Machine } from "./state.ts";

const FIRST_RETRY_MS = 20;

/** After `failures` failures in a row. Never longer than a quarter of the ttl, so that a term can be saved by a later try. */
export function retryAfterMs(machine: Machine, failures: number): number {
  const longest = Math.min(5000, machine.settings.ttlMs / 4);
  return jittered(machine, Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)));
}

/** After a lost term. Doubles while terms stay shorter than a ttl, so that a storm of losses dies down. */
export function coolDownAfterMs(machine: Machine, shortTerms: number): number {
  const { coolDownMs, ttlMs } = machine.settings;
  return jittered(machine, Math.min(ttlMs, coolDownMs * 2 ** Math.min(shortTerms, 10)));
}

/**
 * After a term that was given up on request. In a race the first claim wins, so the old leader stays away until every candidate with its settings has
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
  // On the beat itself rounding may give this very instant again.
  return next - nowMs < pollMs / 100 ? next + pollMs : next;
}

function jittered(machine: Machine, ms: number): number {
  return ms * nextBetween(machine.rng, 0.5, 1);
}
