// Draws a world from a seed. Every seed draws which weaknesses it has at all, so that each is met alone, in pairs and in crowds; a world with all weaknesses hides errors that a quieter one shows. There
// are four moods:
//
//   still   0–1 ms everywhere, clocks at the edge of ρ: margins are all that is left between two leaders (drift hides behind latency)
//   late    as still, but answers come late to some: a candidate that counted from the answer would believe too long
//   plain   a local network
//   rough   slow, lossy, doubling, reordering: requests commit after their caller gave up, and after later ones
//
// Some worlds have renewal threads, and main loops that are blocked. They come from a stream of their own, so that all other worlds stay as they are.
//
// The control run draws still worlds with clocks at TWICE the declared bound: there, overlaps must be found, or the hunt is blind.
import { nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import type { Margins } from "../../lease/deadline.ts";
import { paceOf } from "../../lease/settings.ts";
import type { ClockSpec } from "../kernel/clock.ts";
import { drawFaults, type LeaseFaultKind, type LeaseFaultPlan, withMore } from "./faults.ts";
import { CALM_NETWORK, type NetworkSpec } from "../kernel/network.ts";
import type { CandidateSpec, StoreSpec, WorldSpec } from "./spec.ts";
import { grantedMs } from "./create-shelf.ts";
import { withExtras } from "./swarm-extras.ts";
import { streamOf } from "./streams.ts";

/** The options for drawing worlds of leases. */
export interface SwarmOptions {
  /** Clocks run at twice the declared bound, the store judges, and nothing takes time. */
  readonly isControl?: boolean;
}

/** A fraction of the ttl. */
const DRAIN_MAX = 0.2;

type Mood = "still" | "late" | "plain" | "rough";

interface Draw {
  readonly rng: Rng;
  readonly mood: Mood;
  readonly isControl: boolean;
  /** Only margins and answers take time: the moods still and late. */
  readonly isQuick: boolean;
  /** Clocks differ as much as they may, to the holders' harm. */
  readonly isWorst: boolean;
  readonly ttlMs: number;
  readonly rho: number;
}

/** Draws a world of leases and its faults from a seed. */
export function drawWorld(seed: number, options: SwarmOptions = {}): WorldSpec {
  const rng = streamOf(seed, "swarm");
  const isControl = options.isControl ?? false;
  const mood: Mood = isControl ? "still" : nextOf(rng, ["still", "still", "late", "plain", "rough", "rough"]);
  const isQuick = mood === "still" || mood === "late";
  const draw: Draw = {
    rng,
    mood,
    isControl,
    isQuick,
    isWorst: isControl || (isQuick && nextChance(rng, 0.6)),
    ttlMs: nextOf(rng, [300, 600, 1000, 2000]),
    rho: nextOf(rng, [0.005, 0.005, 0.02, 0.05]),
  };
  const elections = ["alpha", "beta", "gamma", "delta"].slice(0, nextOf(rng, [1, 1, 1, 2, 2, 3, 4]));
  const store = drawStore(draw);
  const sharesId = nextChance(rng, 0.4);
  const count = nextOf(rng, [2, 2, 3, 3, 3, 4, 5, 6]);
  const candidates = Array.from({ length: count }, (_, slot) =>
    drawCandidate(draw, store, sharesId ? "shared" : `candidate-${slot}`),
  );
  const calmAtMs = draw.ttlMs * nextBetween(rng, 6, 12);
  const kinds = drawKinds(draw, store);
  const plan = {
    untilMs: calmAtMs * 0.95,
    durationMinMs: 0.1 * draw.ttlMs,
    durationMaxMs: 2.5 * draw.ttlMs,
    slots: count,
    elections: elections.length,
  };
  const faults = drawFaults(streamOf(seed, "faults"), { ...plan, kinds, count: nextInteger(rng, 4, 12) });
  const world: WorldSpec = {
    seed,
    label: `${mood} ${store.shape} ${store.layout} ${store.judge}`,
    rho: draw.rho,
    elections,
    candidates,
    store,
    network: drawNetwork(draw),
    resource: { delayMaxMs: nextOf(rng, [0, 5]), slowChance: nextOf(rng, [0, 0.2]), slowMaxMs: 2 * draw.ttlMs },
    calmAtMs,
    faults,
    alone: nextChance(rng, 0.25) ? candidates.map((_, slot) => slot) : [nextInteger(rng, 0, count - 1)],
  };
  const drawn = isControl
    ? world
    : withRoads(withBeats(withExtras(withThreads(withWeakKeeps(world), plan), plan), plan));
  return { ...drawn, store: inOneShape(drawn.store), candidates: drawn.candidates.map(inOneShape) };
}

/** Returns the same spec, made anew: each draw that adds to a copy leaves the engine with one more kind of object, and reading a field of many kinds is several times slower. */
function inOneShape<Spec extends object>(spec: Spec): Spec {
  return Object.fromEntries(Object.entries(spec)) as Spec;
}

/** Sessions move from one connection to another, as on ZooKeeper. This comes from a stream of its own, too. */
function withRoads(world: WorldSpec): WorldSpec {
  const rng = streamOf(world.seed, "roads");
  if (world.store.keepProves !== "previous-send" || !nextChance(rng, 0.6)) return world;
  const movesRoads = nextOf(rng, [0.05, 0.2, 0.5]);
  return { ...world, label: `${world.label} roads`, store: { ...world.store, movesRoads } };
}

/** Keeps of candidates that wait prove nothing, and holds may take turns, as on etcd. This comes from a stream of its own, too. */
function withWeakKeeps(world: WorldSpec): WorldSpec {
  const { store } = world;
  const rng = streamOf(world.seed, "weak");
  const isDrawn = nextChance(rng, 0.6);
  if (store.shape !== "line" || store.keepProves !== "this-send" || !isDrawn) return world;
  const turns = nextChance(rng, 0.5) ? { holdsPerKeep: 1 } : {};
  return { ...world, label: `${world.label} weak`, store: { ...store, weakKeeps: true, ...turns } };
}

/**
 * Keeps swap over the beat that they know, where the layout is ours. Then nothing between a candidate and its store may double a request: the second one would be
 * refused, and its answer could come first.
 */
function withBeats(world: WorldSpec, plan: Omit<LeaseFaultPlan, "kinds" | "count">): WorldSpec {
  const { store, network } = world;
  const rng = streamOf(world.seed, "clones");
  const isDrawn = nextChance(rng, 0.4);
  const isOurs = store.layout === "session" && store.keepProves === "this-send" && store.weakKeeps !== true;
  if (!isDrawn || !isOurs || store.proofWithinMs < Infinity) return world;
  const beating = {
    ...world,
    label: `${world.label} beats`,
    store: { ...store, refusesClones: true },
    network: { ...network, duplicateChance: 0 },
  };
  return nextChance(rng, 0.7) ? withClones(beating, plan, rng) : beating;
}

/** Now and then the machine of one candidate is cloned, and its copy runs for long enough to disturb all others. */
function withClones(world: WorldSpec, plan: Omit<LeaseFaultPlan, "kinds" | "count">, rng: Rng): WorldSpec {
  const slot = nextInteger(rng, 0, world.candidates.length - 1);
  const candidate = world.candidates[slot];
  if (candidate === undefined || candidate.renewal === "thread" || world.store.judge === "kernel") return world;
  const durations = { durationMinMs: plan.durationMaxMs, durationMaxMs: 4 * plan.durationMaxMs };
  const drawn = drawFaults(rng, { ...plan, ...durations, kinds: ["clone"], count: nextInteger(rng, 1, 3) });
  const first = Math.max(-1, ...world.faults.map(({ index }) => index)) + 1;
  const clones = drawn.map((fault) => ({ ...fault, index: first + fault.index, slot, aimsAtLeader: false }));
  return {
    ...world,
    label: `${world.label} clones`,
    candidates: [...world.candidates, { ...candidate, spareOf: slot }],
    faults: [...world.faults, ...clones],
  };
}

/** A loop may be blocked for longer than a thread waits for it. */
function withThreads(world: WorldSpec, plan: Omit<LeaseFaultPlan, "kinds" | "count">): WorldSpec {
  const rng = streamOf(world.seed, "threads");
  if (!nextChance(rng, 0.15)) return world;
  const candidates = world.candidates.map((candidate) => {
    const stallAfterMs = candidate.ttlMs * nextOf(rng, [1, 2, 4]);
    const isChosen = nextChance(rng, 0.8) && candidate.renewal === "loop";
    return isChosen ? { ...candidate, renewal: "thread" as const, stallAfterMs } : candidate;
  });
  const kinds = ["block", "block", "block", "lose-thread"] as const;
  const durationMaxMs = 3 * plan.durationMaxMs;
  const blocks = drawFaults(rng, { ...plan, durationMaxMs, kinds, count: nextInteger(rng, 2, 6) });
  return { ...world, label: `${world.label} threads`, candidates, faults: withMore(world.faults, blocks) };
}

function drawStore(draw: Draw): StoreSpec {
  const { rng, ttlMs, isControl, isQuick } = draw;
  const shape = nextOf(rng, ["line", "race", "race", "race"] as const);
  const isJudge = isControl || shape === "line" || nextChance(rng, 0.5);
  const judge = !isJudge ? "taker" : !isControl && nextChance(rng, 0.15) ? "store-wall" : "store-monotonic";
  const layout = shape === "line" ? "session" : nextOf(rng, ["session", "record"] as const);
  const sometimes = (chance: number, value: number): number => (!isControl && nextChance(rng, chance) ? value : 0);
  return {
    shape,
    judge,
    layout,
    // Relays are modelled where the judge counts sessions; a record that is claimed anew would have no earlier keep to count from.
    keepProves: isJudge && layout === "session" && !isControl && nextChance(rng, 0.3) ? "previous-send" : "this-send",
    wakes: nextChance(rng, isQuick ? 0.85 : 0.6) ? "watch" : "poll",
    clock: drawClock(draw, 1),
    extraMarginMs: isJudge ? sometimes(0.25, nextOf(rng, [10, 40])) : 0,
    lateMaxMs: isJudge ? sometimes(isQuick ? 0.1 : 0.3, 0.3 * ttlMs) : 0,
    grantFactor: nextOf(rng, [1, 1, 1, 0.7, 1.4]),
    grantStepMs: nextOf(rng, [1, 1, 50]),
    staleMs: sometimes(0.3, nextBetween(rng, 0.1, 1) * ttlMs),
    forgetMs: sometimes(0.2, nextBetween(rng, 0.1, 1) * ttlMs),
    unsureChance: layout === "record" ? sometimes(0.4, 0.15) : 0,
    refuseChance: sometimes(0.2, 0.03),
    refuseForGoodChance: 0,
    proofWithinMs: Infinity,
    isFenced: true,
    movesDomain: false,
    lockDelayMs: 0,
    isPunctual: nextChance(rng, 0.5),
    // Other draws may add these fields. An object that has all its fields from the beginning keeps its shape, and is several times quicker to read.
    declaresWhenMet: undefined,
    weakKeeps: undefined,
    holdsPerKeep: undefined,
    showsOldRequests: undefined,
    refusesClones: undefined,
    movesRoads: undefined,
  };
}

function drawCandidate(draw: Draw, store: StoreSpec, id: string): CandidateSpec {
  const { rng, isQuick } = draw;
  const monoGrainMs = nextOf(rng, [1, 5, 5]);
  const bootGrainMs = nextOf(rng, [5, 20]);
  const margins = {
    rho: draw.rho,
    grain: { monoMs: monoGrainMs, bootMs: bootGrainMs },
    extraMarginMs: store.extraMarginMs,
  };
  const ttlMs = workableTtlMs(store, margins, Math.round(draw.ttlMs * nextOf(rng, [1, 1, 1, 0.6, 1.7])));
  // The holder's slow clock meets the judge's fast one; where rivals judge, each clock may be either.
  const clock = drawClock(draw, store.judge === "taker" ? nextOf(rng, [-1, 1]) : -1);
  const isCoarse = nextChance(rng, 0.6);
  return {
    id,
    ttlMs,
    drainMs: Math.floor(ttlMs * nextOf(rng, [0, 0.1, DRAIN_MAX])),
    renewal: nextChance(rng, 0.1) ? "manual" : "loop",
    clock: isCoarse ? { ...clock, monoQuantumMs: monoGrainMs, bootQuantumMs: bootGrainMs } : clock,
    monoGrainMs,
    bootGrainMs,
    timerLateMs: isQuick ? nextOf(rng, [0, 0, 1]) : nextOf(rng, [1, 5, 0.1 * ttlMs]),
    work: {
      writeEveryMs: ttlMs * nextBetween(rng, 0.2, 0.8),
      isCareless: nextChance(rng, 0.2),
      overstayChance: nextOf(rng, [0, 0.2]),
      overstayMaxMs: 2.5 * ttlMs,
      memoChance: undefined,
      bans: undefined,
    },
    stallAfterMs: undefined,
    maxTenureMs: undefined,
    priority: undefined,
    node: undefined,
    spareOf: undefined,
  };
}

/** Returns a ttl that leaves room to renew, both as asked for and as granted: a candidate that its store cannot serve would only say so, for ever. */
function workableTtlMs(store: StoreSpec, margins: Margins, wishedMs: number): number {
  let ttlMs = wishedMs;
  while (!isWorkable(ttlMs) || !isWorkable(grantedMs(store, ttlMs))) ttlMs += 50;
  return ttlMs;

  function isWorkable(ms: number): boolean {
    return paceOf(ms, ttlMs * DRAIN_MAX, margins) !== undefined;
  }
}

function drawClock({ rng, rho, isQuick, isControl, isWorst }: Draw, worst: -1 | 1): ClockSpec {
  const isAtEdge = nextChance(rng, isQuick ? 0.8 : 0.3);
  const drawn = isAtEdge ? nextOf(rng, [-rho, rho]) : nextBetween(rng, -rho, rho);
  const drift = isWorst ? worst * rho : drawn;
  return {
    rate: 1 + (isControl ? 2 : 1) * drift,
    startMs: nextInteger(rng, 0, 1_000_000),
    monoQuantumMs: 0,
    bootQuantumMs: 0,
  };
}

function drawNetwork({ rng, mood, ttlMs }: Draw): NetworkSpec {
  if (mood === "still") return { ...CALM_NETWORK, delayMaxMs: nextOf(rng, [0, 0, 1]) };
  if (mood === "late") return { ...CALM_NETWORK, lateAnswersMs: nextBetween(rng, 0.05, 0.3) * ttlMs };
  if (mood === "plain")
    return {
      delayMinMs: 0.2,
      delayMaxMs: 5,
      slowChance: 0.02,
      slowMaxMs: 0.3 * ttlMs,
      lossChance: 0.01,
      duplicateChance: 0.01,
      lateAnswersMs: 0,
    };
  return {
    delayMinMs: 0.5,
    delayMaxMs: nextOf(rng, [5, 0.05 * ttlMs, 0.12 * ttlMs]),
    slowChance: nextOf(rng, [0.05, 0.15]),
    slowMaxMs: nextOf(rng, [0.4, 1, 2.5]) * ttlMs,
    lossChance: nextOf(rng, [0, 0.04]),
    duplicateChance: nextOf(rng, [0, 0.05]),
    lateAnswersMs: 0,
  };
}

/** Returns the kinds of fault that this world has at all. A kind listed twice is drawn twice as often. */
function drawKinds({ rng, isControl, isQuick }: Draw, store: StoreSpec): readonly LeaseFaultKind[] {
  if (isControl) return ["cut", "cut", "pause"];
  const kinds: LeaseFaultKind[] = [
    "cut",
    "cut-up",
    "cut-down",
    "stall",
    "pause",
    "suspend",
    "crash",
    "store-pause",
    "store-cut",
    "resign",
    "withdraw",
    "finish",
  ];
  const chosen = kinds.filter(() => nextChance(rng, 0.5));
  const rare: LeaseFaultKind[] = ["store-freeze", "delete-record", "end-session", "freeze"];
  chosen.push(...rare.filter(() => nextChance(rng, 0.25)));
  if (isQuick) chosen.push("cut", "cut");
  if (store.judge === "store-wall") chosen.push("jump");
  if (store.forgetMs > 0) chosen.push("forget", "forget");
  return chosen.length === 0 ? ["cut"] : chosen;
}
