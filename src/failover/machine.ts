// The leader of the monitors, as a pure machine. It decides what to do now, from the record, from what was seen and from the answers. It reads no clock, sets no timer and speaks to nobody: a host
// (src/failover/conductor.ts, or a simulated world) carries out its effects and tells it the results.
//
//   away       there is no term: nothing is known, nothing is done
//   reading    the record was asked for; everything that an earlier term knew of it is forgotten
//   writing    a record was sent. If no answer comes, the same record is sent again, and nothing else is done
//   acting     the record is stored; the machine now does what the step of the record says
//
// Why there are never two writable primaries, given a fence (docs/FAILOVER.md): a server becomes writable only while the record says `promoting` and names it, and only while its guard holds the seat or,
// without guards, by the effect `promote`. `promoting` is written only over `choosing`. `choosing` is written only on the answer to a fence that was asked for in this term after `fencing` was written: either the seat was
// granted to this leader, so that the term of the guard before is over, or a device has verified that the machine is off (fencing.ts). The store refuses the record of a leader that was replaced.
// So between two servers that are writable there is always a fence of the first. A leader that dies between two steps leaves a record from which the next leader continues: each step can be done twice.
//
// Positions are read after the fence because they change until then. The survey is an effect of entering `choosing`, and only an answer to that very survey counts.
import { unreachable } from "../base/assert.ts";
import { type Choice, choose, type Views } from "./choice.ts";
import { confirmed, fenced, seatTaken, startFence } from "./fencing.ts";
import { decideOrder } from "./orders.ts";
import { type FailoverRecord, firstRecord, type Step, withHistory } from "./record.ts";
import { isDeviceAlone, openShot, withBack } from "./shots.ts";
import { ignored, tell, tellOnce, write } from "./stepping.ts";
import { heedStrays, isSettled } from "./strays.ts";
import { afterVain, isUsed, withAttempt, withFirstHistory, withSet } from "./succession.ts";
import type {
  Acting,
  FailoverEffect,
  FailoverInput,
  FailoverPlan,
  FailoverState,
  FailoverMoment,
  Sight,
  FailoverStepped,
  MonitorVote,
} from "./state.ts";
import { yieldTerm } from "./yielding.ts";

export const AWAY: FailoverState = { at: "away" };

/** The time at which the machine wants a `tick`. */
export function wakeAtMs(state: FailoverState): number {
  return state.at === "acting" ? state.wakeMs : Infinity;
}

export function stepFailover(
  plan: FailoverPlan,
  state: FailoverState,
  input: FailoverInput,
  now: FailoverMoment,
): FailoverStepped {
  return keepStrays(state, step(plan, state, input, now));
}

/** A stray is told of once, also if another record is written meanwhile. */
function keepStrays(before: FailoverState, { state, effects }: FailoverStepped): FailoverStepped {
  const isDuring = (at: FailoverState): at is Extract<FailoverState, { at: "acting" | "writing" }> =>
    at.at === "acting" || at.at === "writing";
  if (!isDuring(before) || !isDuring(state) || state.strays !== undefined) return { state, effects };
  return { state: { ...state, strays: before.strays }, effects };
}

function step(plan: FailoverPlan, state: FailoverState, input: FailoverInput, now: FailoverMoment): FailoverStepped {
  switch (input.type) {
    case "lead":
      return { state: { at: "reading" }, effects: [{ type: "read" }] };
    case "leave":
      return { state: AWAY, effects: [{ type: "give-seat" }] };
    case "read":
      if (state.at !== "reading") return ignored(state);
      return input.record === undefined ? begin(plan) : enter(plan, input.record, 0, 0, now);
    case "written":
      if (state.at !== "writing") return ignored(state);
      if (state.isYielding) return { state, effects: [{ type: "resign" }] };
      return enter(plan, state.record, state.errand, state.vain, now);
    case "unanswered":
      return { state, effects: askAgain(state) };
    case "seat-taken":
    case "fenced":
    case "surveyed":
    case "seen":
    case "tick":
      return state.at === "acting" ? act(plan, state, input, now) : ignored(state);
    default:
      return unreachable(input);
  }
}

/** A missing answer does not mean "no": the same request is sent again, until there is an answer or the term is over. The guard of the memo takes the second of two equal writes for the first. */
function askAgain(state: FailoverState): readonly FailoverEffect[] {
  if (state.at === "reading") return [{ type: "read" }];
  return state.at === "writing" ? [{ type: "write", record: state.record }] : [];
}

/** No monitor has led this group before. */
function begin(plan: FailoverPlan): FailoverStepped {
  if (!plan.isDryRun) return write(firstRecord, 0);
  return tell({ state: AWAY, effects: [] }, { is: "waiting", why: "no monitor has ever led this group" });
}

/** The record is stored: its step begins, or begins again. */
function enter(
  plan: FailoverPlan,
  record: FailoverRecord,
  before: number,
  vain: number,
  now: FailoverMoment,
): FailoverStepped {
  const errand = before + 1;
  const sinceMs = now.nowMs;
  const nothing = { wakeMs: Infinity, told: "", heard: undefined, missed: undefined };
  const acting: Acting = { at: "acting", record, sinceMs, errand, vain, ...nothing };
  const told: FailoverEffect = { type: "tell", news: { is: "step", epoch: record.epoch, step: record.step } };
  const { state, effects } = startStep(plan, acting, now);
  return { state, effects: [told, ...effects] };
}

function startStep(plan: FailoverPlan, acting: Acting, now: FailoverMoment): FailoverStepped {
  const { record, errand } = acting;
  const { step } = record;
  if (plan.isDryRun) return ignored(acting);
  switch (step.at) {
    case "steady":
      return ignored(acting);
    case "fencing":
      return startFence(plan, acting, now, false);
    case "handing-over": {
      const wakeMs = now.nowMs + plan.handOverWithinMs;
      if (!plan.hasGuards)
        return { state: { ...acting, wakeMs }, effects: [{ type: "hand-over", from: step.from, to: step.to }] };
      return { state: { ...acting, wakeMs }, effects: [{ type: "take-seat", errand }] };
    }
    case "choosing":
      // The seat was only the proof that nobody else has it. From here on nobody takes it before the record names a server.
      return { state: acting, effects: [{ type: "give-seat" }, { type: "survey", errand }] };
    case "promoting": {
      const wakeMs = now.nowMs + plan.promoteWithinMs;
      const effects: readonly FailoverEffect[] = plan.hasGuards ? [] : [{ type: "promote", server: step.to }];
      return { state: { ...acting, wakeMs }, effects: [{ type: "give-seat" }, ...effects] };
    }
    case "repointing":
      return { state: { ...acting, wakeMs: now.nowMs + plan.repointWithinMs }, effects: [] };
    default:
      return unreachable(step);
  }
}

type WhileActing = Extract<FailoverInput, { type: "seat-taken" | "fenced" | "surveyed" | "seen" | "tick" }>;

function act(plan: FailoverPlan, acting: Acting, input: WhileActing, now: FailoverMoment): FailoverStepped {
  switch (input.type) {
    case "seat-taken":
      return input.errand === acting.errand ? seatTaken(acting) : ignored(acting);
    case "fenced":
      return input.errand === acting.errand ? fenced(plan, acting, input) : ignored(acting);
    case "surveyed":
      return input.errand === acting.errand ? surveyed(plan, acting, input.views, now) : ignored(acting);
    case "seen":
      return see(plan, acting, input.sight, now);
    case "tick":
      return now.nowMs >= acting.wakeMs ? wake(plan, { ...acting, wakeMs: Infinity }, now) : ignored(acting);
    default:
      return unreachable(input);
  }
}

// ---- fence, then read, then choose

function surveyed(plan: FailoverPlan, acting: Acting, views: Views, now: FailoverMoment): FailoverStepped {
  const { record } = acting;
  const { step } = record;
  // A server that has handed over answered a moment ago, and has everything. It is waited for, so that an order loses nothing.
  const settleMs = step.at === "choosing" && step.why === "order" ? plan.handOverWithinMs : plan.settleMs;
  const hasSettled = now.nowMs - acting.sinceMs >= settleMs;
  const found = choose(plan, record, views, hasSettled);
  const choice = besideNobody(plan, record, views, found);
  if (plan.isDryRun) {
    const server = choice.is === "chosen" ? choice.server : undefined;
    return tell(ignored(acting), { is: "would-choose", server, why: choice.reason });
  }
  if (step.at !== "choosing") return ignored(acting);
  if (choice.is !== "chosen") {
    const missed = found.is === "wait" && hasSettled ? views : undefined;
    const again: Acting = { ...acting, wakeMs: now.nowMs + plan.retryMs, missed };
    return tellOnce(again, { is: choice.is === "refused" ? "refused" : "waiting", why: choice.reason });
  }
  const { server: to, position, reason: why } = choice;
  const { why: cause, from, fencedBy } = step;
  const chosen: FailoverRecord = {
    ...withAttempt(withSet(plan, withFirstHistory(record, choice.history), to), views),
    yields: undefined,
    step: { at: "promoting", why: cause, from, to, position, fencedBy },
  };
  return tell(write(chosen, acting.errand), { is: "chosen", server: to, position, why });
}

/** SAFETY: a device alone has ended one machine. Another server may have been started as a primary by itself, because no guard has prevented that. No server is promoted beside it. */
function besideNobody(plan: FailoverPlan, { step }: FailoverRecord, views: Views, choice: Choice): Choice {
  const isForced = step.at === "choosing" && step.wish?.isForced === true;
  if (choice.is !== "chosen" || !isDeviceAlone(plan)) return choice;
  const others = writableIn(views).filter((server) => server !== choice.server);
  if (others.length === 0) return choice;
  const cure = isForced ? "" : `, or say which data is right: conclave failover switchover --to SERVER --force`;
  const reason = `${others.join(" and ")} takes writes by itself, and was not promoted by this group: stop it, or make it a replica${cure}`;
  return { is: "wait", reason };
}

function writableIn(views: Views): readonly string[] {
  return Object.entries(views).flatMap(([server, view]) =>
    view.is === "up" && view.role === "primary" ? [server] : [],
  );
}

// ---- what is seen

function see(plan: FailoverPlan, acting: Acting, sight: Sight, now: FailoverMoment): FailoverStepped {
  if (plan.isDryRun) return foretell(plan, acting, sight);
  switch (acting.record.step.at) {
    case "steady":
      return heedStrays(plan, watch(plan, acting, sight, now), sight);
    case "promoting":
      return confirm(plan, acting, sight);
    case "repointing":
      return heedStrays(plan, repoint(plan, acting, sight, now), sight);
    case "handing-over":
      return plan.hasGuards ? ignored(acting) : confirm(plan, acting, sight);
    case "choosing":
      return heedForce(plan, acting, sight, now);
    case "fencing":
      return seeFencing(plan, acting, sight);
    default:
      return unreachable(acting.record.step);
  }
}

/** A dry run writes nothing and orders nothing, whatever the step is: another monitor leads. It says whom the leader would choose, also while failover is paused. */
function foretell(plan: FailoverPlan, acting: Acting, sight: Sight): FailoverStepped {
  const { record, errand } = acting;
  if (!isSettled(record)) return ignored(acting);
  const votes = votersOf(plan, record, sight.votes);
  if (votes.length < plan.quorum) return heedStrays(plan, ignored(acting), sight);
  const asked: Acting = { ...acting, errand: errand + 1, sinceMs: -Infinity };
  const told = tellOnce(asked, { is: "objectively-down", server: record.primary ?? "", votes });
  const survey: readonly FailoverEffect[] = told.effects.length === 0 ? [] : [{ type: "survey", errand: errand + 1 }];
  return heedStrays(plan, { ...told, effects: [...told.effects, ...survey] }, sight);
}

/** Either a human says that the machine that is being fenced is off, or another machine that was shot at is back and no longer counts as off. */
function seeFencing(plan: FailoverPlan, acting: Acting, { order, views }: Sight): FailoverStepped {
  const { record } = acting;
  if (plan.shots === undefined) return ignored(acting);
  if (order?.kind === "confirm" && order.id !== record.order?.id) return confirmed(plan, acting, order);
  // While a shot is under way, nothing else is begun.
  const back = openShot(record) === undefined ? withBack(record, views) : record;
  if (back === record) return ignored(acting);
  const { state, effects } = write(back, acting.errand);
  return { state, effects: [{ type: "give-seat" }, ...effects] };
}

/** No server could be chosen: a human names one, or another monitor has to choose. */
function heedForce(plan: FailoverPlan, acting: Acting, sight: Sight, now: FailoverMoment): FailoverStepped {
  const { record, errand } = acting;
  const { order } = sight;
  const isNew = order?.kind === "switchover" && order.id !== record.order?.id;
  if (record.step.at !== "choosing" || !isNew || !order.isForced || plan.servers[order.to ?? ""] === undefined)
    return yieldTerm(plan, acting, sight.reports, now);
  const wish = { server: order.to ?? "", isForced: true };
  const answered = { id: order.id, said: `${order.to} is being promoted, as you have said`, isDone: true };
  return write({ ...record, order: answered, step: { ...record.step, wish } }, errand);
}

function watch(plan: FailoverPlan, acting: Acting, sight: Sight, now: FailoverMoment): FailoverStepped {
  const { record, errand } = acting;
  const { order } = sight;
  if (order !== undefined && order.id !== record.order?.id)
    return write(decideOrder({ ...plan, isDeviceAlone: isDeviceAlone(plan) }, record, order, sight.views), errand);
  const back = withBack(record, sight.views);
  if (back !== record) return write(back, errand);
  const voters = votersOf(plan, record, sight.votes);
  if (record.primary !== undefined && voters.length >= plan.quorum) return down(plan, acting, voters, now);
  const renewed = withSeenHistory(plan, record, sight);
  return renewed === record ? ignored(acting) : write(renewed, errand);
}

/** The primary in its seat may change the name of its history: Redis does so when its first replica connects. A replica that has the new name must not be taken for a stranger. */
function withSeenHistory(plan: FailoverPlan, record: FailoverRecord, { views, holder }: Sight): FailoverRecord {
  const { primary, epoch } = record;
  const view = primary === undefined ? undefined : views[primary];
  const isSeated = !plan.hasGuards || (holder?.server === primary && holder?.epoch === epoch);
  return view?.is === "up" && view.role === "primary" && isSeated ? withHistory(record, view.history) : record;
}

/** SAFETY: only configured monitors count, each once, and only for this primary in this epoch. */
function votersOf(
  { monitors }: FailoverPlan,
  { primary, epoch }: FailoverRecord,
  votes: readonly MonitorVote[],
): readonly string[] {
  return monitors.filter((monitor) =>
    votes.some((vote) => vote.monitor === monitor && vote.primary === primary && vote.epoch === epoch),
  );
}

function down(plan: FailoverPlan, acting: Acting, votes: readonly string[], now: FailoverMoment): FailoverStepped {
  const { record, errand } = acting;
  const server = record.primary ?? "";
  if (record.isPaused) return tellOnce(acting, { is: "waiting", why: `${server} is down, and failover is paused` });
  const recentMs = record.recentMs.filter((atMs) => Math.abs(now.wallMs - atMs) < plan.windowMs);
  if (recentMs.length >= plan.failoversMax)
    return tellOnce(acting, {
      is: "refused",
      why: `${server} is down, and there were ${recentMs.length} failovers already`,
    });
  const begun: FailoverRecord = {
    ...record,
    epoch: record.epoch + 1,
    recentMs: [...recentMs, now.wallMs],
    tried: [],
    step: { at: "fencing", why: "down", from: server, wish: undefined },
  };
  return tell(write(begun, errand), { is: "objectively-down", server, votes });
}

/** The chosen server says itself that it is the primary, and its guard says that it holds the seat for it. */
function confirm(plan: FailoverPlan, acting: Acting, { views, holder }: Sight): FailoverStepped {
  const { record, errand } = acting;
  const { step } = record;
  if (step.at !== "promoting" && step.at !== "handing-over") return ignored(acting);
  const view = views[step.to];
  const isSeated = !plan.hasGuards || (holder?.server === step.to && holder.epoch === record.epoch);
  // The server was promoted, ended before anybody heard of that, and was started again. It is not waited for.
  if (step.at === "promoting" && view?.is === "up" && view.role === "replica" && isUsed(record, view.generation))
    return write(afterVain(record, step), errand);
  if (view?.is !== "up" || view.role !== "primary" || !isSeated) return ignored(acting);
  const sync = record.sync && { sets: record.sync.sets.filter(({ primary }) => primary === step.to) };
  const confirmed: FailoverRecord = {
    ...withHistory(record, view.history),
    primary: step.to,
    tried: [],
    attempts: [],
    sync,
    begunAt: step.at === "promoting" ? step.position : undefined,
    step: { at: "repointing", from: step.from, to: step.to },
  };
  return write(confirmed, errand);
}

/** A primary that fails now is replaced at once: the other servers need not follow it first. */
function repoint(plan: FailoverPlan, acting: Acting, sight: Sight, now: FailoverMoment): FailoverStepped {
  const { record, errand } = acting;
  const voters = votersOf(plan, record, sight.votes);
  if (voters.length >= plan.quorum) return down(plan, acting, voters, now);
  const others = Object.entries(sight.views).filter(([server, view]) => server !== record.primary && view.is === "up");
  const isDone = others.every(([, view]) => view.is === "up" && view.follows === record.primary && view.isLinked);
  const renewed = withSeenHistory(plan, record, sight);
  if (isDone && others.length > 0) return write({ ...renewed, step: { at: "steady" } }, errand);
  if (renewed !== record) return write(renewed, errand);
  return ignored(acting);
}

// ---- time

function wake(plan: FailoverPlan, acting: Acting, now: FailoverMoment): FailoverStepped {
  const { record } = acting;
  const errand = acting.errand + 1;
  const { step } = record;
  switch (step.at) {
    case "steady":
      return ignored(acting);
    case "fencing":
      return startFence(plan, { ...acting, errand }, now, true);
    case "choosing":
      return { state: { ...acting, errand }, effects: [{ type: "survey", errand }] };
    case "handing-over":
      return giveUp(record, step, errand);
    case "promoting":
      return write(afterVain(record, step), errand);
    case "repointing":
      return write({ ...record, step: { at: "steady" } }, errand);
    default:
      return unreachable(step);
  }
}

/** The old primary stays, because it was not replaced. If it has stopped taking writes meanwhile, the monitors see that. */
function giveUp(record: FailoverRecord, step: Extract<Step, { at: "handing-over" }>, errand: number): FailoverStepped {
  const said = `${step.from} did not hand over to ${step.to} in time, and stays the primary`;
  const order = record.order && { ...record.order, said, isDone: false };
  const { state, effects } = write({ ...record, order, step: { at: "steady" } }, errand);
  return { state, effects: [{ type: "give-seat" }, ...effects] };
}
