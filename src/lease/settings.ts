// The settings that a candidate runs with: complete, frozen, every number derived once and its relations checked. `resolveSettings` is pure, changes
// nothing, and either returns all settings or throws one CONFIG_INVALID that lists every problem.
import type { Grain } from "../base/clock.ts";
import { invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { flawOf } from "../base/text.ts";
import { type Margins, shortestBeliefMs } from "./deadline.ts";
import type { NodeIdentity } from "./exchange.ts";
import type { Guarantee } from "./guarantee.ts";

/** Bound on the rate error of a running clock. Quartz is good to 0.01 %, a virtual machine under load to 0.1 %. */
const DEFAULT_RHO = 0.005;
const DEFAULT_TTL_MS = 15_000;
/** A renewal must have at least this long; otherwise a busy event loop alone costs the term. */
const LEAST_REQUEST_MS = 10;
const LONGEST_REQUEST_MS = 10_000;
/** So much of a lease must be left for renewals: a request has a quarter of it (`paceOf`). */
const LEAST_ROOM_MS = 4 * LEAST_REQUEST_MS;
/** A leader that hangs for good keeps its term for at most so many ttls. */
const MOST_STALL_TTLS = 100;
const GREATEST_PRIORITY = 1000;
/** With a watch, polling only covers hints that got lost. */
const LONGEST_POLL_MS = 15_000;
/** Without a watch only a look shows that a leader has left. */
const LONGEST_LOOK_MS = 1_000;
/** For stores whose watch tells everything until it ends, and is then begun anew. Looks are seldom there, and more seldom with a long ttl; otherwise most requests would be looks. */
const SAFETY_POLL_MS = 60_000;
const SAFETY_POLL_TTLS = 8;

export interface Settings {
  readonly candidate: string;
  readonly ttlMs: number;
  readonly drainMs: number;
  readonly renewal: "loop" | "thread" | "manual";
  /** For renewal by a thread: the thread stops once the main loop has not turned for so long. Otherwise Infinity. */
  readonly stallAfterMs: number;
  /** A term is given up when it has been led for so long. Infinity: never. */
  readonly maxTenureMs: number;
  /** A leader makes way for a candidate with a greater priority (invited.ts). 0: it has none. */
  readonly priority: number;
  readonly margins: Margins;
  /** For the ttl that was asked for; a session that was granted another ttl has its own pace (`paceOf`). */
  readonly pace: Pace;
  /** How often a waiting candidate looks when no hint comes. */
  readonly pollMs: number;
  /** A fast takeover needs fencing (law 13): how long to wait after a proven death where the term is unfenced. */
  readonly quietMs: number;
  /** First pause after a lost term; doubles while terms stay short. */
  readonly coolDownMs: number;
  readonly guarantee: Guarantee;
  /** The machine that this candidate runs on, as STONITH knows it. */
  readonly node?: NodeIdentity | undefined;
}

/** The rhythm of a session of a given ttl. INVARIANT  renewEveryMs + requestTimeoutMs ≤ overdueAfterMs < belief − drainMs */
export interface Pace {
  /** From the send of a proven keep to the send of the next. */
  readonly renewEveryMs: number;
  /** Without an answer for this long a request counts as unknown. */
  readonly requestTimeoutMs: number;
  /** From the send of a proven keep to the moment at which the next proof should have come. */
  readonly overdueAfterMs: number;
}

/** 1/3 + 1/4 of the room, so that one hung request leaves time for another before the signal. */
export function paceOf(
  ttlMs: number,
  drainMs: number,
  margins: Margins,
  keepProves: Guarantee["keepProves"] = "this-send",
): Pace | undefined {
  const roomMs = shortestBeliefMs(ttlMs, margins) - drainMs;
  // Not `<`: of a number that is none nothing is true, and a deadline that is none never comes.
  if (!(roomMs >= LEAST_ROOM_MS) || roomMs === Infinity) return undefined;
  // Where an answer proves the keep before it, a proof is one beat older when it comes: 2/3 + 1/4, still before the signal.
  const beats = keepProves === "previous-send" ? 2 : 1;
  const renewEveryMs = roomMs / 3;
  // A long ttl is no reason to wait an hour for an answer.
  const requestTimeoutMs = Math.min(roomMs / 4, LONGEST_REQUEST_MS);
  return { renewEveryMs, requestTimeoutMs, overdueAfterMs: beats * renewEveryMs + requestTimeoutMs };
}

export interface SettingsInput {
  readonly id: string;
  readonly ttlMs?: number | undefined;
  readonly drainMs?: number | undefined;
  readonly renewal?: "loop" | "thread" | "manual" | undefined;
  readonly stallAfterMs?: number | undefined;
  readonly maxTenureMs?: number | undefined;
  readonly priority?: number | undefined;
  readonly rho?: number | undefined;
  readonly node?: NodeIdentity | undefined;
}

/** `found`: what the caller has found already. With any of those, `guarantee` is not looked at: there may be none. */
export function resolveSettings(
  input: SettingsInput,
  guarantee: Guarantee,
  grain: Grain,
  call: string,
  found: readonly string[] = [],
): Settings {
  if (typeof guarantee !== "object") throw invalidConfig(call, found);
  const ttlMs = asNumber(input.ttlMs ?? DEFAULT_TTL_MS);
  const drainMs = asNumber(input.drainMs ?? Math.floor(ttlMs / 5));
  const renewal = input.renewal ?? "loop";
  const margins: Margins = Object.freeze({
    rho: input.rho ?? DEFAULT_RHO,
    grain,
    extraMarginMs: guarantee.extraMarginMs,
  });
  const pace = paceOf(ttlMs, drainMs, margins, guarantee.keepProves);
  const problems = [
    ...found,
    ...problemsOfId(input.id),
    ...problemsOfTtl(input.ttlMs ?? DEFAULT_TTL_MS, guarantee),
    ...problemsOfGuarantee(guarantee),
    ...problemsOfDrain(ttlMs, input.drainMs ?? drainMs, pace, margins),
    ...problemsOfRenewal(renewal, guarantee),
    ...problemsOfStall(input, ttlMs, pace),
    ...problemsOfNode(input.node, guarantee),
    ...problemsOfTenure(input.maxTenureMs, ttlMs),
    ...problemsOfPriority(input.priority, guarantee),
    ...(margins.rho >= 0 && margins.rho < 0.5 ? [] : [`rho ${margins.rho} is not a rate error: between 0 and 0.5`]),
  ];
  if (problems.length > 0 || pace === undefined) throw invalidConfig(call, problems);
  return Object.freeze({
    candidate: input.id,
    ttlMs,
    drainMs,
    renewal,
    stallAfterMs: renewal === "thread" ? (input.stallAfterMs ?? 2 * ttlMs) : Infinity,
    maxTenureMs: input.maxTenureMs ?? Infinity,
    priority: input.priority ?? 0,
    margins,
    pace,
    pollMs:
      guarantee.wakes === "watch"
        ? guarantee.hintsUntilEnd === true
          ? Math.max(SAFETY_POLL_MS, SAFETY_POLL_TTLS * ttlMs)
          : Math.min(pace.renewEveryMs, LONGEST_POLL_MS)
        : Math.min(guarantee.lookMs ?? LONGEST_LOOK_MS, Math.max(LEAST_REQUEST_MS, ttlMs / 10)),
    quietMs: ttlMs,
    coolDownMs: Math.min(500, ttlMs / 20),
    guarantee,
    ...(input.node === undefined ? {} : { node: input.node }),
  });
}

/** Nothing can be computed from what is no number; the message shows what was passed. */
function asNumber(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** A candidate that believes it can be banned, and cannot be, is worse than none. */
function problemsOfNode(node: NodeIdentity | undefined, { store, bans }: Guarantee): string[] {
  if (node === undefined) return [];
  const isText = (text: unknown): boolean =>
    typeof text === "string" && text.length > 0 && text.length <= 150 && !hasControlCharacter(text);
  const flaw = isText(node.name) ? flawOf(node.name) : "1 to 150 characters, no control characters";
  return [
    ...(flaw === undefined ? [] : [`node ${show(node.name)} is not a name: ${flaw}`]),
    ...(isText(node.machine) ? [] : [`node.machine ${show(node.machine)} is not an id: 1 to 150 characters`]),
    ...(bans === true
      ? []
      : [`node: ${store} keeps no bans (docs/STONITH.md lists the stores that do). Leave node out`]),
  ];
}

function problemsOfId(id: unknown): string[] {
  const isName = typeof id === "string" && id.length > 0 && id.length <= 200 && !hasControlCharacter(id);
  const flaw = isName ? flawOf(id) : "1 to 200 characters, no control characters";
  return flaw === undefined ? [] : [`id ${show(id)} is not a name: ${flaw}`];
}

function problemsOfTtl(ttlMs: unknown, guarantee: Guarantee): string[] {
  const { minMs, maxMs, stepMs, why } = guarantee.ttl;
  if (typeof ttlMs !== "number" || !Number.isFinite(ttlMs))
    return [`ttlMs ${show(ttlMs)} is not a number of milliseconds`];
  if (ttlMs < minMs) return [`ttlMs ${ttlMs} is too short for ${guarantee.store}: take at least ${minMs} (${why})`];
  if (ttlMs > maxMs) return [`ttlMs ${ttlMs} is too long for ${guarantee.store}: take at most ${maxMs} (${why})`];
  if (ttlMs % stepMs !== 0)
    return [`ttlMs ${ttlMs} is not what ${guarantee.store} can grant: take a multiple of ${stepMs} (${why})`];
  return [];
}

/** What a driver written without a compiler may get wrong, and what no driver needs yet and nothing has tried. */
function problemsOfGuarantee(guarantee: Guarantee): string[] {
  const { store, extraMarginMs, proofWithinMs, proofApartMs = 0, keep, keepProves, shape, lookMs = 1 } = guarantee;
  return [
    ...(lookMs > 0 && lookMs < Infinity
      ? []
      : [`guarantee.lookMs ${String(lookMs)} of ${store} is not a number of milliseconds`]),
    ...(proofApartMs >= 0 && proofApartMs < Infinity
      ? []
      : [`guarantee.proofApartMs ${String(proofApartMs)} of ${store} is not a number of milliseconds`]),
    ...(Number.isFinite(extraMarginMs) && extraMarginMs >= 0
      ? []
      : [`guarantee.extraMarginMs ${String(extraMarginMs)} of ${store} is not a number of milliseconds`]),
    ...(proofWithinMs > 0
      ? []
      : [`guarantee.proofWithinMs ${String(proofWithinMs)} of ${store} is not a number of milliseconds`]),
    ...(keep === "per-hold" && (shape === "line" || keepProves === "previous-send")
      ? [`guarantee of ${store}: keep "per-hold" goes with a race and keepProves "this-send" only`]
      : []),
  ];
}

function problemsOfRenewal(renewal: unknown, { store, scope }: Guarantee): string[] {
  if (renewal === "loop" || renewal === "manual") return [];
  if (renewal !== "thread")
    return [
      `renewal ${show(renewal)} is not known here: "loop" renews by timers, "thread" also while the loop is busy, "manual" only when term.renew() is called`,
    ];
  if (scope === "process")
    return [`renewal "thread" cannot work with ${store}: it lives in one thread. Use renewal: "loop"`];
  return [];
}

function problemsOfStall({ renewal, stallAfterMs }: SettingsInput, ttlMs: number, pace: Pace | undefined): string[] {
  if (stallAfterMs === undefined || pace === undefined) return [];
  if (renewal !== "thread") return [`stallAfterMs is of renewal: "thread" only`];
  if (typeof stallAfterMs !== "number" || !Number.isFinite(stallAfterMs))
    return [`stallAfterMs ${show(stallAfterMs)} is not a number of milliseconds`];
  const leastMs = Math.ceil(pace.overdueAfterMs);
  if (stallAfterMs < leastMs)
    return [
      `stallAfterMs ${stallAfterMs} is over before the thread would renew: at ttlMs ${ttlMs} at least ${leastMs}`,
    ];
  if (stallAfterMs > MOST_STALL_TTLS * ttlMs)
    return [
      `stallAfterMs ${stallAfterMs} keeps a hung leader in office for more than ${MOST_STALL_TTLS} ttls: at ttlMs ${ttlMs} at most ${MOST_STALL_TTLS * ttlMs}`,
    ];
  return [];
}

/** A term that is shorter than a ttl counts as a short one, after which a candidate waits longer and longer. */
function problemsOfTenure(maxTenureMs: unknown, ttlMs: number): string[] {
  if (maxTenureMs === undefined) return [];
  if (typeof maxTenureMs !== "number" || Number.isNaN(maxTenureMs))
    return [`maxTenureMs ${show(maxTenureMs)} is not a number of milliseconds`];
  if (maxTenureMs < ttlMs)
    return [`maxTenureMs ${maxTenureMs} is shorter than one lease: at ttlMs ${ttlMs} at least ${ttlMs}`];
  return [];
}

/** A candidate that believes it is preferred, and of which nobody hears, is worse than one without a preference. */
function problemsOfPriority(priority: unknown, { store, shape, wakes, invites }: Guarantee): string[] {
  if (priority === undefined || priority === 0) return [];
  if (typeof priority !== "number" || !Number.isInteger(priority) || priority < 0 || priority > GREATEST_PRIORITY)
    return [`priority ${show(priority)} is not a whole number from 0 to ${GREATEST_PRIORITY}`];
  if (invites === true) return [];
  const why =
    shape === "line"
      ? "its queue says who leads next"
      : wakes === "poll"
        ? "its candidates look from time to time and hear nothing between two looks"
        : "it passes no invitations on";
  return [`priority: ${store} cannot prefer a candidate, because ${why} (docs/HANDING-OVER.md). Leave priority out`];
}

function problemsOfDrain(ttlMs: number, drainMs: unknown, pace: Pace | undefined, margins: Margins): string[] {
  if (typeof drainMs !== "number" || !Number.isFinite(drainMs) || drainMs < 0)
    return [`drainMs ${show(drainMs)} is not a number of milliseconds`];
  const mostMs = Math.floor(shortestBeliefMs(ttlMs, margins) - LEAST_ROOM_MS);
  if (pace !== undefined || !Number.isFinite(mostMs)) return []; // otherwise ttlMs or rho is no number, and is named as that
  const advice = mostMs < 0 ? "Raise ttlMs" : `Take at most ${mostMs}, or raise ttlMs`;
  return [`drainMs ${drainMs} leaves no time to renew within ttlMs ${ttlMs}. ${advice}`];
}

export function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (text.charCodeAt(index) < 0x20 || text.charCodeAt(index) === 0x7f) return true;
  return false;
}
