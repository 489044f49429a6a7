// The last death in a world of partitions, long after the calm has begun: one member is killed, or the controller, and another member with it. How soon everything must be led again depends on which:
//
//   the controller lives   one ttl and one renewal interval: it has watched the seat of the dead all the time
//   the controller dies    two ttls and one renewal interval: its own seat must run out, and where takers judge, the next controller begins to watch only then
//
// To each comes what a look and two requests take here.
import type { PartitionProcess } from "./process.ts";
import { unledAt } from "./rest.ts";
import type { PartitionWorld } from "./world.ts";

const REQUESTS_MS = 100;

export function lastDeath(world: PartitionWorld): void {
  const { judge, nowMs, spec } = world;
  const unled = unledAt(world);
  if (unled.length > 0) judge.find("progress", `nobody leads ${unled.join(", ")} in the calm`, nowMs);
  if (judge.isCaused) judge.find("balance", "the calm has not come to rest", nowMs);
  const victims = victimsOf(world);
  for (const victim of victims) {
    world.note({ is: "last-death", who: victim.who });
    victim.kill();
  }
  const { ttlMs, killsController } = spec;
  const soonMs = ttlMs + ttlMs / 3 + REQUESTS_MS;
  if (killsController) world.later(soonMs, undefined, () => countLate(world));
  world.later(killsController ? soonMs + ttlMs : soonMs, undefined, () => judgeLed(world, nowMs));
}

/** Somebody is left to lead. */
function victimsOf({ processes, spec }: PartitionWorld): readonly PartitionProcess[] {
  const there = processes.filter(({ standing }) => standing !== undefined);
  const members = there.filter(({ office }) => office === undefined).slice(0, 1);
  if (!spec.killsController) return members;
  return [...there.filter(({ office }) => office !== undefined), ...(there.length > 2 ? members : [])];
}

function countLate(world: PartitionWorld): void {
  if (unledAt(world).length > 0) world.count("led again after more than a ttl and a renewal");
}

function judgeLed(world: PartitionWorld, sinceMs: number): void {
  const { killsController } = world.spec;
  const which = killsController ? "another controller" : "the same controller";
  const time = killsController ? "two ttls and a renewal" : "a ttl and a renewal";
  world.judge.ledAgain(unledAt(world), sinceMs, `${time} after a death, under ${which}`, world.nowMs);
  world.count(killsController ? "led again under another controller" : "led again under the same controller");
}
