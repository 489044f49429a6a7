// The hunt for STONITH: one seed draws a world (spec.ts), and the judge watches it.
import { type TaskHunt, taskHunt } from "../kernel/task-hunt.ts";
import { describeStonithFault, drawStonithWorld, type StonithWorldSpec } from "./spec.ts";
import { STONITH_MINIMA } from "./tallies.ts";
import type { StonithEvent } from "./trace.ts";
import { StonithWorld } from "./world.ts";

export const STONITH_HUNT: TaskHunt<StonithEvent> = taskHunt({
  name: "stonith",
  minima: STONITH_MINIMA,
  draw: drawStonithWorld,
  create: (spec, options) => new StonithWorld(spec, options),
  label,
  describeFault: describeStonithFault,
});

function label({ nodes, plan, watchdogs, fates }: StonithWorldSpec): string {
  const watched = Object.keys(watchdogs).length;
  return `${nodes.length} nodes, ${plan.devices.length} devices (${[...new Set(fates)].join(", ")}), ${watched} watchdogs`;
}
