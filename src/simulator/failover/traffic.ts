// Clients and replication of a world of failovers. Clients write to every service that takes writes, as clients do that were not told of a change. A write is acknowledged at once or, where commits wait,
// when enough standbys have it.
import { nextBetween } from "../../base/rng.ts";
import type { SimService } from "./service.ts";
import type { FailoverWorld } from "./world.ts";

export function writeEverywhere(world: FailoverWorld): void {
  const { plan } = world.spec;
  for (const service of world.services) {
    if (!service.isWritable || service.isRefusing) continue;
    const write = ++world.writes;
    service.write(write);
    world.count("writes");
    if (world.votes.standing(world.nowMs).length >= plan.quorum) world.count("writes taken while taken for down");
    if (plan.confirmations === 0) acknowledge(world, write);
  }
}

function acknowledge(world: FailoverWorld, write: number): void {
  world.count("acknowledged");
  world.judge.acknowledged.add(write);
}

export function replicate(world: FailoverWorld): void {
  for (const replica of world.services) {
    const primary = replica.follows === undefined ? undefined : world.service(replica.follows);
    const isOn = replica.isAlive && replica.role === "replica" && replica.lags === 0;
    if (isOn && primary?.isWritable === true) copy(world, replica, primary);
    else replica.isLinked = false;
  }
  confirm(world);
}

function copy(world: FailoverWorld, replica: SimService, primary: SimService): void {
  if (replica.wasPrimary) world.count("old primaries taken back");
  replica.wasPrimary = false;
  const most = Math.ceil(nextBetween(world.rng, 0, world.spec.copyMax));
  if (!world.spec.hasTimelines) return replica.copy(primary, most);
  replica.stream(primary, most);
  if (replica.isLinked) world.judge.copied(replica, primary, world.nowMs);
  else world.guardOf(replica.name)?.parted(primary.name);
}

function confirm(world: FailoverWorld): void {
  const { confirmations } = world.spec.plan;
  if (confirmations === 0) return;
  const { acknowledged } = world.judge;
  for (const primary of world.services.filter(({ isWritable }) => isWritable))
    for (const write of primary.log.slice(-50)) {
      if (acknowledged.has(write)) continue;
      const standbys = world.services.filter(
        (other) =>
          primary.standbys.includes(other.name) && other.isAlive && other.isLinked && other.follows === primary.name,
      );
      if (standbys.filter((standby) => standby.has(write)).length >= confirmations) acknowledge(world, write);
    }
}
