// The part of the leader's machine (machine.ts) that makes an old primary harmless. Pure.
//
//   guards alone       The leader asks for the seat `primary/NAME`. When the seat is granted, it is the fence
//   device and guards  The machine is shot, and then the leader asks for the seat. The seat is a fence by itself, under the assumptions of `conclave run`. So a shot that failed is reported, and the leader asks for the seat
//                      all the same, unless the operator has said that the device is required (`isRequired`, for hosts that may be suspended as a whole)
//   device alone       The machine is shot. Only a verified power-off is a fence
//   neither            The operator has said --unfenced
//
// SAFETY: a shot that failed, or whose outcome is unknown, is no fence. `verified` is believed only as the answer to a shot of this very term, after `fencing` was written. The verification of an earlier leader stands in
// the record only for people to read, because somebody may have powered the machine on since.
//
// Why a shot that comes too late makes no second primary, although the machine that it may hit is not banned: a shot promotes no server. It ends everything that runs on that machine, and the next leader chooses only after
// a fence of its own. A late shot can cost a failover that was not needed: the machine was powered off, this was verified by another leader, a human started it again, its server became the primary, and then it is hit again.
// So late shots are made as rare as possible. Right before each start of an agent the record is read, and must still say that this server is being fenced in this epoch. Then the term is checked by the clock. Agents are
// killed before the deadline of the term, by this process or by their keeper (src/stonith/agents.ts). Two cases remain: a command that a BMC or a cloud API has accepted already, and a monitor whose whole machine stands
// still while its agent runs, and wakes later. A guarded election bans the node for this (docs/adr/0060-bans.md), because its leader may be the node that is hit during work which nothing else protects. Here the
// work is a server that may crash at any time, and failover exists for such a crash.
import { assert } from "../base/assert.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord, FencedBy } from "./record.ts";
import { isOwn, openShot, problemsOf, withOutcome, withShot } from "./shots.ts";
import { ignored, tell, tellOnce, write } from "./stepping.ts";
import type { Acting, FailoverPlan, FenceReport, FailoverMoment, ShotRules, FailoverStepped } from "./state.ts";

/** `isDue`: the pause after an unsuccessful shot is over. */
export function startFence(plan: FailoverPlan, acting: Acting, now: FailoverMoment, isDue: boolean): FailoverStepped {
  const { step } = acting.record;
  assert(step.at === "fencing", "only what is being fenced is fenced");
  const { shots } = plan;
  if (shots !== undefined && step.from !== undefined) return aim(plan, shots, acting, step.from, now, isDue);
  if (plan.hasGuards) return takeSeat(acting);
  // No server was ever primary, or the operator has said --unfenced.
  return write(chosenAfter(acting.record, "nothing"), acting.errand);
}

function takeSeat(acting: Acting): FailoverStepped {
  return { state: acting, effects: [{ type: "take-seat", errand: acting.errand }] };
}

/** The shot is written down first, then it is fired. */
function aim(
  plan: FailoverPlan,
  rules: ShotRules,
  acting: Acting,
  server: string,
  now: FailoverMoment,
  isDue: boolean,
): FailoverStepped {
  const { record, errand, vain } = acting;
  const { retryMs, retryMaxMs, attemptsMax } = rules.limits;
  const isOpen = openShot(record) !== undefined;
  const problems = isOwn(rules, server) || !isOpen ? problemsOf(rules, record, server, now) : [];
  if (problems.length > 0) return refuseShot(plan, rules, acting, server, problems, now);
  if (!isOpen) return write(withShot(rules, record, server, now), errand);
  if (vain >= attemptsMax) return giveUp(acting, `the machine of ${server} could not be verified to be off from here`);
  if (vain > 0 && !isDue)
    return ignored({ ...acting, wakeMs: now.nowMs + Math.min(retryMaxMs, retryMs * 2 ** (vain - 1)) });
  return { state: acting, effects: [{ type: "fence", server, errand }] };
}

/** A limit forbids the shot. The seat is a fence too, where that is enough. Otherwise another monitor may shoot, the limit may pass, or a human may act. */
function refuseShot(
  plan: FailoverPlan,
  rules: ShotRules,
  acting: Acting,
  server: string,
  problems: readonly string[],
  now: FailoverMoment,
): FailoverStepped {
  const why = `the machine of ${server} is not powered off: ${problems.join("; ")}`;
  if (isSeatEnough(plan)) return tell(takeSeat(acting), { is: "refused", why });
  if (isOwn(rules, server)) return giveUp(acting, why);
  return tellOnce({ ...acting, wakeMs: now.nowMs + rules.limits.retryMaxMs }, { is: "refused", why });
}

/** Another monitor may reach the device in another way, and runs on another machine. */
function giveUp(acting: Acting, why: string): FailoverStepped {
  return tell(
    { state: acting, effects: [{ type: "resign" }] },
    { is: "waiting", why: `${why}: another monitor has to` },
  );
}

function isSeatEnough({ hasGuards, shots }: FailoverPlan): boolean {
  return hasGuards && shots?.isRequired !== true;
}

/** Handles the outcome of a shot. */
export function fenced(plan: FailoverPlan, acting: Acting, heard: FenceReport): FailoverStepped {
  const { record, errand, vain } = acting;
  if (record.step.at !== "fencing") return ignored(acting);
  const server = record.step.from ?? "";
  const { outcome, said } = heard;
  const after: Acting = { ...acting, errand: errand + 1, heard };
  if (outcome === "verified") {
    const next = plan.hasGuards ? takeSeat(after) : write(chosenAfter(withOutcome(record, heard), "stonith"), errand);
    return tell(next, { is: "powered-off", server, said });
  }
  // SAFETY: this shot is no fence. The seat alone is one, where guards hold it and the device is not required.
  const next = isSeatEnough(plan) ? takeSeat(after) : write(withOutcome(record, heard), errand, vain + 1);
  return tell(next, { is: "not-fenced", server, outcome, said });
}

/** SAFETY: the seat was granted to this leader, in this term, after `fencing` was written. So the term of the guard that held the seat before is over, and its service has ended with it. */
export function seatTaken({ record, errand, heard }: Acting): FailoverStepped {
  const fencedBy = heard?.outcome === "verified" ? "stonith and seat" : "seat";
  return write(chosenAfter(withOutcome(record, heard), fencedBy), errand);
}

/**
 * A human says that the machine is off. SAFETY: this counts only for this server in this change, because a confirmation of an earlier change says nothing about now. Where guards hold the seat, the leader asks for the seat
 * all the same. An order about something else is answered when the change is over.
 */
export function confirmed(
  plan: FailoverPlan,
  acting: Acting,
  { id, server, epoch }: Extract<Order, { kind: "confirm" }>,
): FailoverStepped {
  const { record, errand } = acting;
  const { step } = record;
  if (step.at !== "fencing" || step.from !== server || record.epoch !== epoch) return ignored(acting);
  const order = { id, said: `${server} is taken for off, as you have said`, isDone: true };
  const answered: FailoverRecord = { ...record, order };
  if (!plan.hasGuards) return write(chosenAfter(answered, "human"), errand);
  return takeSeat({ ...acting, record: answered, errand: errand + 1, wakeMs: Infinity, heard: undefined });
}

function chosenAfter(record: FailoverRecord, fencedBy: FencedBy): FailoverRecord {
  const { step } = record;
  if (step.at === "handing-over") {
    const wish = { server: step.to, isForced: false };
    return { ...record, step: { at: "choosing", why: "order", from: step.from, wish, fencedBy } };
  }
  assert(step.at === "fencing", "a choice follows a fence");
  return { ...record, step: { at: "choosing", why: step.why, from: step.from, wish: step.wish, fencedBy } };
}
