// The configuration of one guarded election: one file, the same on every node. All problems are reported at once: those of the file, and those of
// this host (an agent that is not installed, a parameter that
// the agent does not know, a secret that others can read). A file that others may change is refused, because the programs that it names are executed.
import { readFileSync, statSync } from "node:fs";
import { invalidConfig } from "../base/errors.ts";
import { problemsOnThisHost, type Programs } from "./host-check.ts";
import { defaultMaxOff } from "./limits.ts";
import type { Watchdog } from "./record.ts";
import type { Patience } from "./runner.ts";
import { type DeviceSpec, isFields, problemsOfSpec, secretsOf } from "./specs.ts";
import type { StonithPlan } from "./state.ts";

/** One configured node. */
export interface NodeConfig {
  /** The ways to power it off, in their order; all devices of a level have to say that it is off. */
  readonly levels: readonly (readonly DeviceSpec[])[];
  /** Whether a server of the store runs there. */
  readonly hostsStore: boolean;
  /** Its hardware watchdog, such as /dev/watchdog0: this node arms it while it leads. */
  readonly watchdog: string | undefined;
  /** How long to wait before the first order against it. The node that should survive has the longest delay. */
  readonly delayMs: number;
}

/** docs/STONITH-DEVICES.md says what each setting means. */
export interface StonithConfig extends Patience {
  readonly election: string;
  readonly store: string | undefined;
  readonly nodes: Readonly<Record<string, NodeConfig>>;
  readonly ttlMs: number;
  readonly maxOff: number;
  readonly shotsMax: number;
  readonly windowMs: number;
  readonly delayMs: number;
  readonly spreadMs: number;
  readonly retryMaxMs: number;
  readonly attemptsMax: number;
}

/** A configuration that was read and checked against this host. */
export interface LoadedConfig {
  readonly config: StonithConfig;
  /** Where the programs of the devices are on this host. */
  readonly programs: Programs;
  /** Things that work, and that an operator should know. */
  readonly warnings: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const NUMBERS: Readonly<Record<string, readonly [fallback: number, least: number]>> = {
  ttlMs: [15_000, 500],
  shotsMax: [3, 1],
  windowMs: [3_600_000, 1000],
  delayMs: [1000, 0],
  spreadMs: [2000, 0],
  retryMs: [2000, 10],
  retryMaxMs: [60_000, 10],
  attemptsMax: [5, 1],
  tries: [2, 1],
  timeoutMs: [20_000, 100],
  verifyWithinMs: [30_000, 0],
  askEveryMs: [1000, 10],
};
const KNOWN = ["election", "store", "nodes", "maxOff", ...Object.keys(NUMBERS)];
const KNOWN_OF_NODE = ["levels", "hostsStore", "watchdog", "delayMs"];

/** Reads the file, and looks at this host. Rejects with CONFIG_INVALID and every problem. `devices` false: only the file is checked, for commands that ask no device. */
export async function loadStonithConfig(
  file: string,
  { devices = true }: { readonly devices?: boolean } = {},
): Promise<LoadedConfig> {
  const call = `the STONITH configuration ${file}`;
  const { text, problems: ofFile } = readFile(file, call);
  const found = fieldsOf(text, call);
  const nodes = nodesOf(found["nodes"]);
  const onHost = devices ? await problemsOnThisHost(nodes) : { problems: [], warnings: [], programs: {} };
  const problems = [...ofFile, ...problemsOf(found), ...onHost.problems];
  if (problems.length > 0) throw invalidConfig(call, problems);
  const config = configOf(found, nodes);
  return { config, programs: onHost.programs, warnings: [...onHost.warnings, ...warningsOf(config)] };
}

/** The text of a configuration, without a look at this host. Throws CONFIG_INVALID with every problem; `call` says in it what was read. */
export function parseStonithConfig(text: string, call: string): StonithConfig {
  const found = fieldsOf(text, call);
  const problems = problemsOf(found);
  if (problems.length > 0) throw invalidConfig(call, problems);
  return configOf(found, nodesOf(found["nodes"]));
}

function readFile(file: string, call: string): { readonly text: string; readonly problems: readonly string[] } {
  try {
    const [text, { mode, uid }] = [readFileSync(file, "utf8"), statSync(file)];
    const hasPassword = /:\/\/[^/"@\s]*:[^/"@\s]*@/.test(text);
    return {
      text,
      problems: [
        ...problemsOfOwner({ mode, uid }),
        ...(hasPassword && (mode & 0o077) !== 0 ? ["it holds a password, and others may read it: chmod 600"] : []),
      ],
    };
  } catch (error) {
    throw invalidConfig(call, [`it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`]);
  }
}

/** SAFETY: the file names programs that are executed, so nobody else may change it. */
export function problemsOfOwner({ mode, uid }: { readonly mode: number; readonly uid: number }): readonly string[] {
  const isOurs = uid === 0 || uid === (process.getuid?.() ?? uid);
  return [
    ...(isOurs ? [] : ["it belongs to another user, who may change it, and what it names is executed: chown it"]),
    ...((mode & 0o022) === 0 ? [] : ["others may change it, and what it names is executed: chmod 644"]),
  ];
}

function fieldsOf(text: string, call: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    if (isFields(value)) return value;
  } catch {
    // The parser's message quotes the text, which may contain a password.
    throw invalidConfig(call, ["it is not valid JSON; jq . FILE says in which line"]);
  }
  throw invalidConfig(call, ["it is JSON, but not an object: { … }"]);
}

function problemsOf(found: Fields): readonly string[] {
  const { election, store, nodes, maxOff } = found;
  const problems = Object.keys(found)
    .filter((key) => !KNOWN.includes(key))
    .map((key) => `there is no setting ${key}`);
  if (typeof election !== "string" || election === "")
    problems.push("election: a text is expected, the name of the guarded election");
  if (store !== undefined && typeof store !== "string") problems.push("store: a URL");
  problems.push(...problemsOfNumbers(found), ...problemsOfNodes(nodes));
  const count = isFields(nodes) ? Object.keys(nodes).length : 0;
  if (maxOff !== undefined && !(Number.isInteger(maxOff) && (maxOff as number) >= 1 && (maxOff as number) < count))
    problems.push(`maxOff: a whole number from 1 to ${Math.max(1, count - 1)}: one node at least stays on`);
  return problems;
}

function problemsOfNumbers(found: Fields): readonly string[] {
  return Object.entries(NUMBERS).flatMap(([key, [, least]]) => {
    const value = found[key];
    const isGood = value === undefined || (Number.isInteger(value) && (value as number) >= least);
    return isGood ? [] : [`${key}: a whole number of at least ${least}`];
  });
}

function problemsOfNodes(nodes: unknown): readonly string[] {
  if (!isFields(nodes) || Object.keys(nodes).length < 2)
    return [
      `nodes: two at least, by the names that candidates give as "node", such as {"db-1": {"levels": […]}, "db-2": {"levels": […]}}`,
    ];
  return Object.entries(nodes).flatMap(([name, node]) =>
    problemsOfNode(node).map((problem) => `nodes.${name}: ${problem}`),
  );
}

function problemsOfNode(node: unknown): readonly string[] {
  if (!isFields(node)) return [`an object: {"levels": [[{"kind": "ipmi", …}]]}`];
  const { levels, hostsStore, watchdog, delayMs } = node;
  const isLevels = Array.isArray(levels) && levels.every((level) => Array.isArray(level) && level.length > 0);
  const specs = isLevels ? (levels as readonly (readonly unknown[])[]) : [];
  return [
    ...Object.keys(node)
      .filter((key) => !KNOWN_OF_NODE.includes(key))
      .map((key) => `there is no setting ${key}`),
    ...(isLevels || levels === undefined ? [] : ["levels: a list of lists of devices, none of them empty"]),
    ...(hostsStore === undefined || typeof hostsStore === "boolean" ? [] : ["hostsStore: true or false"]),
    ...(watchdog === undefined || (typeof watchdog === "string" && watchdog.startsWith("/"))
      ? []
      : [`watchdog: the path of its device, such as "/dev/watchdog0"`]),
    ...(delayMs === undefined || (Number.isInteger(delayMs) && (delayMs as number) >= 0)
      ? []
      : ["delayMs: a whole number of at least 0"]),
    ...specs.flatMap((level, at) =>
      level.flatMap((spec, index) =>
        problemsOfSpec(spec).map((problem) => `level ${at + 1}, device ${index + 1}: ${problem}`),
      ),
    ),
  ];
}

/** The nodes, as far as they can be read. Devices of the wrong shape are left out; they were reported as problems already. */
function nodesOf(nodes: unknown): Readonly<Record<string, NodeConfig>> {
  const one = (node: unknown): NodeConfig => {
    const { levels, hostsStore, watchdog, delayMs } = isFields(node) ? node : {};
    const lists = Array.isArray(levels) ? levels.filter((level) => Array.isArray(level)) : [];
    return {
      levels: (lists as readonly (readonly unknown[])[]).map((level) =>
        level.filter((spec): spec is DeviceSpec => problemsOfSpec(spec).length === 0),
      ),
      hostsStore: hostsStore === true,
      watchdog: typeof watchdog === "string" ? watchdog : undefined,
      delayMs: typeof delayMs === "number" ? delayMs : 0,
    };
  };
  return Object.fromEntries(Object.entries(isFields(nodes) ? nodes : {}).map(([name, node]) => [name, one(node)]));
}

function configOf(found: Fields, nodes: StonithConfig["nodes"]): StonithConfig {
  const numbers = Object.fromEntries(
    Object.entries(NUMBERS).map(([name, [fallback]]) => [name, (found[name] as number | undefined) ?? fallback]),
  );
  const { election, store, maxOff } = found;
  return {
    election,
    store,
    nodes,
    maxOff: maxOff ?? defaultMaxOff(Object.keys(nodes)),
    ...numbers,
  } as unknown as StonithConfig;
}

/** Warnings that follow from the configuration alone. */
function warningsOf({ nodes }: StonithConfig): readonly string[] {
  const all = Object.entries(nodes);
  const hosts = all.filter(([, { hostsStore }]) => hostsStore).map(([name]) => name);
  const helpless = all.filter(([, { levels, watchdog }]) => levels.length === 0 && watchdog === undefined);
  return [
    ...helpless.map(
      ([name]) => `${name} has no device: if it fails while it leads, nobody leads until a human confirms`,
    ),
    ...(hosts.length === 1 || hosts.length === 2
      ? [
          `the store is hosted on ${hosts.join(" and ")} alone: none of them is ever shot, because the store would lose its quorum`,
        ]
      : []),
  ];
}

/** Variables of the environment that hold secrets: no agent sees those of another. */
export function secretVariablesOf({ nodes }: StonithConfig): readonly string[] {
  const specs = Object.values(nodes).flatMap(({ levels }) => levels.flat());
  return [...new Set(specs.flatMap(secretsOf).flatMap((source) => ("env" in source ? [source.env] : [])))];
}

/** What the caller adds to the configuration. */
export interface StonithChoices {
  /** This node. */
  readonly node: string;
  /** Names this process; no other process ever has the same text. */
  readonly life: string;
  readonly watchdog?: Watchdog | undefined;
  readonly isOnlyForOrders?: boolean | undefined;
}

/** The plan by which the machine of a guarded election decides, made from the configuration. */
export function stonithPlanOf(config: StonithConfig, choices: StonithChoices): StonithPlan {
  const { nodes, maxOff, shotsMax, windowMs, delayMs, spreadMs, retryMs, retryMaxMs, attemptsMax } = config;
  const members = Object.keys(nodes);
  return {
    node: choices.node,
    life: choices.life,
    members,
    storeMembers: members.filter((name) => nodes[name]?.hostsStore),
    devices: members.filter((name) => (nodes[name]?.levels.length ?? 0) > 0),
    maxOff,
    shotsMax,
    windowMs,
    delayMs,
    spreadMs,
    retryMs,
    retryMaxMs,
    attemptsMax,
    watchdog: choices.watchdog,
    isOnlyForOrders: choices.isOnlyForOrders ?? false,
  };
}
