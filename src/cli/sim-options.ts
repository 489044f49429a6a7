// What `conclave sim PROTOCOL` was asked: words → a complete spec. Nothing runs here; a word that cannot be understood is a RangeError with a sentence.
import { type Parameter, type NodeSetting } from "../protocols/index.ts";
import {
  checkIds,
  checkNodes,
  checkPartition,
  checkSpec,
  fixedLatency,
  parseAttributes,
  parseIds,
  parseLatency,
  parseMs,
  parseSetting,
  type ProtocolSpec,
  type Scheduled,
  schedulePartition,
  specOf,
  type AnySubject,
  subjectNamed,
} from "../simulator/index.ts";
import { readFlags } from "./flags.ts";

export interface SimRequest {
  readonly subject: AnySubject;
  readonly spec: ProtocolSpec;
  readonly maxMs: number;
  readonly seeds: number | undefined;
  readonly isJson: boolean;
  readonly isCsv: boolean;
  readonly isTrace: boolean;
}

const COMMON = {
  nodes: { type: "string", default: "5" },
  seed: { type: "string", default: "1" },
  ring: { type: "string" },
  initiators: { type: "string" },
  attr: { type: "string" },
  leader: { type: "string" },
  crash: { type: "string", multiple: true },
  detect: { type: "string" },
  partition: { type: "string", multiple: true },
  latency: { type: "string" },
  disk: { type: "string" },
  loss: { type: "string" },
  duplicate: { type: "string" },
  writes: { type: "string" },
  fence: { type: "boolean", default: true },
  max: { type: "string", default: "60s" },
  seeds: { type: "string" },
  csv: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  trace: { type: "boolean", default: false },
} as const;

type Words = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** `answerTimeoutMs` → `answer-timeout`. */
export function flagOf(parameter: string): string {
  return parameter.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function readRequest(name: string, args: readonly string[]): SimRequest {
  const subject = subjectNamed(name);
  const own = Object.entries(subject.node.parameters).map(
    ([parameter, { default: value }]) =>
      [flagOf(parameter), { type: typeof value === "boolean" ? "boolean" : "string" } as const] as const,
  );
  const options = { ...Object.fromEntries(own), ...COMMON };
  const { values } = readFlags({
    args: [...args],
    options,
    strict: true,
    allowPositionals: false,
    allowNegative: true,
  });
  const words: Words = values;
  checkTogether(words);
  return {
    subject,
    spec: readSpec(subject, words),
    maxMs: named("max", () => parseMs(String(words["max"]))),
    seeds: words["seeds"] === undefined ? undefined : wholeNumber("seeds", words["seeds"], 1),
    isJson: words["json"] === true,
    isCsv: words["csv"] === true,
    isTrace: words["trace"] === true,
  };
}

/** Refuses options that would be ignored silently. */
function checkTogether(words: Words): void {
  const has = (option: string): boolean => words[option] === true || typeof words[option] === "string";
  if (has("csv") && !has("seeds")) throw new RangeError("--csv goes with --seeds: one line a seed");
  for (const [one, other] of [
    ["csv", "json"],
    ["trace", "seeds"],
  ] as const)
    if (has(one) && has(other)) throw new RangeError(`--${one} and --${other} do not go together`);
}

/** Adds the name of the option to an error, where only its value was looked at. */
function named<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError) || error.message.startsWith("--")) throw error;
    const isNamed = new RegExp(`^${option}\\b`).test(error.message);
    throw new RangeError(isNamed ? `--${error.message}` : `--${option}: ${error.message}`, { cause: error });
  }
}

export function wholeNumber(option: string, value: unknown, least: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(String(value)) || !Number.isSafeInteger(number) || number < least)
    throw new RangeError(`--${option} ${String(value)}: a whole number, at least ${least}, is needed`);
  return number;
}

function readSpec(subject: AnySubject, words: Words): ProtocolSpec {
  const { node } = subject;
  const text = (option: string): string | undefined =>
    words[option] === undefined ? undefined : String(words[option]);
  const nodes = named("nodes", () => checkNodes(wholeNumber("nodes", words["nodes"], 1)));
  const attributes = text("attr");
  if (attributes !== undefined && subject.electsBy !== "attribute" && words["logs"] !== "attribute")
    throw new RangeError(
      `--attr: ${node.name} does not elect by attribute${Object.hasOwn(node.parameters, "logs") ? "; with --logs attribute it does" : ""}`,
    );
  const base = specOf(node.name, { nodes, seed: wholeNumber("seed", words["seed"], 0) });
  const values = attributes === undefined ? base.attributes : named("attr", () => parseAttributes(attributes, nodes));
  const down = lists(words["crash"]).flatMap((list) => readIds("crash", list, nodes));
  const [latency, disk, ring, writes] = [text("latency"), text("disk"), text("ring"), text("writes")];
  const partitions = lists(words["partition"]);
  const spec: ProtocolSpec = {
    ...base,
    settings: { ...base.settings, ...readSettings(node, words, partitions.length > 0) },
    links: {
      latency: latency === undefined ? base.links.latency : named("latency", () => parseLatency(latency)),
      lossChance: readShare("loss", text("loss")),
      duplicateChance: readShare("duplicate", text("duplicate")),
      isFifo: !subject.tolerates.reordering,
    },
    diskLatency: disk === undefined ? fixedLatency(0) : named("disk", () => parseLatency(disk)),
    attributes: values,
    ring: ring === undefined ? base.ring : readIds("ring", ring, nodes),
    down,
    writeEveryMs: writes === undefined ? 0 : named("writes", () => parseMs(writes)),
    isFenced: words["fence"] === true,
  };
  const leader = readLeader(subject, spec, words, partitions.length > 0);
  const begun = { ...spec, leader };
  const cuts = partitions.flatMap((partition) => named("partition", () => readPartition(partition, nodes)));
  return checkSpec({ ...begun, schedule: [...readInitiators(subject, begun, words), ...cuts] });
}

function lists(words: Words[string]): readonly string[] {
  return Array.isArray(words) ? words.map(String) : [];
}

/** A partition is noticed only by those who listen for heartbeats. */
function readSettings(
  node: AnySubject["node"],
  words: Words,
  isPartitioned: boolean,
): Readonly<Record<string, NodeSetting>> {
  const listens = isPartitioned && Object.hasOwn(node.parameters, "detector") ? { detector: "heartbeat" } : {};
  const given = Object.entries(node.parameters).flatMap(([name, parameter]) =>
    readSetting(node, name, parameter, words),
  );
  return { ...listens, ...Object.fromEntries(given) };
}

type NamedSetting = readonly [name: string, value: NodeSetting];

function readSetting(
  node: AnySubject["node"],
  name: string,
  parameter: Parameter,
  words: Words,
): readonly NamedSetting[] {
  const word = words[flagOf(name)];
  if (word === undefined) return [];
  if (typeof parameter.default === "boolean") return [[name, word === true]];
  return [named(flagOf(name), () => parseSetting(node, name.replace(/Ms$/, ""), String(word)))];
}

function readShare(option: string, text: string | undefined): number {
  if (text === undefined) return 0;
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  const share = Number(match?.[1]) / 100;
  if (!(share <= 1)) throw new RangeError(`--${option} ${text}: write a share as 10%`);
  return share;
}

export function readIds(option: string, text: string, nodes: number): readonly number[] {
  return checkIds(
    `--${option}`,
    named(option, () => parseIds(text)),
    nodes,
  );
}

/** Who led before. As the user says; if the best always leads, the best, unless this is a fresh start; if a majority elects, a member that is down was never up. */
function readLeader(subject: AnySubject, spec: ProtocolSpec, words: Words, isPartitioned: boolean): number {
  const told = words["leader"];
  if (told !== undefined) {
    const [leader = 0, ...others] = readIds("leader", String(told), spec.nodes);
    if (others.length > 0) throw new RangeError(`--leader ${String(told)}: one member`);
    return leader;
  }
  const isFresh =
    words["detect"] === undefined &&
    words["initiators"] === undefined &&
    (spec.down.length === 0 || subject.liveness.needs === "majority") &&
    !isPartitioned;
  if (isFresh || subject.electsBy === "any") return 0;
  const ids = spec.ring.toSorted((a, b) => (spec.attributes[b - 1] ?? b) - (spec.attributes[a - 1] ?? a) || b - a);
  return ids[0] ?? 0;
}

/** Who begins. As the user says; else the member that the protocol names; else, if the old leader is down and no member listens for it, the least that is up. */
function readInitiators(subject: AnySubject, spec: ProtocolSpec, words: Words): readonly Scheduled[] {
  const up = spec.ring.filter((id) => !spec.down.includes(id)).toSorted((a, b) => a - b);
  const option = words["initiators"] === undefined ? "detect" : "initiators";
  const told = words[option];
  const isUnnoticed = spec.down.includes(spec.leader) && !subject.isPerpetual(spec.settings);
  const first = up.slice(0, 1);
  const byDefault = subject.initiators === "all" ? up : subject.initiators === "first" || isUnnoticed ? first : [];
  const ids = told === undefined ? byDefault : told === "all" ? up : readIds(option, String(told), spec.nodes);
  const isHopeless = ids.length > 0 && up.length > 0 && !ids.some((id) => up.includes(id));
  if (isHopeless && !subject.isPerpetual(spec.settings))
    throw new RangeError(`--${option} ${String(told)}: down from the start (--crash), so nobody would begin`);
  return ids.map((node) => ({ atMs: 0, action: { type: "tell", node, command: "campaign", argument: 0 } }));
}

/** `1,2/3,4,5@50ms-900ms`, `majority@1s`, `1>2`. */
function readPartition(text: string, nodes: number): readonly Scheduled[] {
  const { how, fromMs, toMs } = readCut(text, nodes);
  return schedulePartition(how, fromMs, toMs);
}

/** `how@from-to`, in the form that schedulePartition takes. */
export function readCut(text: string, nodes: number): { how: string; fromMs: number; toMs: number | undefined } {
  const [how = "", when, ...more] = text.split("@");
  checkPartition(how, nodes);
  if (when === undefined) return { how, fromMs: 0, toMs: undefined };
  const [from = "", to, ...rest] = when.split("-");
  const [fromMs, toMs] = [parseMs(from), to === undefined ? undefined : parseMs(to)];
  if (more.length > 0 || rest.length > 0 || (toMs !== undefined && toMs <= fromMs))
    throw new RangeError(`${text}: from when, and until when, as in ${how}@50ms-900ms`);
  return { how, fromMs, toMs };
}
