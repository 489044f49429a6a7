// Checks what a configuration needs of this host, so that a shot does not fail for a reason that could have been known: the programs of its devices, the parameters that each fence-agent takes by its own
// metadata, and secrets that this process can read and nobody else can. Starts each agent once, with `-o metadata`: this needs no parameter, and sends nothing to a device.
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";
import type { NodeConfig } from "./config.ts";
import { type AgentMetadata, parseMetadata, problemsOfParameters } from "./devices/metadata.ts";
import { problemOfSecret } from "./secrets.ts";
import { type DeviceSpec, labelOf, nameOfAgent, secretsOf } from "./specs.ts";

/** A program's name in the configuration → its absolute path. */
export type Programs = Readonly<Record<string, string>>;

export interface HostCheck {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly programs: Programs;
}

/** Folders of agents that are often missing in the PATH of a service. */
const SYSTEM = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
const METADATA_WITHIN_MS = 20_000;
const METADATA_MAX = 1024 * 1024;
/** fence_ipmilan, and the other names that it has. */
const LEAKS = /^fence_(?:ipmilan|ipmilanplus|ilo3|ilo4|ilo5|imm|idrac)$/;

export async function problemsOnThisHost(nodes: Readonly<Record<string, NodeConfig>>): Promise<HostCheck> {
  const specs = Object.entries(nodes).flatMap(([node, { levels }]) => levels.flat().map((spec) => ({ node, spec })));
  const wanted = new Set(specs.flatMap(({ spec }) => programOf(spec) ?? []));
  const programs = new Map([...wanted].flatMap((name) => locate(name).map((found) => [name, found] as const)));
  const agents = [...wanted].filter((name) => name !== IPMITOOL && programs.has(name));
  const metadata = new Map(
    await Promise.all(agents.map(async (name) => [name, await askMetadata(programs.get(name) ?? name)] as const)),
  );
  const problems = specs.flatMap(({ node, spec }) =>
    problemsOfDevice(spec, programs, metadata).map((problem) => `nodes.${node}: ${labelOf(spec)}: ${problem}`),
  );
  return { problems: [...new Set(problems)], warnings: warningsOf(specs), programs: Object.fromEntries(programs) };
}

const IPMITOOL = "ipmitool";

/** The program that has to be found on this host; a command names its program by a path. */
export function programOf(spec: DeviceSpec): string | undefined {
  return spec.kind === "ipmi" ? IPMITOOL : spec.kind === "agent" ? spec.agent : undefined;
}

function problemsOfDevice(
  spec: DeviceSpec,
  programs: ReadonlyMap<string, string>,
  metadata: ReadonlyMap<string, AgentMetadata | string>,
): readonly string[] {
  const secrets = secretsOf(spec).flatMap((source) => problemOfSecret(source) ?? []);
  if (spec.kind === "command") {
    const missing = [spec.status[0], spec.off[0]].filter((program) => !isExecutable(program));
    return [...new Set(missing.map((program) => `${program} is no program that can be executed`)), ...secrets];
  }
  const name = programOf(spec) ?? "";
  if (!programs.has(name))
    return [
      `${name} is not installed here (Debian: ${spec.kind === "ipmi" ? "ipmitool" : "fence-agents"})`,
      ...secrets,
    ];
  if (spec.kind === "ipmi") return secrets;
  const about = metadata.get(name);
  if (about === undefined || typeof about === "string") return [about ?? `${name} says nothing of itself`, ...secrets];
  return [...problemsOfParameters(about, spec.parameters ?? {}), ...secrets];
}

function warningsOf(specs: readonly { readonly node: string; readonly spec: DeviceSpec }[]): readonly string[] {
  const leaking = new Set(
    specs.flatMap(({ spec }) =>
      spec.kind === "agent" && LEAKS.test(nameOfAgent(spec.agent)) ? [nameOfAgent(spec.agent)] : [],
    ),
  );
  return [...leaking].map(
    (agent) =>
      `${agent} passes the password on to ipmitool by its command line, where every user of this host can read it while it runs. Use a device of kind "ipmi", which does not`,
  );
}

function locate(name: string): readonly string[] {
  if (name.startsWith("/")) return isExecutable(name) ? [name] : [];
  const folders = [...(process.env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/")), ...SYSTEM];
  return folders
    .map((folder) => path.join(folder, name))
    .filter(isExecutable)
    .slice(0, 1);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Its metadata, or why there is none. */
function askMetadata(agent: string): Promise<AgentMetadata | string> {
  return new Promise((resolve) => {
    const options = { timeout: METADATA_WITHIN_MS, maxBuffer: METADATA_MAX, killSignal: "SIGKILL" as const };
    execFile(agent, ["-o", "metadata"], options, (error, stdout) => {
      // The exit code does not count: some agents print everything and end with an error.
      const found = parseMetadata(stdout);
      resolve(
        found ??
          `${agent} -o metadata does not say what it takes${error === null ? "" : ` (${error.message.split("\n")[0]})`}`,
      );
    }).stdin?.end();
  });
}
