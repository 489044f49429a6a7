// What a fault does in a world of partitions.
import type { PartitionFault } from "./spec.ts";
import type { PartitionWorld } from "./world.ts";

export function inflict(world: PartitionWorld, { kind, who, partition, lastsMs, index }: PartitionFault): void {
  const process = who === undefined ? world.processes.find(({ office }) => office !== undefined) : world.processes[who];
  if (process === undefined) return;
  world.note({ is: "fault", who: process.who, index, kind });
  switch (kind) {
    case "kill":
      return world.kill(process, lastsMs);
    case "pause":
      return world.pause(process, lastsMs);
    case "cut":
      return world.cut(process, lastsMs);
    case "leave":
      if (process.pauses > 0) return;
      process.isStaying = false;
      process.leave();
      return world.later(lastsMs, undefined, () => void (process.isStaying = true));
    case "drain":
      wish(world, new Set([...world.wishes.draining, `m${process.who}`]), world.wishes.transfers);
      return world.later(lastsMs, undefined, () => {
        const draining = new Set(world.wishes.draining);
        draining.delete(`m${process.who}`);
        wish(world, draining, world.wishes.transfers);
      });
    case "transfer":
      return wish(world, world.wishes.draining, new Map([...world.wishes.transfers, [partition, `m${process.who}`]]));
  }
}

function wish(world: PartitionWorld, draining: ReadonlySet<string>, transfers: ReadonlyMap<number, string>): void {
  world.wishes = { draining, transfers };
  world.judge.cause(world.nowMs);
}
