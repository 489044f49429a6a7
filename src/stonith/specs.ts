// Devices as a configuration writes them: what is wrong with one, and the device that it describes. A specification says where a secret is, and never contains it.
import { type Argv, command } from "./devices/command.ts";
import { fenceAgent, type Parameters } from "./devices/fence-agent.ts";
import { ipmi } from "./devices/ipmi.ts";
import type { Device } from "./device.ts";
import { isSecretSource, isShellName, type SecretSource } from "./secrets.ts";

/** One device of one node. */
export type DeviceSpec =
  | {
      readonly kind: "ipmi";
      readonly name?: string | undefined;
      readonly host: string;
      readonly port?: number | undefined;
      readonly user: string;
      readonly password: SecretSource;
      readonly cipher?: number | undefined;
      readonly privilege?: "USER" | "OPERATOR" | "ADMINISTRATOR" | undefined;
    }
  | {
      readonly kind: "agent";
      readonly name?: string | undefined;
      readonly agent: string;
      readonly parameters?: Parameters | undefined;
    }
  | {
      readonly kind: "command";
      readonly name?: string | undefined;
      readonly status: Argv;
      readonly off: Argv;
      readonly env?: Readonly<Record<string, string | SecretSource>> | undefined;
    };

type Fields = Readonly<Record<string, unknown>>;

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  ipmi: ["host", "port", "user", "password", "cipher", "privilege"],
  agent: ["agent", "parameters"],
  command: ["status", "off", "env"],
};
const PRIVILEGES = ["USER", "OPERATOR", "ADMINISTRATOR"];
const AGENT = /^(?:fence_[A-Za-z0-9_]+|\/.+)$/;
const LOOKS_SECRET = /^--?(?:pass(?:wd|word|phrase)?|secret|token|api-?key|community)\b/i;
const SECRET_SAID = `a secret: {"file": "/etc/conclave/…"} or {"env": "NAME"}`;

/** The problems of its shape, without a look at this host. */
export function problemsOfSpec(found: unknown): readonly string[] {
  if (!isFields(found)) return [`a device is an object: {"kind": "ipmi" | "agent" | "command", …}`];
  const { kind, name } = found;
  const known = typeof kind === "string" && Object.hasOwn(KNOWN, kind) ? KNOWN[kind] : undefined;
  if (known === undefined) return [`kind: "ipmi", "agent" or "command"`];
  const strange = Object.keys(found).filter((key) => !["kind", "name", ...known].includes(key));
  return [
    ...strange.map((key) => `there is no setting ${key} of a device of kind ${String(kind)}`),
    ...(name === undefined || isText(name) ? [] : ["name: a text"]),
    ...(kind === "ipmi" ? problemsOfIpmi(found) : kind === "agent" ? problemsOfAgent(found) : problemsOfCommand(found)),
  ];
}

function problemsOfIpmi({ host, port, user, password, cipher, privilege }: Fields): readonly string[] {
  const isWhole = (value: unknown, most: number): boolean =>
    value === undefined || (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most);
  return [
    // The host becomes an argument: one that begins with a dash would be taken for an option.
    ...(isText(host) && !host.startsWith("-") ? [] : ["host: the address of the BMC"]),
    ...(isText(user) && !user.startsWith("-") ? [] : ["user: the name of a user of the BMC"]),
    ...(isWhole(port, 65_535) ? [] : ["port: a port"]),
    ...(isWhole(cipher, 255) ? [] : ["cipher: the number of a cipher suite, such as 3 or 17"]),
    ...(privilege === undefined || (typeof privilege === "string" && PRIVILEGES.includes(privilege))
      ? []
      : [`privilege: ${PRIVILEGES.join(", ")}`]),
    ...(isSecretSource(password) ? [] : [`password is ${SECRET_SAID}, never its value in this file`]),
  ];
}

function problemsOfAgent({ agent, parameters }: Fields): readonly string[] {
  return [
    ...(isText(agent) && AGENT.test(agent)
      ? []
      : [`agent: the name of a fence-agent, such as "fence_aws", or its absolute path`]),
    ...(parameters === undefined || isFields(parameters) ? [] : ["parameters: an object"]),
  ];
}

function problemsOfCommand({ status, off, env }: Fields): readonly string[] {
  const isEnv =
    env === undefined ||
    (isFields(env) && Object.values(env).every((value) => typeof value === "string" || isSecretSource(value)));
  return [
    ...problemsOfArgv("status", status),
    ...problemsOfArgv("off", off),
    ...(isEnv ? [] : [`env: an object of texts and secrets; ${SECRET_SAID}`]),
    ...Object.keys(isFields(env) ? env : {})
      .filter((name) => !isShellName(name))
      .map((name) => `env: ${name} is no name of a variable that a shell keeps`),
  ];
}

function problemsOfArgv(name: string, argv: unknown): readonly string[] {
  if (!Array.isArray(argv) || argv.length === 0 || !argv.every((word) => typeof word === "string"))
    return [`${name}: a list of arguments, such as ["/usr/local/sbin/power", "${name}", "{node}"]`];
  const words = argv as readonly string[];
  const strange = words.flatMap((word) => [...word.matchAll(/\{(\w+)\}/g)].map(([, found]) => found ?? ""));
  return [
    ...(words[0]?.startsWith("/") === true ? [] : [`${name}: the program by its absolute path`]),
    ...strange.filter((found) => found !== "node").map((found) => `${name}: there is only {node}, and no {${found}}`),
    ...words
      .filter((word) => LOOKS_SECRET.test(word))
      .map((word) => `${name}: ${word.split("=")[0]}: everybody on the host can read arguments. Give it by env`),
  ];
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !/[\n\r\0]/.test(value);
}

/** What messages call it. */
export function labelOf(spec: DeviceSpec): string {
  if (spec.name !== undefined) return spec.name;
  switch (spec.kind) {
    case "ipmi":
      return `ipmi ${spec.host}${spec.port === undefined ? "" : `:${spec.port}`}`;
    case "agent":
      return nameOfAgent(spec.agent);
    case "command":
      return nameOfAgent(spec.off[0]);
  }
}

export function nameOfAgent(agent: string): string {
  return agent.slice(agent.lastIndexOf("/") + 1);
}

/** `program`: where a fence-agent or ipmitool was found. */
export function deviceOf(spec: DeviceSpec, program: string | undefined): Device {
  const name = labelOf(spec);
  switch (spec.kind) {
    case "ipmi":
      return ipmi({ ...spec, name, program });
    case "agent":
      return fenceAgent({ name, agent: program ?? spec.agent, parameters: spec.parameters ?? {} });
    case "command":
      return command({ ...spec, name });
  }
}

export function secretsOf(spec: DeviceSpec): readonly SecretSource[] {
  if (spec.kind === "ipmi") return [spec.password];
  const values = Object.values((spec.kind === "agent" ? spec.parameters : spec.env) ?? {});
  return values.filter(isSecretSource);
}
