// How the leader makes an old primary harmless, as a part of its machine (machine.ts). Pure.
//
//   guards alone       the seat `primary/NAME` is asked for; granted, it is the fence
//   device and guards  the machine is shot; then the seat is asked for. The seat is a fence by itself, under the assumptions of `conclave run`; so a shot that failed is told, and the seat is asked for all the same,
//                      unless the operator has said that the device is required (`isRequired`: hosts that may be suspended as a whole)
//   device alone       the machine is shot. Only a verified off is a fence
//   neither            the operator has said --unfenced
//
// SAFETY: what failed, and what nobody knows, is no fence. `verified` is believed only as the answer to a shot of this very term, after `fencing` was written: what an earlier leader has verified stands in the record for
// people alone, because somebody may have powered the machine on since.
//
// Why a shot that comes too late makes no second primary, although the machines that it may hit are not banned: a shot promotes nobody. It ends whatever runs on that machine, and the next leader chooses only after a fence
// of its own. What it can cost is a failover that was not needed: the machine was powered off, was verified by another leader, was started again by a human, its server became the primary, and then it is hit again.
// So a late shot is made as rare as it can be: right before each start of an agent the record is read, and must still say that this server is being fenced in this epoch; then the term is asked by the clock; and agents are
// killed before the deadline of the term, by this process or by their keeper (src/stonith/agents.ts). What remains is a command that a BMC or a cloud API has taken already, and a monitor whose whole machine stands
// still while its agent runs, and wakes later. A guarded election bans the node for this (docs/adr/0060-bans.md), because its leader may be the node that is hit at work which nothing else protects; here the
// work is a server that may crash at any time, and whose crash the failover exists for.
import { assert } from "../base/assert.ts";
import type { Order } from "./orders.ts";
import type { FailoverRecord, FencedBy } from "./record.ts";
import { isOwn, openShot, problemsOf, withOutcome, withShot } from "./shots.ts";
import { ignored, tell, tellOnce, write } from "./stepping.ts";
import type { Acting, FailoverPlan, FenceReport, Moment, ShotRules, Stepped } from "./words.ts";

/** `isDue`: the pause after a shot in vain is over. */
export function startFence(plan: FailoverPlan, acting: Acting, now: Moment, isDue: boolean): Stepped {
  const { step } = acting.record;
  assert(step.at === "fencing", "only what is being fenced is fenced");
  const { shots } = plan;
  if (shots !== undefined && step.from !== undefined) return aim(plan, shots, acting, step.from, now, isDue);
  if (plan.hasGuards) return takeSeat(acting);
  // Nobody was ever primary, or the operator has said --unfenced.
  return write(chosenAfter(acting.record, "nothing"), acting.errand);
}

function takeSeat(acting: Acting): Stepped {
  return { state: acting, effects: [{ type: "take-seat", errand: acting.errand }] };
}

/** The shot is written down first, then it is fired. */
function aim(
  plan: FailoverPlan,
  rules: ShotRules,
  acting: Acting,
  server: string,
  now: Moment,
  isDue: boolean,
): Stepped {
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

/** A rule forbids the shot. The seat is a fence too, where that is enough; else another monitor may shoot, or a limit passes, or a human acts. */
function refuseShot(
  plan: FailoverPlan,
  rules: ShotRules,
  acting: Acting,
  server: string,
  problems: readonly string[],
  now: Moment,
): Stepped {
  const why = `the machine of ${server} is not powered off: ${problems.join("; ")}`;
  if (isSeatEnough(plan)) return tell(takeSeat(acting), { is: "refused", why });
  if (isOwn(rules, server)) return giveUp(acting, why);
  return tellOnce({ ...acting, wakeMs: now.nowMs + rules.limits.retryMaxMs }, { is: "refused", why });
}

/** Another monitor may have another way to the device, and another machine. */
function giveUp(acting: Acting, why: string): Stepped {
  return tell(
    { state: acting, effects: [{ type: "resign" }] },
    { is: "waiting", why: `${why}: another monitor has to` },
  );
}

function isSeatEnough({ hasGuards, shots }: FailoverPlan): boolean {
  return hasGuards && shots?.isRequired !== true;
}

/** What came of a shot. */
export function fenced(plan: FailoverPlan, acting: Acting, heard: FenceReport): Stepped {
  const { record, errand, vain } = acting;
  if (record.step.at !== "fencing") return ignored(acting);
  const server = record.step.from ?? "";
  const { outcome, said } = heard;
  const after: Acting = { ...acting, errand: errand + 1, heard };
  if (outcome === "verified") {
    const next = plan.hasGuards ? takeSeat(after) : write(chosenAfter(withOutcome(record, heard), "stonith"), errand);
    return tell(next, { is: "powered-off", server, said });
  }
  // SAFETY: no fence. The seat alone is one, where guards hold it and nothing more was asked for.
  const next = isSeatEnough(plan) ? takeSeat(after) : write(withOutcome(record, heard), errand, vain + 1);
  return tell(next, { is: "not-fenced", server, outcome, said });
}

/** SAFETY: granted to this leader, in this term, after `fencing` was written: the term of whoever held the seat is over, and its service with it. */
export function seatTaken({ record, errand, heard }: Acting): Stepped {
  const fencedBy = heard?.outcome === "verified" ? "stonith and seat" : "seat";
  return write(chosenAfter(withOutcome(record, heard), fencedBy), errand);
}

/**
 * A human says that the machine is off. SAFETY: of this server in this change: what was said of an earlier one is nothing. Where guards hold the seat it is asked for all the same. An order
 * that is about something else is answered when the change is over.
 */
export function confirmed(
  plan: FailoverPlan,
  acting: Acting,
  { id, server, epoch }: Extract<Order, { kind: "confirm" }>,
): Stepped {
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
