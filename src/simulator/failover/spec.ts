// A world of failovers, drawn from one seed: the number of monitors and servers, the way of fencing, the answers of the store and the network, and the faults.
import { createRng, nextBetween, nextChance, nextInteger, nextOf } from "../../base/rng.ts";
import type { FailoverPlan, ShotRules } from "../../failover/state.ts";
import type { Step } from "../../failover/record.ts";
import { describeSeatFault, drawSeatFaults, type SeatFault, type SeatSpec } from "../kernel/seat-spec.ts";

export interface FailoverWorldSpec extends SeatSpec {
  readonly plan: FailoverPlan;
  readonly downAfterMs: number;
  /** The chance that nobody hears of a promotion or retirement that was carried out. */
  readonly unknownChance: number;
  /** True: as in PostgreSQL, a history is a number, a promotion takes the one that it is given, and a replica that has parted is mended by its guard. False: as in Redis, every history has a name of its own. */
  readonly hasTimelines: boolean;
  /** The number of writes that a replica may be behind, at most, when it copies. */
  readonly copyMax: number;
  /** The index of a server that is the primary before anybody watches it; only where no guard starts the services. */
  readonly runsAlready: number | undefined;
  /** The chance that a service that is killed has lost everything. */
  readonly forgetsChance: number;
  /** The leader of the monitors dies, or is paused, right after one of these steps was written and before it hears of that. */
  readonly strikesAfter: readonly Step["at"][];
  readonly strikeChance: number;
  /** The servers that a monitor cannot reach when everything else is well again. At least one monitor reaches all of them. */
  readonly lastingCuts: Readonly<Record<string, readonly string[]>>;
  /** When which server is promoted behind the back of its guard, if it is a replica then and nothing is under way. */
  readonly strays: readonly { readonly atMs: number; readonly server: string }[];
  readonly faults: readonly FailoverFault[];
}

export type FailoverFaultKind =
  | "kill-monitor"
  | "pause-monitor"
  | "cut-monitor"
  | "blind-monitor"
  | "kill-service"
  | "mute-service"
  | "lag-service"
  | "kill-guard"
  | "pause-guard"
  | "cut-guard"
  | "kill-machine"
  | "store-down"
  | "switchover"
  | "pause-failover";

/** The processes in charge are the monitor that leads, and the primary. */
export type FailoverFault = SeatFault<FailoverFaultKind>;

const KINDS: readonly FailoverFaultKind[] = [
  "kill-monitor",
  "pause-monitor",
  "cut-monitor",
  "blind-monitor",
  "kill-service",
  "kill-service",
  "mute-service",
  "mute-service",
  "lag-service",
  "kill-guard",
  "pause-guard",
  "pause-guard",
  "cut-guard",
  "cut-guard",
  "kill-machine",
  "store-down",
  "switchover",
  "switchover",
  "pause-failover",
];

const STEPS: readonly Step["at"][] = ["fencing", "handing-over", "choosing", "promoting", "repointing", "steady"];

export function drawFailoverWorld(seed: number): FailoverWorldSpec {
  const rng = createRng(seed, 91);
  const servers = nextInteger(rng, 2, 4);
  const fence = nextOf(rng, ["seat", "seat", "seat", "both", "device"] as const);
  const isSync = servers > 2 && fence !== "device" && nextChance(rng, 0.4);
  const hasTimelines = isSync || (fence !== "device" && nextChance(rng, 0.3));
  const ttlMs = nextOf(rng, [600, 1500, 3000]);
  const calmAtMs = nextBetween(rng, 10_000, 30_000);
  const hasOnlooker = servers > 2 && nextChance(rng, 0.2);
  const priorities = Array.from({ length: servers }, (_, index) =>
    hasOnlooker && index === servers - 1 ? 0 : nextOf(rng, [100, 100, 50]),
  );
  const plan: FailoverPlan = {
    monitors: ["m0", "m1", "m2"],
    quorum: 2,
    servers: Object.fromEntries(priorities.map((priority, index) => [`s${index}`, priority])),
    lagMax: isSync ? 0 : nextOf(rng, [0, 3]),
    hasGuards: fence !== "device",
    shots: fence === "seat" ? undefined : drawShots(seed, servers),
    confirmations: isSync ? nextInteger(rng, 1, servers - (hasOnlooker ? 2 : 1)) : 0,
    failoversMax: 1000,
    windowMs: 60_000,
    settleMs: nextOf(rng, [200, 1000]),
    promoteWithinMs: nextOf(rng, [500, 3000]),
    repointWithinMs: 2000,
    handOverWithinMs: nextOf(rng, [300, 2000]),
    yieldAfterMs: 800,
    retryMs: 100,
    isDryRun: false,
  };
  return {
    seed,
    plan,
    hasTimelines,
    runsAlready: plan.hasGuards ? undefined : drawRunning(seed, servers),
    ttlMs,
    drainMs: ttlMs / 5,
    downAfterMs: nextOf(rng, [300, 1000]),
    pollMs: nextOf(rng, [40, 100]),
    latencyMaxMs: nextOf(rng, [0, 2, 40, 150]),
    lossChance: nextOf(rng, [0, 0.05, 0.25]),
    unknownChance: nextOf(rng, [0, 0.3]),
    copyMax: nextOf(rng, [1, 5, 1000]),
    forgetsChance: nextOf(rng, [0, 0.3]),
    strikesAfter: STEPS.filter(() => nextChance(rng, 0.5)),
    strikeChance: nextOf(rng, [0, 0.3, 0.6]),
    lastingCuts: hasTimelines && plan.shots === undefined ? drawLastingCuts(seed, plan) : {},
    strays: plan.hasGuards && !hasTimelines ? drawStrays(seed, servers, calmAtMs) : [],
    faults: drawSeatFaults(
      {
        most: 14,
        kinds: KINDS,
        untilMs: calmAtMs,
        inChargeChance: 0.7,
        count: servers,
        ttlMs,
        longestMs: 4 * ttlMs,
      },
      rng,
    ),
    calmAtMs,
    endMs: calmAtMs + 15_000,
  };
}

/** It is drawn from a stream of its own, so that the rest of a world stays the same. */
function drawRunning(seed: number, servers: number): number | undefined {
  const rng = createRng(seed, 94);
  return nextChance(rng, 0.5) ? nextInteger(rng, 0, servers - 1) : undefined;
}

/** It is drawn from a stream of its own, so that the rest of a world stays the same. Each monitor but one may be cut off from one server, and no two of them from the same one: a quorum that cannot see a primary replaces it, again and again. There are no devices: a leader does not see that a machine that it shot is back, if it is cut off from it. */
function drawLastingCuts(seed: number, { monitors, servers }: FailoverPlan): FailoverWorldSpec["lastingCuts"] {
  const rng = createRng(seed, 95);
  const whole = nextOf(rng, monitors);
  const left = Object.keys(servers);
  const cut = monitors.filter((monitor) => monitor !== whole && nextChance(rng, 0.6));
  const drop = (): readonly string[] => left.splice(nextInteger(rng, 0, left.length - 1), 1);
  return Object.fromEntries(cut.map((monitor) => [monitor, drop()]));
}

/** It is drawn from a stream of its own, so that the rest of a world stays the same. Some of them come when nothing else fails any more. */
function drawStrays(seed: number, servers: number, calmAtMs: number): FailoverWorldSpec["strays"] {
  const rng = createRng(seed, 96);
  const count = nextChance(rng, 0.5) ? nextInteger(rng, 1, 4) : 0;
  return Array.from({ length: count }, () => ({
    atMs: nextBetween(rng, 2000, calmAtMs + 5000),
    server: `s${nextInteger(rng, 0, servers - 1)}`,
  }));
}

/** It is drawn from a stream of its own, so that the rest of a world stays the same. Machines boot by themselves: so only a few may be off at one time, and still everything goes on. */
function drawShots(seed: number, servers: number): ShotRules {
  const rng = createRng(seed, 93);
  const names = Array.from({ length: servers }, (_, index) => `s${index}`);
  return {
    nodes: Object.fromEntries(names.map((name) => [name, name])),
    isRequired: nextChance(rng, 0.5),
    limits: {
      node: "",
      life: "",
      members: names,
      storeMembers: [],
      devices: names,
      maxOff: nextInteger(rng, 1, servers - 1),
      shotsMax: 1000,
      windowMs: 60_000,
      delayMs: 0,
      spreadMs: 0,
      retryMs: 100,
      retryMaxMs: 400,
      attemptsMax: nextOf(rng, [1, 3, 1000]),
      watchdog: undefined,
      isOnlyForOrders: false,
    },
  };
}

export function describeFailoverFault(fault: FailoverFault): string {
  return describeSeatFault(fault, fault.who === undefined ? "the one in charge" : `number ${fault.who}`);
}
