// The hunt for protocols. One seed draws a world, and its faults (only such as the protocol tolerates). In a safety phase invariants judge every event. In the liveness phase that follows, a random core
// of members is mended and started, and every other member is shut out for good. The core must agree on one leader in the time that the protocol promises, and keep it. A permanent fault outside the core
// finds livelocks that healing everything would hide.
import { createRng, nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import { type NodeId, type NodeSettings, settingsOf } from "../../protocols/node.ts";
import type { Hunted, HuntOptions, Violation } from "../kernel/hunt.ts";
import type { Action, Scheduled } from "./actions.ts";
import { specOf } from "./election.ts";
import { exponentialLatency, fixedLatency, type Latency, uniformLatency } from "../kernel/latency.ts";
import { PARTITION_NAMES, shuffled } from "./partitions.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { AnySubject } from "./subject.ts";
import { subjectNamed } from "./subjects/index.ts";
import type { ProtocolEvent } from "./trace.ts";
import { ProtocolWorld } from "./world.ts";

/** This is more than ten times as many inputs as any sound protocol needed in the worlds of 20,000 seeds. */
const EVENTS_MAX = 500_000;

/** A world that was drawn for a hunt. */
export interface HuntedWorld {
  readonly spec: ProtocolSpec;
  /** The faults' places in `spec.schedule` are 0…faults−1; the actions that mend the core follow. */
  readonly faults: number;
  /** The time when the core is mended. */
  readonly calmAtMs: number;
  readonly core: readonly NodeId[];
  /** The core must agree within this time after that. */
  readonly withinMs: number;
}

/** The result of one seed of a protocol. */
export interface ProtocolHuntResult extends Hunted {
  readonly world: HuntedWorld;
  readonly trace: readonly ProtocolEvent[];
}

/** Draws the world of a protocol and its faults from a seed. */
export function drawHuntedWorld(name: string, seed: number): HuntedWorld {
  const subject = subjectNamed(name);
  const rng = createRng(seed, 71);
  const settings = settingsOf(subject.node, subject.drawSettings?.(rng));
  const nodes = nextOf(rng, [3, 3, 4, 5, 5, 5, 6, 7]);
  const withinMs = subject.liveness.withinMs(settings, nodes);
  const calmAtMs = nextBetween(rng, 0.5, 4) * withinMs;
  const core = drawCore(subject, nodes, rng);
  const faults = drawFaults(subject, nodes, calmAtMs, 4 * subject.delayMaxMs(settings), rng);
  const latency = drawWorldLatency(subject, settings, rng);
  const calm = subject.tolerates.slowness ? calmLatency(settings, subject) : latency;
  const spec = specOf(name, {
    nodes,
    seed,
    settings,
    links: {
      latency,
      lossChance: subject.tolerates.loss ? nextOf(rng, [0, 0, 0.02, 0.2]) : 0,
      duplicateChance: subject.tolerates.duplicates ? nextOf(rng, [0, 0, 0.05, 0.3]) : 0,
      isFifo: !subject.tolerates.reordering,
    },
    diskLatency: drawDisk(subject, settings, rng),
    losesWrites: subject.tolerates.lostWrites,
    ring: nextChance(rng, 0.5) ? shuffled(nodes, rng) : Array.from({ length: nodes }, (_, index) => index + 1),
    attributes: Array.from({ length: nodes }, (_, index) => drawAttribute(subject, index + 1, rng)),
    clockRates: Array.from({ length: nodes }, () => 1 + nextBetween(rng, -1, 1) * subject.tolerates.drift),
    down: shuffled(nodes, rng).slice(0, nextChance(rng, 0.3) ? nextInteger(rng, 0, nodes - 1) : 0),
    detectMs: settings["detector"] === "told" ? nextBetween(rng, 1, 5) * subject.delayMaxMs(settings) : 0,
    schedule: [...faults, ...mend(subject, core, nodes, calmAtMs, calm, rng)],
    writeEveryMs: nextChance(rng, 0.3) ? withinMs / 20 : 0,
  });
  return { spec, faults: faults.length, calmAtMs, core, withinMs };
}

/** Runs the world that a seed draws for a protocol, and judges it. */
export function huntProtocol(name: string, seed: number, options: HuntOptions = {}): ProtocolHuntResult {
  const drawn = drawHuntedWorld(name, seed);
  const { judgedBy, faults, isRecorded = false } = options;
  const schedule = drawn.spec.schedule.filter(
    (_step, place) => place >= drawn.faults || (faults?.includes(place) ?? true),
  );
  const judges = (judge: string): boolean => judgedBy?.includes(judge) ?? true;
  const invariants = subjectNamed(name).invariants.filter((invariant) => judges(invariant.name));
  const world = new ProtocolWorld({ ...drawn.spec, schedule }, { isRecorded, invariants });
  const isLive = world.subject.liveness.isPromised?.(drawn.spec.settings) ?? true;
  const violation = runPhases(world, drawn, isLive && judges("liveness"));
  if (violation !== undefined)
    world.trace.record(violation.atMs, { type: "violation", invariant: violation.invariant, story: violation.story });
  return {
    seed,
    label: name,
    world: drawn,
    faults: faults ?? Array.from({ length: drawn.faults }, (_, place) => place),
    violation,
    events: world.events,
    hash: world.trace.hash.text(),
    trace: world.trace.events,
  };
}

/** An assertion that fails inside a node is a finding like any other. */
function runPhases(world: ProtocolWorld, drawn: HuntedWorld, judgesLiveness: boolean): Violation | undefined {
  try {
    return runTo(world, drawn.calmAtMs) ?? runLiveness(world, drawn, judgesLiveness);
  } catch (error) {
    return { invariant: "assertion", story: error instanceof Error ? error.message : String(error), atMs: world.nowMs };
  }
}

function runTo(world: ProtocolWorld, atMs: number): Violation | undefined {
  while (world.kernel.nextAtMs <= atMs && world.violations.length === 0) {
    world.step();
    if (world.events > EVENTS_MAX) return storm(world);
  }
  return world.violations[0];
}

/** Nodes that answer each message with more than one drown each other. Without this bound such a world would fill the memory and never end. */
function storm(world: ProtocolWorld): Violation {
  const story = `more than ${EVENTS_MAX} inputs were given to nodes: each message leads to more messages`;
  return { invariant: "bounded-traffic", story, atMs: world.nowMs };
}

/** The core agrees within the time, and then still agrees on the same leader for half of it again. */
function runLiveness(world: ProtocolWorld, drawn: HuntedWorld, isJudged: boolean): Violation | undefined {
  const { calmAtMs, withinMs, core } = drawn;
  const early = runTo(world, calmAtMs + withinMs);
  if (early !== undefined) return early;
  const leader = leaderWithin(world, core);
  const term = leader === 0 ? 0 : world.member(leader).term;
  const story = (what: string): Violation => ({
    invariant: "liveness",
    story: `core ${core.join(",")}: ${what}`,
    atMs: world.nowMs,
  });
  if (isJudged && leader === 0) return story(`no agreed leader ${Math.round(withinMs)} ms after it was mended`);
  const served = runTo(world, calmAtMs + withinMs * 1.25);
  if (served !== undefined) return served;
  world.clients?.stop();
  const late = runTo(world, calmAtMs + withinMs * 1.5);
  if (late !== undefined) return late;
  world.judgeAtRest();
  const [broken] = world.violations;
  if (broken !== undefined) return broken;
  const isSame = leaderWithin(world, core) === leader && (leader === 0 || world.member(leader).term === term);
  if (isJudged && !isSame) return story(`${leader} led in term ${term} and was replaced, though nothing happened`);
  const unserved = isJudged ? unservedBy(world, core, calmAtMs + withinMs) : undefined;
  return unserved === undefined ? undefined : story(unserved);
}

/** For nodes with a log: proposals made since then are done, and have reached every machine of the core since clients went quiet. */
function unservedBy(world: ProtocolWorld, core: readonly NodeId[], sinceMs: number): string | undefined {
  const { clients } = world;
  if (clients === undefined) return undefined;
  if (clients.acknowledgedMs < sinceMs) return "nothing that clients have proposed since it agreed is done";
  const { acknowledged } = clients;
  const behind = core.find((id) => (world.member(id).replica?.applied ?? 0) < acknowledged);
  return behind === undefined ? undefined : `${behind} has not applied ${acknowledged}, which was done long ago`;
}

/** A leader from outside does not count: it cannot hear the core, or the core cannot hear it. */
function leaderWithin(world: ProtocolWorld, core: readonly NodeId[]): NodeId {
  const leader = world.agreedLeader(core);
  return core.includes(leader) ? leader : 0;
}

// ---- drawing ---------------------------------------------------------------------------------------------------------------------------

function drawCore(subject: AnySubject, nodes: number, rng: Rng): readonly NodeId[] {
  const least = subject.liveness.needs === "majority" ? (nodes >> 1) + 1 : 1;
  const drawn = shuffled(nodes, rng).slice(0, nextInteger(rng, least, nodes));
  return [...new Set([...drawn, ...(subject.liveness.mustInclude ?? [])])].toSorted((a, b) => a - b);
}

function drawFaults(
  subject: AnySubject,
  nodes: number,
  untilMs: number,
  shortMs: number,
  rng: Rng,
): readonly Scheduled[] {
  const draws = drawersOf(subject, nodes);
  if (draws.length === 0) return [];
  const faults: Scheduled[] = [];
  for (let left = nextInteger(rng, 0, 12); left > 0; left--) {
    const atMs = nextBetween(rng, 0, untilMs);
    // Some faults are over while messages from before them are still under way.
    const lastsMs = nextChance(rng, 0.4) ? nextBetween(rng, 0, shortMs) : nextBetween(rng, 0, untilMs / 3);
    const endMs = Math.min(untilMs, atMs + lastsMs);
    const [begin, end] = nextOf(rng, draws)(rng);
    faults.push({ atMs, action: begin });
    if (end !== undefined) faults.push({ atMs: endMs, action: end });
  }
  return faults;
}

type Drawer = (rng: Rng) => readonly [begin: Action, end: Action | undefined];

function drawersOf({ tolerates, commands, initiators }: AnySubject, nodes: number): readonly Drawer[] {
  const someone = (rng: Rng): NodeId => nextInteger(rng, 1, nodes);
  const link = (rng: Rng): { from: NodeId; to: NodeId } => ({ from: someone(rng), to: someone(rng) });
  const crash: Drawer = (rng) => {
    const node = someone(rng);
    return [{ type: "crash", node }, nextChance(rng, 0.8) ? { type: "restart", node } : undefined];
  };
  const ambush: Drawer = (rng) => [
    { type: "crash-role", role: nextOf(rng, ["leader", "candidate"]) },
    nextChance(rng, 0.7) ? { type: "restart-all" } : undefined,
  ];
  const pause: Drawer = (rng) => {
    const node = someone(rng);
    return [
      { type: "pause", node },
      { type: "resume", node },
    ];
  };
  const stun: Drawer = () => [{ type: "pause-role", role: "leader" }, { type: "resume-all" }];
  const partition: Drawer = (rng) => [{ type: "partition", how: nextOf(rng, PARTITION_NAMES) }, { type: "heal" }];
  const cut: Drawer = (rng) => {
    const between = link(rng);
    return [
      { type: "cut", ...between },
      { type: "mend", ...between },
    ];
  };
  const hold: Drawer = (rng) => {
    const between = link(rng);
    return [
      { type: "hold", ...between },
      { type: "release", ...between },
    ];
  };
  const campaign: Drawer = (rng) => [{ type: "tell", node: someone(rng), command: "campaign", argument: 0 }, undefined];
  const transfer: Drawer = (rng) => [
    { type: "tell", node: someone(rng), command: "transfer", argument: someone(rng) },
    { type: "tell", node: someone(rng), command: "transfer", argument: someone(rng) },
  ];
  const takeover: Drawer = (rng) => [{ type: "tell", node: someone(rng), command: "takeover", argument: 0 }, undefined];
  return [
    ...(Object.hasOwn(commands, "transfer") ? [transfer] : []),
    ...(Object.hasOwn(commands, "takeover") ? [takeover, takeover, takeover] : []),
    ...(tolerates.crashes ? [crash, ambush] : []),
    ...(tolerates.pauses ? [pause, stun] : []),
    ...(tolerates.partitions ? [partition, partition, cut] : []),
    ...(tolerates.slowness ? [hold] : []),
    ...(initiators !== "none" && Object.hasOwn(commands, "campaign") ? [campaign] : []),
  ];
}

function drawAttribute({ electsBy }: AnySubject, id: NodeId, rng: Rng): number {
  return electsBy === "attribute" && nextChance(rng, 0.5) ? nextInteger(rng, 1, 9) : id;
}

function drawWorldLatency(subject: AnySubject, settings: NodeSettings, rng: Rng): Latency {
  const maxMs = subject.delayMaxMs(settings);
  if (!subject.tolerates.slowness)
    return nextOf(rng, [
      fixedLatency(maxMs),
      fixedLatency(0),
      uniformLatency(0, maxMs),
      uniformLatency(maxMs / 2, maxMs),
    ]);
  return nextOf(rng, [
    fixedLatency(0),
    uniformLatency(0, maxMs),
    uniformLatency(0, maxMs * 5),
    exponentialLatency(0, maxMs * 2),
  ]);
}

/** In the liveness phase messages are as quick as the protocol's timeouts were chosen for. */
function calmLatency(settings: NodeSettings, subject: AnySubject): Latency {
  return uniformLatency(0, subject.delayMaxMs(settings));
}

function drawDisk(subject: AnySubject, settings: NodeSettings, rng: Rng): Latency {
  const maxMs = subject.delayMaxMs(settings);
  return subject.tolerates.slowness
    ? nextOf(rng, [fixedLatency(0), uniformLatency(0, maxMs), uniformLatency(0, maxMs * 4)])
    : uniformLatency(0, maxMs / 20);
}

/** The core is up and whole; the other members are down, or up and unreachable, in one direction or both. */
function mend(
  subject: AnySubject,
  core: readonly NodeId[],
  nodes: number,
  atMs: number,
  calm: Latency,
  rng: Rng,
): readonly Scheduled[] {
  const others = Array.from({ length: nodes }, (_, index) => index + 1).filter((id) => !core.includes(id));
  const actions: Action[] = [
    { type: "heal" },
    { type: "loss", chance: 0 },
    { type: "duplicate", chance: 0 },
    { type: "latency", latency: calm },
  ];
  for (const node of core) actions.push({ type: "resume", node }, { type: "restart", node });
  for (const node of others) actions.push(...shutOut(subject, node, core, rng));
  // The actions come one after the other, in this order.
  return actions.map((action, place) => ({ atMs: atMs + place * 1e-6, action }));
}

function shutOut(
  { tolerates, liveness }: AnySubject,
  node: NodeId,
  core: readonly NodeId[],
  rng: Rng,
): readonly Action[] {
  const drawn = tolerates.partitions ? nextOf(rng, ["down", "cut", "deaf", "dumb"] as const) : "down";
  const how = drawn !== "down" && liveness.enduresHalfCuts === false ? "cut" : drawn;
  if (how === "down") return [{ type: "crash", node }];
  const toNode = how === "dumb" ? [] : core.map((member): Action => ({ type: "cut", from: member, to: node }));
  const fromNode = how === "deaf" ? [] : core.map((member): Action => ({ type: "cut", from: node, to: member }));
  return [...toNode, ...fromNode];
}
