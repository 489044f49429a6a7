// Carries out the faults of a world of STONITH.
import { nextBetween, nextOf } from "../../base/rng.ts";
import type { StonithFault } from "./spec.ts";
import type { StonithWorld } from "./world.ts";

export function inflict(world: StonithWorld, { index, kind, who, lastsMs }: StonithFault): void {
  world.note({ is: "fault", index, kind });
  const name = who === undefined ? world.store.seat.holder?.process.name : world.spec.nodes[who];
  const node = name === undefined ? nextOf(world.rng, world.nodes) : world.node(name);
  switch (kind) {
    case "kill-process":
      return world.kill(node.member, lastsMs);
    case "pause-node":
      return world.pauseNode(node, lastsMs);
    case "cut-node":
      return world.cut(node.member, lastsMs);
    case "power-failure":
      return world.powerOff(node, nextBetween(world.rng, 300, world.spec.bootMaxMs));
    case "store-down":
      return world.loseStore(lastsMs);
    case "order-fence":
      return world.operator.fence(nextOf(world.rng, world.nodes).name);
    case "human":
      return world.operator.help();
  }
}
