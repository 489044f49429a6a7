// The fence by devices: everything that a monitor needs to power off the machine of an old primary. The devices, their runner and their limits are those of src/stonith; fencing.ts decides when a shot is fired.
import { invalidConfig } from "../base/errors.ts";
import { type LoadedConfig, stonithPlanOf } from "../stonith/config.ts";
import type { Shooter } from "../stonith/shooter.ts";
import type { FailoverConfig } from "./config.ts";
import type { ShotRules } from "./state.ts";

/** Powers the machines of servers off, and verifies that they are off. */
export interface PowerFence {
  /** The result of `openRunner` of conclave/stonith. */
  readonly shooter: Pick<Shooter, "shoot">;
  readonly rules: ShotRules;
}

/** The rules, and warnings about a configuration that works. */
export interface CheckedRules {
  readonly rules: ShotRules;
  readonly warnings: readonly string[];
}

/** The machine of a monitor that the file of the devices does not name. No node has this name. */
const ELSEWHERE = "";

/** The rules for `monitor`. Throws CONFIG_INVALID with every problem of the two files together. */
export function shotRulesOf(config: FailoverConfig, { config: devices }: LoadedConfig, monitor: string): CheckedRules {
  const { stonith, hasGuards } = config;
  const call = "stonith of the failover configuration";
  if (stonith === undefined) throw invalidConfig(call, ["it is missing"]);
  const nodes = Object.keys(devices.nodes);
  const places = [...Object.entries(stonith.servers), ...Object.entries(stonith.monitors)];
  const strange = places.filter(([, node]) => node !== null && !nodes.includes(node));
  const bare = Object.entries(stonith.servers).filter(([, node]) => devices.nodes[node]?.levels.length === 0);
  const isEnough = hasGuards && stonith.required !== true;
  const saidOfBare = bare.map(([server, node]) => `${server} runs on ${node}, which has no device`);
  const problems = [
    ...strange.map(
      ([name, node]) => `${name} runs on ${node}, which is no node of ${stonith.config}: ${nodes.join(", ")}`,
    ),
    ...(isEnough ? [] : saidOfBare.map((said) => `${said}: nobody could replace it`)),
  ];
  if (problems.length > 0) throw invalidConfig(call, problems);
  const limits = stonithPlanOf(devices, { node: stonith.monitors[monitor] ?? ELSEWHERE, life: "" });
  return {
    rules: { nodes: stonith.servers, isRequired: stonith.required === true, limits },
    warnings: isEnough ? saidOfBare.map((said) => `${said}: the seat alone fences it`) : [],
  };
}
