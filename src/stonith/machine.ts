// The leader of a guarded election, as a pure machine: which nodes have to be off before its work may begin, and when a shot may come. It reads no clock, sets no timer and does no I/O; a host
// (src/stonith/guarded.ts, or a simulated world) carries out its effects and tells it the results.
//
//   away      no term: nothing is known, nothing is done
//   leading   one thing is asked of the store at a time, and at most one shot is under way. What an earlier term knew is forgotten: the record says it
//
// The order for a node that has acted and has not been proved to have stopped: a delay by chance; the intent in the record, with this term in `joined`; the ban; the shot; the device is asked
// whether the node is off; only then the takeover. The ban is lifted later, when no shot can come any more.
//
// WHY STONITH CANNOT CREATE A SPLIT-BRAIN. Two questions have to be kept apart: who may work, and who may be shot.
//
//   1  Work begins only in the term that holds the seat, after the record that names this term, and nobody else, as acting was written in that very term (`begin`). A term before it left the list
//      in one of five ways only: it took itself out when its work had ended, in its own term; its process said so in a note of its own; its machine was verified to be off after its ban was
//      committed; its hardware watchdog has fired by the arithmetic of limits.ts; a human has confirmed it, and was shown what. A shot that failed, or of which nothing is known, is none of
//      these: the takeover then waits, for ever if need be. So a device that fails, hangs or lies about its success costs time, and never lets two work.
//   2  A shot makes nobody leader. Who leads is decided by the store alone, and by a store with a quorum: the side of a partition that cannot reach it has no term, and shoots nobody.
//      So two sides cannot shoot each other because they cannot see each other. If two leaders follow each other and both have decided to shoot, see 3.
//   3  A shot hits no leader. An agent runs only for a term that stands in `joined` of an open intent, and after the ban that this very term has committed (`mayShoot` asks for both once
//      more before each start of an agent). While the ban stands, the store grants nothing to the node. It is lifted only when `joined` is empty: each term that joined has said that its agents
//      are gone, was itself verified to be off, or a human has confirmed it. So a shooter that was paused between its decision and its shot finds the node banned still, however late it comes.
//   4  The sessions of a node are ended early only by a term that has banned the node, has heard from its device afterwards that it is off, and has not lifted the ban (`toEnd`). A node that is banned opens
//      none, so that those which are ended belong to processes that the machine had before it was off (lease/ban-rule.ts, ARGUMENT). A later term
//      does not know what was heard, a watchdog lets
//      the ttl pass anyway, and a human may mean that the node is cut off from this work alone: in these cases the sessions run out by their ttl.
//   5  A term never shoots its own node, at most `maxOff` nodes are off or to be off at one time, and a store that is hosted on the nodes keeps its quorum (limits.ts): STONITH does not take down
//      what it guards, or the judge of it.
//
// What is assumed: the store keeps what it has acknowledged; a device that is ASKED says `off` only if the node is off; a device that says so speaks of the right machine; the action is `off`, never
// a reboot. What remains: a command that an agent has handed to a BMC or to a cloud API, which carries it out after the agent is gone, and after the lift.
import { unreachable } from "../base/assert.ts";
import { problemsOfShot, watchdogDoneAtMs } from "./limits.ts";
import { decideOrder } from "./orders.ts";
import {
  hasStint,
  type Intent,
  intentAgainst,
  isSameStint,
  NO_RECORD,
  type Stint,
  type StonithRecord,
  withoutOff,
  SAID_MAX,
} from "./record.ts";
import {
  afterShot,
  closedOff,
  joinIntent,
  openIntent,
  tidied,
  withActing,
  withoutActing,
  withoutIntent,
  withoutJoined,
} from "./steps.ts";
import type {
  StonithRequest,
  Leading,
  StonithMoment,
  StonithEffect,
  StonithInput,
  StonithNews,
  StonithPlan,
  StonithSight,
  StonithState,
  StonithStepped,
} from "./state.ts";

export const AWAY: StonithState = { at: "away" };
const NOTHING_SEEN: StonithSight = { notes: { settled: [], gone: [] }, order: undefined, foreign: [] };

/** When the machine wants a `tick`. */
export function wakeAtMs(state: StonithState): number {
  return state.at === "leading" ? state.wakeMs : Infinity;
}

/** What is read right before an agent is started. */
export interface LastLook {
  /** `term.isHeld()`, by the clock, after the reads. */
  readonly isHeld: boolean;
  readonly record: StonithRecord | undefined;
  /** The nodes that this election bans. */
  readonly bans: readonly string[];
}

/** SAFETY: asked before each start of an agent, with what was read for it. If something could not be read, the shot is forbidden. */
export function mayShoot({ isHeld, record, bans }: LastLook, me: Stint, intent: string, node: string): boolean {
  const open = record?.intents.find(({ id }) => id === intent);
  if (!isHeld || open === undefined || open.node !== node || node === me.node) return false;
  return hasStint(open.joined, me) && bans.includes(node);
}

export function stepStonith(
  plan: StonithPlan,
  state: StonithState,
  input: StonithInput,
  now: StonithMoment,
): StonithStepped {
  if (input.type === "lead") return ask(firstState(plan, input.token), { is: "read" });
  if (input.type === "leave" || state.at === "away") return { state: AWAY, effects: [] };
  switch (input.type) {
    case "read":
      if (state.asked?.is !== "read") return same(state);
      return decide(plan, { ...answered(state), record: input.record ?? NO_RECORD, sight: input.sight }, now);
    case "written":
      return withNews(written(state, now), decide(plan, written(state, now), now), state);
    case "unanswered":
      // No answer is not "no": the same request is made again, until there is an answer or the term is over.
      return state.asked === undefined ? same(state) : ask(state, state.asked);
    case "home":
      if (state.asked?.is !== "look-home") return same(state);
      return decide(plan, { ...answered(state), homeGone: [...state.homeGone, ...input.gone] }, now);
    case "looked":
      return state.asked?.is === "look" ? decide(plan, looked(answered(state), input.on), now) : same(state);
    case "seen":
      return decide(plan, { ...state, sight: input.sight }, now);
    case "shot":
      if (input.errand !== state.shot?.errand) return same(state);
      return decide(plan, shotEnded(plan, state, input, now), now);
    case "gone":
      // The end of the shot that is under way will say it again.
      if (state.shot?.intent === input.intent) return same(state);
      return decide(plan, { ...state, goneFor: [...state.goneFor, input.intent] }, now);
    case "settled":
      return decide(
        plan,
        state.work === "begun" || state.work === "waiting" ? { ...state, work: "settled" } : state,
        now,
      );
    case "tick":
      return decide(plan, state, now);
    default:
      return unreachable(input);
  }
}

function firstState({ node, life }: StonithPlan, token: string): Leading {
  return {
    at: "leading",
    me: { node, token, life },
    record: NO_RECORD,
    asked: undefined,
    sight: NOTHING_SEEN,
    bannedAtMs: {},
    homeAsked: [],
    homeGone: [],
    shot: undefined,
    ended: undefined,
    toEnd: [],
    goneFor: [],
    lifted: undefined,
    seenOn: [],
    errand: 0,
    aimAtMs: undefined,
    failures: 0,
    work: "waiting",
    lookAtMs: -Infinity,
    wakeMs: Infinity,
    told: "",
  };
}

function same(state: Leading): StonithStepped {
  return { state, effects: [] };
}

function ask(state: Leading, asked: StonithRequest): StonithStepped {
  const { is: type, ...what } = asked;
  return { state: { ...state, asked, wakeMs: Infinity }, effects: [{ type, ...what } as StonithEffect] };
}

function answered(state: Leading): Leading {
  return { ...state, asked: undefined };
}

/** A write, a ban or a lift is committed. */
function written(state: Leading, now: StonithMoment): Leading {
  const { asked } = state;
  if (asked?.is === "write") return { ...answered(state), record: asked.record };
  if (asked?.is === "ban") return { ...answered(state), bannedAtMs: { ...state.bannedAtMs, [asked.node]: now.nowMs } };
  if (asked?.is === "end-sessions")
    return { ...answered(state), toEnd: state.toEnd.filter((node) => node !== asked.node) };
  if (asked?.is !== "lift") return state;
  const { [asked.node]: _lifted, ...bannedAtMs } = state.bannedAtMs;
  return { ...answered(state), bannedAtMs, lifted: asked.node };
}

/** What has come into the audit log with this write. */
function withNews(after: Leading, { state, effects }: StonithStepped, before: Leading): StonithStepped {
  const fresh = after.record.history.filter((entry) => !before.record.history.includes(entry));
  const news = fresh.map((entry): StonithEffect => ({ type: "tell", news: { is: "history", entry } }));
  return { state, effects: [...news, ...effects] };
}

function looked(state: Leading, on: readonly string[]): Leading {
  return { ...state, seenOn: [...new Set([...state.seenOn, ...on])] };
}

function shotEnded(
  { retryMs, retryMaxMs }: StonithPlan,
  state: Leading,
  { outcome, said, isGone }: Extract<StonithInput, { type: "shot" }>,
  now: StonithMoment,
): Leading {
  const { shot, failures } = state;
  if (shot === undefined) return state;
  const pauseMs = outcome === "off" ? 0 : Math.min(retryMaxMs, retryMs * 2 ** failures);
  return {
    ...state,
    shot: undefined,
    ended: { intent: shot.intent, outcome, said: said.slice(0, SAID_MAX), isGone },
    toEnd: outcome === "off" ? [...state.toEnd, shot.node] : state.toEnd,
    failures: outcome === "off" ? 0 : failures + 1,
    aimAtMs: now.nowMs + pauseMs,
  };
}

// ---- what to do now

function decide(plan: StonithPlan, before: Leading, now: StonithMoment): StonithStepped {
  const state: Leading = { ...before, wakeMs: Infinity };
  if (state.asked !== undefined || state.work === "resigned") return same(state);
  const record = caughtUp(plan, state, now);
  if (record !== state.record)
    return write({ ...state, lifted: undefined, ended: undefined, goneFor: [], seenOn: [] }, record);
  const caught: Leading = { ...state, lifted: undefined, ended: undefined, goneFor: [], seenOn: [] };
  const home = ownPast(caught).filter((stint) => !hasStint(caught.homeAsked, stint));
  if (home.length > 0)
    return ask({ ...caught, homeAsked: [...caught.homeAsked, ...home] }, { is: "look-home", stints: home });
  // SAFETY: this comes before the lift, after which the node may open sessions again.
  const [off] = caught.toEnd;
  if (off !== undefined) return ask(caught, { is: "end-sessions", node: off });
  const closable = caught.record.intents.find((intent) => isClosable(caught, intent));
  if (closable !== undefined) return ask(caught, { is: "lift", node: closable.node });
  if (caught.work === "settled") return leaveCleanly(caught, now);
  if (caught.sight.foreign.length > 0) return refuseForeign(caught);
  const stop = needlessShot(caught);
  if (stop !== undefined) return stop;
  const acted = plan.isOnlyForOrders ? undefined : nextOf(caught, caught.record.acting);
  if (acted !== undefined) return aim(plan, caught, acted, now);
  if (caught.work === "waiting" && !plan.isOnlyForOrders) return begin(plan, caught, now);
  // An order of an operator delays no work, because the node has not acted.
  const ordered = nextOf(
    caught,
    caught.record.intents.filter(({ isOrdered, off }) => isOrdered && off === undefined),
  );
  return ordered === undefined ? same(caught) : aim(plan, caught, ordered, now);
}

function write(state: Leading, record: StonithRecord): StonithStepped {
  return ask(state, { is: "write", record });
}

/** The record with everything that has been learned and does not stand in it yet. */
function caughtUp(plan: StonithPlan, state: Leading, now: StonithMoment): StonithRecord {
  const { me, lifted, ended, goneFor, seenOn, sight } = state;
  let { record } = state;
  const closed = lifted === undefined ? undefined : intentAgainst(record, lifted);
  if (closed !== undefined) record = withoutIntent(record, closed, me, now);
  if (ended !== undefined) record = afterShot(record, ended.intent, me, now, ended);
  for (const id of goneFor) record = withoutJoined(record, id, me);
  record = withoutOff(record, seenOn);
  if (sight.order !== undefined && !record.orders.some(({ id }) => id === sight.order?.id))
    record = decideOrder(plan, { ...state, record }, sight.order, now);
  return tidied({ ...state, record }, now);
}

/** Terms that another process of this very node has left. This process cannot shoot its own node, and must prove in another way that nothing of them is left. */
function ownPast({ record, me }: Leading): readonly Stint[] {
  const stints = [...record.acting, ...record.intents.flatMap(({ joined }) => joined)];
  return stints.filter((stint) => stint.node === me.node && !isSameStint(stint, me));
}

/** SAFETY: the ban is lifted only when no shot can come any more, and when the node is off, or need not be. */
function isClosable({ record, shot }: Leading, { id, node, joined, off, isOrdered }: Intent): boolean {
  const isQuiet = joined.length === 0 && shot?.intent !== id;
  const isNeeded = record.acting.some((stint) => stint.node === node) || (isOrdered && off === undefined);
  return isQuiet && !isNeeded;
}

function leaveCleanly(state: Leading, now: StonithMoment): StonithStepped {
  const { shot, record, me } = state;
  if (shot !== undefined) return stopShot(state);
  if (hasStint(record.acting, me)) return write(state, withoutActing(record, me, now));
  return resign(state, "its work has ended");
}

function resign(state: Leading, why: string): StonithStepped {
  return { state: { ...state, work: "resigned" }, effects: [{ type: "resign", why }] };
}

function stopShot(state: Leading): StonithStepped {
  const { shot } = state;
  if (shot === undefined || shot.isStopped) return same(state);
  return { state: { ...state, shot: { ...shot, isStopped: true } }, effects: [{ type: "stop-shot" }] };
}

/** Candidates that obey no ban may be granted the seat while their node is shot at, and do not write who acts. */
function refuseForeign(state: Leading): StonithStepped {
  const why = `candidates that obey no bans are in the same line: ${state.sight.foreign.join(", ")}`;
  if (state.shot !== undefined) return stopShot(state);
  return tellOnce(state, { is: "waiting", why });
}

function needlessShot(state: Leading): StonithStepped | undefined {
  const { shot, record } = state;
  if (shot === undefined || shot.isStopped) return undefined;
  const intent = record.intents.find(({ id }) => id === shot.intent);
  const isNeeded = intent !== undefined && isWanted(state, intent);
  return isNeeded ? undefined : stopShot(state);
}

function isWanted({ record }: Leading, { node, isOrdered, off }: Intent): boolean {
  return record.acting.some((stint) => stint.node === node) || (isOrdered && off === undefined);
}

/** The node that has to be off next. A node whose shots have failed often comes after the others. */
function nextOf({ record, me }: Leading, wanted: readonly { readonly node: string }[]): string | undefined {
  const nodes = [...new Set(wanted.map(({ node }) => node))].filter((node) => node !== me.node);
  return nodes.toSorted((one, other) => failuresOf(record, one) - failuresOf(record, other))[0];
}

function failuresOf(record: StonithRecord, node: string): number {
  return intentAgainst(record, node)?.failures ?? 0;
}

/** The intent, the ban and the shot come in this order; each begins only when the one before is committed. */
function aim(plan: StonithPlan, state: Leading, node: string, now: StonithMoment): StonithStepped {
  const { record, me } = state;
  const aimAtMs = state.aimAtMs ?? now.nowMs + plan.delayMs + now.random * plan.spreadMs;
  const aiming: Leading = { ...state, aimAtMs };
  const intent = intentAgainst(record, node);
  if (intent === undefined && now.nowMs < aimAtMs) return same({ ...aiming, wakeMs: aimAtMs });
  if (intent === undefined) return open(plan, aiming, node, now);
  const bannedAtMs = state.bannedAtMs[node];
  if (bannedAtMs === undefined) return ask(aiming, { is: "ban", node, why: intent.why });
  const firedAtMs = watchdogDoneAtMs(record, node, bannedAtMs);
  if (now.nowMs >= firedAtMs) return write(aiming, closedOff(record, node, intent, "watchdog", me, now));
  const wakeMs = Math.min(firedAtMs, now.nowMs < aimAtMs ? aimAtMs : Infinity);
  if (!plan.devices.includes(node) && firedAtMs === Infinity) return tellOnce(aiming, noWayTo(node));
  if (!plan.devices.includes(node) || state.shot !== undefined || now.nowMs < aimAtMs)
    return same({ ...aiming, wakeMs });
  if (state.failures >= plan.attemptsMax && state.work === "waiting")
    return resign(
      aiming,
      `${node} could not be verified to be off from here: another node may have another way to its device`,
    );
  if (!hasStint(intent.joined, me)) return write(aiming, joinIntent(record, intent, me, now));
  return shoot({ ...aiming, wakeMs: firedAtMs }, intent);
}

function shoot(state: Leading, { id: intent, node }: Intent): StonithStepped {
  const errand = state.errand + 1;
  const shot = { intent, node, errand, isStopped: false };
  const effects: readonly StonithEffect[] = [
    { type: "tell", news: { is: "shooting", node, intent } },
    { type: "shoot", node, intent, errand },
  ];
  return { state: { ...state, errand, shot }, effects };
}

function noWayTo(node: string): StonithNews {
  return { is: "waiting", why: `nothing is configured that powers ${node} off: a human has to confirm that it is off` };
}

function open(plan: StonithPlan, state: Leading, node: string, now: StonithMoment): StonithStepped {
  const { record, me } = state;
  const problems = problemsOfShot(plan, record, node, { now, isOrdered: false });
  if (problems.length === 0) {
    const tokens = record.acting.filter((stint) => stint.node === node).map(({ token }) => token);
    const why = `it acted in term ${tokens.join(", ")}, and nobody has proved that it has stopped`;
    return write(state, openIntent(plan, record, me, now, { node, why, isOrdered: false }));
  }
  // A node that is on again does not count any more.
  if (record.off.length > 0 && now.nowMs >= state.lookAtMs)
    return ask(
      { ...state, lookAtMs: now.nowMs + plan.retryMaxMs },
      { is: "look", nodes: record.off.map((each) => each.node) },
    );
  return tellOnce({ ...state, wakeMs: now.nowMs + plan.retryMaxMs }, { is: "refused", node, why: problems });
}

/** SAFETY: the work begins when the record in the store names this term as acting, and no other. */
function begin({ watchdog }: StonithPlan, state: Leading, now: StonithMoment): StonithStepped {
  const { record, me } = state;
  const others = record.acting.filter((stint) => !isSameStint(stint, me));
  if (others.length > 0)
    return resign(
      state,
      `a term of this very node (${others.map(({ token }) => token).join(", ")}) may still act here: another node has to take over`,
    );
  if (!hasStint(record.acting, me)) return write(state, withActing(record, { ...me, watchdog }, now));
  return { state: { ...state, work: "begun" }, effects: [{ type: "begin" }, { type: "tell", news: { is: "begun" } }] };
}

function tellOnce(state: Leading, news: StonithNews): StonithStepped {
  const told = JSON.stringify(news);
  if (told === state.told) return same(state);
  return { state: { ...state, told }, effects: [{ type: "tell", news }] };
}
