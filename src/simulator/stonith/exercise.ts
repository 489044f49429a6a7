// Exercise 5 of the seed document: STONITH for three nodes whose machines are stopped by the API of a cloud. The leader's machine is paused, and wakes much later; the actions of the others depend on the
// API. The real machine plays it in the world of STONITH, and the invariants of that world judge it.
import type { HistoryKind } from "../../stonith/record.ts";
import type { Violation } from "../kernel/hunt.ts";
import type { DeviceFate, StonithFault, StonithWorldSpec } from "./spec.ts";
import type { StonithEvent } from "./trace.ts";
import { StonithWorld } from "./world.ts";

/** The behaviour of the cloud's API in one case. */
export type CloudCase = "works" | "fails" | "hangs" | "lies" | "late";

/** The result of one case. */
export interface CloudPlay {
  readonly what: CloudCase;
  /** The time from the pause of the leader to the work of the next one; undefined: no node took over before the leader itself was back. */
  readonly takeoverMs: number | undefined;
  /** The reason that permitted the takeover. */
  readonly permittedBy: "device" | "human" | "settled" | undefined;
  readonly shots: number;
  /** The number of agents that said "done" while the machine was on: believing them would have meant two nodes at work. */
  readonly lies: number;
  /** The number of shots that came when their term was over. The machines that they hit were banned. */
  readonly lateShots: number;
  readonly violation: Violation | undefined;
  readonly events: readonly StonithEvent[];
}

const PAUSE_AT_MS = 3000;
const HUMAN_AT_MS = 15_000;
const END_MS = 30_000;

/** The possible behaviours of the cloud API of exercise 5. */
export const CLOUD_CASES: readonly CloudCase[] = ["works", "fails", "hangs", "lies", "late"];

/** Plays one takeover of three nodes against a cloud API that behaves as `what` says. */
export function playCloud(what: CloudCase, seed: number): CloudPlay {
  const world = new StonithWorld(specOf(what, seed), { isRecorded: true, judgedBy: undefined });
  world.run();
  const { events } = world.trace;
  const begun = events.filter(({ is }) => is === "begins");
  const second = begun.find(({ atMs }) => atMs > PAUSE_AT_MS);
  const before = second === undefined ? [] : events.filter(({ atMs }) => atMs <= second.atMs);
  return {
    what,
    takeoverMs: second === undefined ? undefined : Math.round(second.atMs - PAUSE_AT_MS),
    permittedBy: permitted(before),
    shots: world.tallies.shots,
    lies: world.tallies["devices that lied"],
    lateShots: world.tallies["shots of a term that was over"],
    violation: world.judge.violation,
    events,
  };
}

/** The entries of the history that permit a takeover. */
const PERMISSIONS: Readonly<Partial<Record<HistoryKind, CloudPlay["permittedBy"]>>> = {
  off: "device",
  confirmed: "human",
  cleared: "settled",
};

function permitted(events: readonly StonithEvent[]): CloudPlay["permittedBy"] {
  return events.map(permission).findLast((permittedBy) => permittedBy !== undefined);
}

function permission(event: StonithEvent): CloudPlay["permittedBy"] {
  if (event.is !== "news" || event.news.is !== "history") return undefined;
  return PERMISSIONS[event.news.entry.is];
}

function specOf(what: CloudCase, seed: number): StonithWorldSpec {
  const nodes = ["n0", "n1", "n2"];
  const fates: readonly DeviceFate[] = what === "late" ? ["works"] : [what];
  const fault = (index: number, kind: StonithFault["kind"], atMs: number, lastsMs: number): StonithFault => ({
    index,
    atMs,
    kind,
    who: undefined,
    lastsMs,
  });
  const pause = fault(0, "pause-node", PAUSE_AT_MS, END_MS);
  return {
    seed,
    nodes,
    plan: {
      members: nodes,
      storeMembers: [],
      devices: nodes,
      maxOff: 1,
      shotsMax: 100,
      windowMs: 60_000,
      delayMs: 300,
      spreadMs: 500,
      retryMs: 1000,
      retryMaxMs: 4000,
      attemptsMax: 3,
    },
    watchdogs: {},
    ttlMs: 2000,
    drainMs: 400,
    pollMs: 100,
    latencyMaxMs: 5,
    lossChance: 0,
    fates,
    // An API that cannot be reached, or hangs, answers no question either.
    muteChance: what === "fails" || what === "hangs" ? 1 : 0,
    agentMaxMs: what === "late" ? 5 : 400,
    stubbornChance: 0,
    survivesChance: 0,
    workMaxMs: 1_000_000,
    bootMaxMs: 4000,
    strikeChance: 0,
    pauseFirstShooterMs: what === "late" ? 9000 : undefined,
    faults: what === "works" || what === "late" ? [pause] : [pause, fault(1, "human", HUMAN_AT_MS, 0)],
    calmAtMs: END_MS,
    endMs: END_MS,
  };
}
