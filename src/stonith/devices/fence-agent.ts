// Any installed fence-agent (fence_aws, fence_gce, fence_azure_arm, fence_vmware_rest, fence_apc_snmp, …): one protocol for all of them. Parameters go to its stdin as `key=value` lines, never to its
// command line, so that nobody reads a password in `ps`.
//
//   status   exit code 0 and "Status: ON" is on; exit code 2 and "Status: OFF" is off. Both are needed, because Python exits with 2 when it cannot
//   open a file, and a shell on a syntax error
//   off      exit code 0: the order was taken. Whether the node is off is asked afterwards, whatever the agent says
//
// SAFETY: an agent ignores a parameter that it does not know, and without `action` it REBOOTS. So every parameter is checked against the agent's own metadata before anything is started (problemsOfParameters),
// and `action` is always sent, last, by us.
import { type Device, type DeviceCall, type Ordered, type Power, said, unanswered, unfinished } from "../device.ts";
import { readSecret, type SecretSource } from "../secrets.ts";

export type Parameters = Readonly<Record<string, string | number | boolean | SecretSource>>;

/** Options of `fenceAgent`. */
export interface FenceAgentOptions {
  readonly name: string;
  /** Its program: a name such as `fence_apc`, or a path. */
  readonly agent: string;
  readonly parameters: Parameters;
}

/** A device behind an installed fence-agent, which is told its parameters on stdin. */
export function fenceAgent({ name, agent, parameters }: FenceAgentOptions): Device {
  const run = (action: "status" | "off", call: DeviceCall): ReturnType<DeviceCall["run"]> => {
    const { lines, secrets } = linesOf(parameters);
    return call.run({ argv: [agent], input: `${[...lines, `action=${action}`].join("\n")}\n`, secrets });
  };
  return {
    name,
    async status(_node, call): Promise<Power> {
      const end = await run("status", call);
      if (end.is !== "exited") return unanswered(end);
      const power = /^\s*Status:\s*(ON|OFF)\s*$/im.exec(end.stdout)?.[1]?.toLowerCase();
      if (end.code === 0 && power === "on") return { is: "on" };
      if (end.code === 2 && power === "off") return { is: "off" };
      return { is: "unknown", why: `${agent}: ${said(end)}` };
    },
    async setPower(_node, power, call): Promise<Ordered> {
      const end = await run(power, call);
      if (end.is !== "exited") return unfinished(end);
      return end.code === 0 ? { is: "taken" } : { is: "unknown", why: `${agent}: ${said(end)}` };
    },
  };
}

function linesOf(parameters: Parameters): { readonly lines: readonly string[]; readonly secrets: readonly string[] } {
  const secrets: string[] = [];
  const lines = Object.entries(parameters).map(([key, value]) => {
    const text = typeof value === "object" ? readSecret(value) : plain(value);
    if (typeof value === "object") secrets.push(text);
    return `${key}=${quoted(text)}`;
  });
  return { lines, secrets };
}

/** A boolean in the form that agents read. */
function plain(value: string | number | boolean): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : `${value}`;
}

/** An agent strips spaces around a value, and one pair of quotes. */
function quoted(text: string): string {
  return text !== text.trim() || /^".*"$/.test(text) ? `"${text}"` : text;
}
