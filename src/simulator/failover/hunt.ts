// The hunt for failovers: one seed draws a world (spec.ts), and the judge watches it.
import { type TaskHunt, taskHunt } from "../kernel/task-hunt.ts";
import { describeFailoverFault, drawFailoverWorld, type FailoverWorldSpec } from "./spec.ts";
import { FAILOVER_MINIMA } from "./tallies.ts";
import type { FailoverEvent } from "./trace.ts";
import { FailoverWorld } from "./world.ts";

export const FAILOVER_HUNT: TaskHunt<FailoverEvent> = taskHunt({
  name: "failover",
  minima: FAILOVER_MINIMA,
  draw: drawFailoverWorld,
  create: (spec, options) => new FailoverWorld(spec, options),
  label,
  describeFault: describeFailoverFault,
});

function label({ plan }: FailoverWorldSpec): string {
  const { hasGuards, shots, confirmations, servers } = plan;
  const fence = hasGuards ? (shots !== undefined ? "seat and device" : "seat") : "device";
  return `${Object.keys(servers).length} servers, fenced by ${fence}, ${confirmations} confirmations`;
}
