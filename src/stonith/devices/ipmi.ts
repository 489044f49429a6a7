// A BMC by IPMI 2.0: `ipmitool -I lanplus`, which encrypts what it sends. The password reaches ipmitool by its environment (-E) and never by an argument.
//
// `status` reads the one sentence that ipmitool prints. Anything else is unknown: a BMC that does not answer says nothing of the machine. A BMC
// without power belongs to a machine without power, but nobody can tell.
import { type Device, type DeviceCall, type Ordered, type Power, said, unanswered, unfinished } from "../device.ts";
import { readSecret, type SecretSource } from "../secrets.ts";

/** Options of `ipmi`. */
export interface IpmiOptions {
  readonly name: string;
  readonly host: string;
  /** @default 623 */
  readonly port?: number | undefined;
  readonly user: string;
  readonly password: SecretSource;
  /** The cipher suite, as a number of IPMI. @default ipmitool's own */
  readonly cipher?: number | undefined;
  /** What the user may do: OPERATOR is enough to switch off. @default "OPERATOR" */
  readonly privilege?: "USER" | "OPERATOR" | "ADMINISTRATOR" | undefined;
  /** Where ipmitool is. @default "ipmitool" */
  readonly program?: string | undefined;
}

/** A device behind the baseboard management controller of each machine, by `ipmitool` over lanplus. */
export function ipmi(options: IpmiOptions): Device {
  const run = (words: readonly string[], call: DeviceCall): ReturnType<DeviceCall["run"]> => {
    const password = readSecret(options.password);
    return call.run({ argv: argvOf(options, words), env: { IPMI_PASSWORD: password }, secrets: [password] });
  };
  return {
    name: options.name,
    async status(_node, call): Promise<Power> {
      const end = await run(["chassis", "power", "status"], call);
      if (end.is !== "exited") return unanswered(end);
      const power = /^Chassis Power is (on|off)\s*$/m.exec(end.stdout)?.[1];
      return end.code === 0 && (power === "on" || power === "off")
        ? { is: power }
        : { is: "unknown", why: `ipmitool: ${said(end)}` };
    },
    async setPower(_node, power, call): Promise<Ordered> {
      const end = await run(["chassis", "power", power], call);
      if (end.is !== "exited") return unfinished(end);
      // ipmitool also fails after it has sent the order, if the answer is lost.
      return end.code === 0 ? { is: "taken" } : { is: "unknown", why: `ipmitool: ${said(end)}` };
    },
  };
}

function argvOf(
  { host, port = 623, user, cipher, privilege = "OPERATOR", program = "ipmitool" }: IpmiOptions,
  words: readonly string[],
): readonly [string, ...string[]] {
  const suite = cipher === undefined ? [] : ["-C", `${cipher}`];
  return [program, "-I", "lanplus", "-H", host, "-p", `${port}`, "-U", user, "-L", privilege, ...suite, "-E", ...words];
}
