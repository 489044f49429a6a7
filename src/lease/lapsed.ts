// Sessions whose deadline has passed here, and which the store may still know: after an outage it counts them anew, and every candidate that stands, this one too,
// would wait for a whole ttl. So each is ended at the store, as soon as that is allowed, and again until the store has answered.
//
// LAW 8: drain, then release. Ending a session frees its seats, so the work of its terms must have ended before:
//   - no term of it has unsettled work: `works` counts them, from the loss to the `settle` of each;
//   - and `drainMs` have passed since the loss. A term of `campaign` or `start` is settled by its loss, because nobody tells us when its user has stopped.
//     Its signal aborted no later than at the loss, and the drain is what users are promised for stopping: so they have had all of it, also where the
//     loop was blocked and signal and loss came together. A session of which nothing was held has nobody to wait for.
//   Until then it is left to run out at the store, as the session of a process that has died.
//
// Why two cannot lead: a deadline counts from the send (law 1), so nobody here believes in a term of a lapsed session; nothing extends it
// (`session.opened` is another), and the request names that
// session alone, so that it cannot touch what a later session holds. An old request that is still on its way is refused once the session is ended.
import type { Reading } from "../base/clock.ts";
import type { Released } from "./exchange.ts";
import { retryAfterMs } from "./backoff.ts";
import { send } from "./report.ts";
import type { Effect, LapsedSession, Machine, Open } from "./state.ts";

/** A machine loses its sessions one after the other; earlier ones have run out at the store in any case. */
const LAPSED_MAX = 3;

/** The deadline of `open` has passed; `works` of its terms have not settled. */
export function noteLapsed(machine: Machine, open: Open, works: number, now: Reading): void {
  const notBefore = works === 0 ? now.mono : now.mono + machine.settings.drainMs;
  const { opened, session } = open;
  machine.lapsed.push({ opened, session, works, notBefore, endAt: notBefore, errand: 0, failures: 0 });
  if (machine.lapsed.length > LAPSED_MAX) machine.lapsed.shift();
}

/** Work of a lost term of session `opened` has settled. */
export function noteSettled(machine: Machine, opened: number): void {
  for (const lapsed of machine.lapsed) if (lapsed.opened === opened) lapsed.works--;
}

/** The store answers again: the request is sent without a pause. */
export function hastenLapsed(machine: Machine, now: Reading): void {
  for (const lapsed of machine.lapsed) lapsed.endAt = Math.max(now.mono, lapsed.notBefore);
}

export function nextLapsedAt(machine: Machine): number {
  let next = Infinity;
  for (const lapsed of machine.lapsed) if (mayEnd(lapsed)) next = Math.min(next, lapsed.endAt);
  return next;
}

export function endLapsed(machine: Machine, now: Reading, effects: Effect[]): void {
  for (const lapsed of machine.lapsed) {
    if (!mayEnd(lapsed) || now.mono < lapsed.endAt) continue;
    const { opened, session } = lapsed;
    const errand = { kind: "release", opened, holds: [], last: false } as const;
    const request = { method: "release", will: { session, holds: [], endSession: true } } as const;
    lapsed.errand = send(machine, errand, machine.settings.pace.requestTimeoutMs, request, effects);
  }
}

function mayEnd({ works, errand }: LapsedSession): boolean {
  return works === 0 && errand === 0;
}

/** The store's answer to the end of lapsed session `opened`: it is over, or the request is sent again. If the store will never accept it, the session runs out by itself. */
export function handleLapsed(machine: Machine, opened: number, answer: Released, now: Reading): void {
  const index = machine.lapsed.findIndex((lapsed) => lapsed.opened === opened);
  const lapsed = machine.lapsed[index];
  if (lapsed === undefined) return;
  if (answer.kind === "released" || (answer.kind === "refused" && !answer.retryable)) {
    machine.lapsed.splice(index, 1);
    return;
  }
  lapsed.errand = 0;
  lapsed.endAt = now.mono + retryAfterMs(machine, ++lapsed.failures);
}
