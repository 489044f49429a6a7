// Another way in which a service may be started beside its guard: an enabled systemd unit. After a boot it would start the old primary as a primary. Such a unit is found before a guard starts anything, and is refused.
import { spawnSync } from "node:child_process";

/** Asks systemd. Returns undefined where there is none. */
export type AskUnits = (unit: string) => string | undefined;

const STARTS_BY_ITSELF = new Set(["enabled", "enabled-runtime", "linked", "linked-runtime", "alias"]);

/** Debian has a unit for each cluster, other systems one for each version. */
function versions(names: (version: number) => readonly string[]): readonly string[] {
  return Array.from({ length: 12 }, (_, index) => index + 10).flatMap(names);
}

/** Names that the usual packages give their services. */
export const USUAL_UNITS: Readonly<Record<string, readonly string[]>> = {
  redis: ["redis-server.service", "redis.service", "valkey-server.service", "valkey.service"],
  postgres: [
    "postgresql.service",
    ...versions((version) => [`postgresql@${version}-main.service`, `postgresql-${version}.service`]),
  ],
};

export function askSystemd(unit: string): string | undefined {
  const { stdout, error } = spawnSync("systemctl", ["is-enabled", unit], { encoding: "utf8", timeout: 5000 });
  return error === undefined ? stdout.trim() : undefined;
}

/** Returns those of `units` that would start the service by themselves. */
export function enabledUnits(units: readonly string[], ask: AskUnits = askSystemd): readonly string[] {
  return units.filter((unit) => STARTS_BY_ITSELF.has(ask(unit) ?? ""));
}
