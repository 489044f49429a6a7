// A device made of two commands of the operator: one argument list asks, the other orders. `{node}` in an argument becomes the name of the node. No shell is involved.
//
//   status   exit code 0: on; 2 AND the word "off" on stdout: off; everything else: unknown
//   off      exit code 0: the order was taken; everything else: unknown
//
// SAFETY: an exit code alone never means off. Shells exit with 2 on a syntax error, Python on a file that it cannot open, many programs on a wrong flag.
// Secrets reach the command by its environment.
import { type Device, type DeviceCall, type Ordered, type Power, said, unanswered, unfinished } from "../device.ts";
import { readSecret, type SecretSource } from "../secrets.ts";

export type Argv = readonly [string, ...string[]];

/** Options of `command`. */
export interface CommandOptions {
  readonly name: string;
  readonly status: Argv;
  readonly off: Argv;
  /** Variables for both commands: texts, or secrets. */
  readonly env?: Readonly<Record<string, string | SecretSource>> | undefined;
}

const ON = 0;
const OFF = 2;

/** A device that is two commands of yours: one says whether a node is on, one powers it off. */
export function command({ name, status, off, env = {} }: CommandOptions): Device {
  const run = (argv: Argv, node: string, call: DeviceCall): ReturnType<DeviceCall["run"]> => {
    const values = Object.entries(env).map(
      ([variable, value]) => [variable, typeof value === "string" ? value : readSecret(value)] as const,
    );
    const secrets = values.flatMap(([variable, value]) => (typeof env[variable] === "string" ? [] : [value]));
    const [program, ...args] = argv.map((word) => word.replaceAll("{node}", node));
    return call.run({ argv: [program ?? "", ...args], env: Object.fromEntries(values), secrets });
  };
  return {
    name,
    async status(node, call): Promise<Power> {
      const end = await run(status, node, call);
      if (end.is !== "exited") return unanswered(end);
      if (end.code === ON) return { is: "on" };
      if (end.code === OFF && /\boff\b/i.test(end.stdout)) return { is: "off" };
      return { is: "unknown", why: `the command of status: ${said(end)}` };
    },
    async setPower(node, _power, call): Promise<Ordered> {
      const end = await run(off, node, call);
      if (end.is !== "exited") return unfinished(end);
      return end.code === 0 ? { is: "taken" } : { is: "unknown", why: `the command of off: ${said(end)}` };
    },
  };
}
