// The hunt for partitions: one seed draws a world (spec.ts), the judge looks on.
import { type TaskHunt, taskHunt } from "../kernel/task-hunt.ts";
import { describePartitionFault, drawPartitionWorld } from "./spec.ts";
import { PARTITION_MINIMA } from "./tallies.ts";
import type { PartitionEvent } from "./trace.ts";
import { PartitionWorld } from "./world.ts";

export const PARTITIONS_HUNT: TaskHunt<PartitionEvent> = taskHunt({
  name: "partitions",
  minima: PARTITION_MINIMA,
  draw: drawPartitionWorld,
  create: (spec, options) => new PartitionWorld(spec, options),
  label: ({ members, layout }) => `${members} members, ${layout.count} partitions`,
  describeFault: describePartitionFault,
});
