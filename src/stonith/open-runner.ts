// The runner of a configuration: its devices, and the processes that they start.
import { invalidConfig } from "../base/errors.ts";
import { nodeClock } from "../election/clock.ts";
import { KeptAgents } from "./agents.ts";
import { type LoadedConfig, secretVariablesOf } from "./config.ts";
import { programOf } from "./host-check.ts";
import { DeviceRunner, type ShotNews } from "./runner.ts";
import { type DeviceSpec, deviceOf } from "./specs.ts";

export interface OpenRunnerOptions {
  readonly tell?: ((news: ShotNews) => void) | undefined;
  /** Is told when a keeper was started, lost, or had to act. */
  readonly tellOfKeeper?: ConstructorParameters<typeof KeptAgents>[0]["tell"];
}

/** Close it when no shot is under way any more. It starts no process before it is first asked. Throws CONFIG_INVALID if the configuration was not checked against this host. */
export function openRunner({ config, programs }: LoadedConfig, options: OpenRunnerOptions = {}): DeviceRunner {
  const clock = nodeClock();
  const hidden = secretVariablesOf(config);
  const made = (name: string): KeptAgents => new KeptAgents({ name, clock, hidden, tell: options.tellOfKeeper });
  const [agents, lookers] = [made(config.election), made(`${config.election} (looks)`)];
  const deviceFor = (spec: DeviceSpec): ReturnType<typeof deviceOf> => {
    const name = programOf(spec);
    // SAFETY: the parameters of a program that was not found were not checked either, and an agent acts even on parameters that it does not understand.
    if (name !== undefined && !Object.hasOwn(programs, name))
      throw invalidConfig("openRunner", [
        `${name} was not looked for on this host: load the configuration with its devices`,
      ]);
    return deviceOf(spec, name === undefined ? undefined : programs[name]);
  };
  const nodes = Object.entries(config.nodes).map(
    ([name, { levels, delayMs }]) => [name, { levels: levels.map((level) => level.map(deviceFor)), delayMs }] as const,
  );
  return new DeviceRunner({
    clock,
    agents,
    lookers,
    nodes: Object.fromEntries(nodes),
    patience: config,
    tell: options.tell,
  });
}
