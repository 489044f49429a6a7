// Carries out the faults of a world of failovers.
import { nextOf } from "../../base/rng.ts";
import type { FailoverFault } from "./spec.ts";
import type { FailoverWorld } from "./world.ts";

export function inflict(world: FailoverWorld, fault: FailoverFault): void {
  world.note({ is: "fault", index: fault.index, kind: fault.kind });
  if (fault.kind.endsWith("-monitor")) return onMonitor(world, fault);
  if (fault.kind.endsWith("-service") || fault.kind.endsWith("-guard") || fault.kind === "kill-machine")
    return onServer(world, fault);
  const { lastsMs } = fault;
  if (fault.kind === "store-down") return world.loseStore(lastsMs);
  if (fault.kind === "switchover")
    return world.command(fault.who === undefined ? undefined : world.services[fault.who]?.name);
  world.pauseFailover(true);
  world.later(lastsMs, undefined, () => world.pauseFailover(false));
}

function onMonitor(world: FailoverWorld, { kind, who, lastsMs }: FailoverFault): void {
  const monitor = who === undefined ? world.monitors.find(({ isLeader }) => isLeader) : world.monitors[who];
  if (monitor === undefined) return;
  if (kind === "kill-monitor") return world.kill(monitor, lastsMs);
  if (kind === "pause-monitor") return world.pause(monitor, lastsMs);
  if (kind === "cut-monitor") return world.cut(monitor, lastsMs);
  const { name } = nextOf(world.rng, world.services);
  monitor.blind.add(name);
  world.later(lastsMs, undefined, () => void monitor.blind.delete(name));
}

function onServer(world: FailoverWorld, { kind, who, lastsMs }: FailoverFault): void {
  const service = who === undefined ? world.services.find(({ isWritable }) => isWritable) : world.services[who];
  if (service === undefined) return;
  const guard = world.guardOf(service.name);
  if (kind.endsWith("-guard") && service.isWritable) world.count("guards killed or cut while primary");
  switch (kind) {
    case "kill-service":
      world.killService(service);
      if (guard === undefined)
        world.later(lastsMs, undefined, () => !service.isAlive && service.isPowered && service.start(undefined));
      return;
    case "mute-service":
      service.mutes++;
      return world.later(lastsMs, undefined, () => void (service.mutes = Math.max(0, service.mutes - 1)));
    case "lag-service":
      service.lags++;
      return world.later(lastsMs, undefined, () => void (service.lags = Math.max(0, service.lags - 1)));
    case "kill-machine":
      return world.powerOff(service.name);
    case "kill-guard":
      return guard && world.kill(guard, lastsMs);
    case "pause-guard":
      return guard && world.pause(guard, lastsMs);
    case "cut-guard":
      return guard && world.cut(guard, lastsMs);
    case "kill-monitor":
    case "pause-monitor":
    case "cut-monitor":
    case "blind-monitor":
    case "store-down":
    case "switchover":
    case "pause-failover":
      return;
  }
}
