// How `conclave failover monitor` fences: by the seat that guards hold, by devices, by both; or not at all, with --unfenced.
import { type FailoverConfig, type PowerFence, shotRulesOf } from "../../failover/index.ts";
import { isConclaveError } from "../../index.ts";
import { type LoadedConfig, loadStonithConfig, openRunner } from "../../stonith/index.ts";
import { UsageError } from "../command.ts";
import { line } from "../long-run.ts";

/** Close it when the monitor has ended. */
export interface OpenFence extends PowerFence {
  readonly close: () => Promise<void>;
}

/** Throws a usage error if there is no way to fence and nobody has said `--unfenced`. Undefined: no devices. */
export async function openFence(
  config: FailoverConfig,
  monitor: string,
  { unfenced, json }: { readonly unfenced: boolean; readonly json: boolean },
): Promise<OpenFence | undefined> {
  const { stonith, hasGuards } = config;
  if (stonith === undefined && !hasGuards && !unfenced)
    throw new UsageError(
      `there is no way to fence: "guards" is false, and no devices are configured. Give "stonith" (docs/FAILOVER.md), or say --unfenced: two servers may then take writes at once`,
    );
  if (stonith === undefined) return undefined;
  if (unfenced)
    throw new UsageError(
      `--unfenced: devices are configured, which fence. Take "stonith" out of the file, or this flag away`,
    );
  const { loaded, rules, warnings } = await load(config, stonith.config, monitor);
  for (const warning of [...loaded.warnings, ...warnings])
    process.stderr.write(`conclave failover: warning: ${warning}\n`);
  const runner = openRunner(loaded, {
    tell: (news) => void process.stderr.write(line({ type: "device", ...news }, json)),
  });
  return { shooter: runner, rules, close: () => runner.close() };
}

async function load(
  config: FailoverConfig,
  file: string,
  monitor: string,
): Promise<{ readonly loaded: LoadedConfig } & ReturnType<typeof shotRulesOf>> {
  try {
    const loaded = await loadStonithConfig(file);
    return { loaded, ...shotRulesOf(config, loaded, monitor) };
  } catch (error) {
    if (isConclaveError(error)) throw new UsageError(error.message);
    throw error;
  }
}
