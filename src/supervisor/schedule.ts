// When a child must be told to stop, and when it must be gone: arithmetic only. Instants are absolute, on both clocks, because a duration becomes
// wrong while it waits in a pipe.
//
//   signal of the term        deadline − warningMs          the supervisor sends SIGTERM; with no drain at all, SIGKILL
//   termAt                    a little later                the keeper sends it, if the supervisor has not
//   killAt                    deadline − killGraceMs        SIGKILL from both
//   deadline                  no process of the group may run any more
//
// INVARIANT  termAt ≤ killAt < deadline
import type { Reading } from "../base/clock.ts";

export interface Instants {
  readonly termAt: Reading;
  readonly killAt: Reading;
  readonly deadline: Reading;
}

/** The time from SIGKILL to the deadline, for a late timer, and for the kernel to end the processes. */
const GRACE_LEAST_MS = 20;
const GRACE_MOST_MS = 500;
/** How long a running supervisor has to send SIGTERM itself: some programs take a second SIGTERM for impatience. */
const SUPERVISOR_FIRST_MS = 100;

export function killGraceMs(drainMs: number): number {
  return Math.min(GRACE_MOST_MS, Math.max(GRACE_LEAST_MS, drainMs / 4));
}

/** How long before its deadline the term's own signal must come. With no time for SIGTERM there must still be some for SIGKILL. */
export function warningMs(drainMs: number): number {
  return Math.max(drainMs, killGraceMs(drainMs));
}

/** `now` was read before `remainingMs` was asked for, so the instants come early rather than late. */
export function instantsOf(now: Reading, remainingMs: number, drainMs: number): Instants {
  const graceMs = killGraceMs(drainMs);
  const killInMs = remainingMs - graceMs;
  const termInMs = remainingMs - drainMs + Math.min(SUPERVISOR_FIRST_MS, drainMs / 4);
  const termAt = later(now, Math.min(termInMs, killInMs));
  return { termAt, killAt: later(now, killInMs), deadline: later(now, remainingMs) };
}

/** As for a term, an instant is past when either clock has passed it (a suspended host stops one of them). */
export function isPast(now: Reading, instant: Reading): boolean {
  return now.mono >= instant.mono || now.boot >= instant.boot;
}

export function msUntil(now: Reading, instant: Reading): number {
  return Math.max(0, Math.min(instant.mono - now.mono, instant.boot - now.boot));
}

export function later(now: Reading, ms: number): Reading {
  return { mono: now.mono + ms, boot: now.boot + ms };
}
