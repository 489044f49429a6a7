// A world of STONITH, drawn from one seed: the number of nodes, which of them have a device, a watchdog or a server of the store, the behaviour of devices and of the store, and the faults.
import { createRng, nextBetween, nextChance, nextOf } from "../../base/rng.ts";
import { defaultMaxOff } from "../../stonith/limits.ts";
import type { StonithPlan } from "../../stonith/state.ts";
import { describeSeatFault, drawSeatFaults, type SeatFault, type SeatSpec } from "../kernel/seat-spec.ts";

/** The result of an order to power a machine off. */
export type DeviceFate =
  /** The machine goes off, and the agent says so. */
  | "works"
  /** The agent says that the machine is off, and it is not. */
  | "lies"
  /** The agent never ends by itself, and nothing happens. */
  | "hangs"
  /** The agent says that it failed, and it did. */
  | "fails"
  /** The machine goes off, and the agent never ends by itself. */
  | "works-and-hangs";

export interface StonithWorldSpec extends SeatSpec {
  readonly nodes: readonly string[];
  readonly plan: Omit<StonithPlan, "node" | "life" | "watchdog" | "isOnlyForOrders">;
  /** The nodes with a hardware watchdog, and the time after which it resets a machine. */
  readonly watchdogs: Readonly<Record<string, number>>;
  /** The fate is drawn for each order, until the calm. */
  readonly fates: readonly DeviceFate[];
  /** The chance that a device does not answer a question. */
  readonly muteChance: number;
  readonly agentMaxMs: number;
  /** The chance of work that does not stop when its term ends. */
  readonly stubbornChance: number;
  /** The chance that a part of the work goes on when its process is killed. */
  readonly survivesChance: number;
  readonly workMaxMs: number;
  /** A machine that is off is started after this long, at most. */
  readonly bootMaxMs: number;
  /** The chance that a leader is killed or paused right after one of its writes, or right before an agent is started. */
  readonly strikeChance: number;
  /** The machine of the first shooter is paused for this long, between its decision and its shot; undefined: only by chance. */
  readonly pauseFirstShooterMs: number | undefined;
  readonly faults: readonly StonithFault[];
}

export type StonithFaultKind =
  | "kill-process"
  | "pause-node"
  | "cut-node"
  | "power-failure"
  | "store-down"
  | "order-fence"
  | "human";

/** The node in charge is the one that leads. */
export type StonithFault = SeatFault<StonithFaultKind>;

const KINDS: readonly StonithFaultKind[] = [
  "kill-process",
  "kill-process",
  "pause-node",
  "pause-node",
  "pause-node",
  "cut-node",
  "cut-node",
  "power-failure",
  "store-down",
  "order-fence",
  "order-fence",
  "human",
  "human",
];

const FATES: readonly (readonly DeviceFate[])[] = [
  ["works"],
  ["works", "works", "lies", "hangs", "fails", "works-and-hangs"],
  ["works", "lies"],
  ["works", "works-and-hangs"],
  ["lies", "hangs", "fails"],
];

export function drawStonithWorld(seed: number): StonithWorldSpec {
  const rng = createRng(seed, 101);
  const count = nextOf(rng, [2, 3, 3, 4, 5]);
  const nodes = Array.from({ length: count }, (_, index) => `n${index}`);
  const hasAllDevices = nextChance(rng, 0.7);
  const hasWatchdogs = nextChance(rng, 0.35);
  const isStoreHere = count >= 3 && nextChance(rng, 0.3);
  const ttlMs = nextOf(rng, [600, 1500, 3000]);
  const calmAtMs = nextBetween(rng, 8000, 24_000);
  const plan: StonithWorldSpec["plan"] = {
    members: nodes,
    storeMembers: isStoreHere ? nodes.slice(0, 3) : [],
    devices: nodes.filter(() => nextChance(rng, hasWatchdogs ? 0.4 : hasAllDevices ? 1 : 0.5)),
    maxOff: nextChance(rng, 0.7) ? defaultMaxOff(nodes) : 1,
    shotsMax: nextOf(rng, [2, 1000]),
    windowMs: nextOf(rng, [2000, 8000]),
    delayMs: nextOf(rng, [0, 200]),
    spreadMs: nextOf(rng, [0, 300]),
    retryMs: 100,
    retryMaxMs: 400,
    attemptsMax: nextOf(rng, [1, 3]),
  };
  return {
    seed,
    nodes,
    plan,
    watchdogs: Object.fromEntries(
      nodes.filter(() => hasWatchdogs && nextChance(rng, 0.7)).map((node) => [node, nextOf(rng, [300, 1000, 3000])]),
    ),
    ttlMs,
    drainMs: ttlMs / 5,
    pollMs: nextOf(rng, [60, 150]),
    latencyMaxMs: nextOf(rng, [0, 2, 40, 150]),
    lossChance: nextOf(rng, [0, 0.05, 0.25]),
    fates: nextOf(rng, FATES),
    muteChance: nextOf(rng, [0, 0.3]),
    agentMaxMs: nextOf(rng, [50, 400]),
    stubbornChance: nextOf(rng, [0.1, 0.6]),
    survivesChance: nextOf(rng, [0, 0.5]),
    workMaxMs: nextOf(rng, [2000, 20_000]),
    bootMaxMs: nextOf(rng, [1000, 6000]),
    strikeChance: nextOf(rng, [0, 0.1, 0.3]),
    pauseFirstShooterMs: undefined,
    faults: drawSeatFaults(
      { most: 16, kinds: KINDS, untilMs: calmAtMs, inChargeChance: 0.6, count, ttlMs, longestMs: 6 * ttlMs },
      rng,
    ),
    calmAtMs,
    endMs: calmAtMs + 18_000,
  };
}

export function describeStonithFault(fault: StonithFault): string {
  return describeSeatFault(fault, fault.who === undefined ? "the one that leads" : `n${fault.who}`);
}
