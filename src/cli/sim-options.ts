// What `conclave sim PROTOCOL` was asked: words → a complete spec. Nothing runs here; what cannot be understood is a RangeError with a sentence.
import { parseArgs } from "node:util";
import { type Parameter, type Protocol, protocolNamed, type Setting } from "../protocols/index.ts";
import {
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
} from "../simulator/index.ts";

export interface SimRequest {
  readonly protocol: Protocol;
  readonly spec: ProtocolSpec;
  readonly maxMs: number;
  readonly seeds: number | undefined;
  readonly isHunt: boolean;
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
  hunt: { type: "boolean", default: false },
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
  const protocol = protocolNamed(name);
  const own = Object.entries(protocol.parameters).map(
    ([parameter, { default: value }]) =>
      [flagOf(parameter), { type: typeof value === "boolean" ? "boolean" : "string" } as const] as const,
  );
  const options = { ...Object.fromEntries(own), ...COMMON };
  const { values } = parseArgs({
    args: [...args],
    options,
    strict: true,
    allowPositionals: false,
    allowNegative: true,
  });
  const words: Words = values;
  return {
    protocol,
    spec: readSpec(protocol, words),
    maxMs: parseMs(String(words["max"])),
    seeds: words["seeds"] === undefined ? undefined : wholeNumber("seeds", words["seeds"], 1),
    isHunt: words["hunt"] === true,
    isJson: words["json"] === true,
    isCsv: words["csv"] === true,
    isTrace: words["trace"] === true,
  };
}

function wholeNumber(option: string, value: unknown, least: number): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < least)
    throw new RangeError(`--${option} ${String(value)}: a whole number, at least ${least}, is needed`);
  return number;
}

function readSpec(protocol: Protocol, words: Words): ProtocolSpec {
  const text = (option: string): string | undefined =>
    words[option] === undefined ? undefined : String(words[option]);
  const nodes = wholeNumber("nodes", words["nodes"], 1);
  if (nodes > 1000) throw new RangeError(`--nodes ${nodes}: at most 1000`);
  const attributes = text("attr");
  if (attributes !== undefined && protocol.electsBy !== "attribute")
    throw new RangeError(`--attr: ${protocol.name} does not elect by attribute`);
  const base = specOf(protocol.name, { nodes, seed: wholeNumber("seed", words["seed"], 0) });
  const values = attributes === undefined ? base.attributes : parseAttributes(attributes, nodes);
  const down = lists(words["crash"]).flatMap((list) => checkIds("crash", parseIds(list), nodes));
  const [latency, disk, ring, writes] = [text("latency"), text("disk"), text("ring"), text("writes")];
  const partitions = lists(words["partition"]);
  const spec: ProtocolSpec = {
    ...base,
    settings: { ...base.settings, ...readSettings(protocol, words, partitions.length > 0) },
    links: {
      latency: latency === undefined ? base.links.latency : parseLatency(latency),
      lossChance: readShare("loss", text("loss")),
      duplicateChance: readShare("duplicate", text("duplicate")),
      isFifo: !protocol.tolerates.reordering,
    },
    diskLatency: disk === undefined ? fixedLatency(0) : parseLatency(disk),
    attributes: values,
    ring: ring === undefined ? base.ring : checkRing(parseIds(ring), nodes),
    down,
    writeEveryMs: writes === undefined ? 0 : parseMs(writes),
    isFenced: words["fence"] === true,
  };
  const leader = readLeader(protocol, spec, words, partitions.length > 0);
  const begun = { ...spec, leader };
  return { ...begun, schedule: [...readInitiators(protocol, begun, words), ...partitions.flatMap(readPartition)] };
}

function lists(words: Words[string]): readonly string[] {
  return Array.isArray(words) ? words.map(String) : [];
}

/** A partition is noticed only by those who listen for heartbeats. */
function readSettings(protocol: Protocol, words: Words, isPartitioned: boolean): Readonly<Record<string, Setting>> {
  const listens = isPartitioned && Object.hasOwn(protocol.parameters, "detector") ? { detector: "heartbeat" } : {};
  const given = Object.entries(protocol.parameters).flatMap(([name, parameter]) =>
    readSetting(protocol, name, parameter, words),
  );
  return { ...listens, ...Object.fromEntries(given) };
}

type Entry = readonly [name: string, value: Setting];

function readSetting(protocol: Protocol, name: string, parameter: Parameter, words: Words): readonly Entry[] {
  const word = words[flagOf(name)];
  if (word === undefined) return [];
  if (typeof parameter.default === "boolean") return [[name, word === true]];
  return [parseSetting(protocol, name.replace(/Ms$/, ""), String(word))];
}

function readShare(option: string, text: string | undefined): number {
  if (text === undefined) return 0;
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  const share = Number(match?.[1]) / 100;
  if (!(share <= 1)) throw new RangeError(`--${option} ${text}: write a share as 10%`);
  return share;
}

function checkIds(option: string, ids: readonly number[], nodes: number): readonly number[] {
  const wrong = ids.find((id) => id < 1 || id > nodes);
  if (wrong !== undefined) throw new RangeError(`--${option}: there is no member ${wrong}; members are 1…${nodes}`);
  return ids;
}

function checkRing(ring: readonly number[], nodes: number): readonly number[] {
  if (new Set(checkIds("ring", ring, nodes)).size !== nodes || ring.length !== nodes)
    throw new RangeError(`--ring ${ring.join(",")}: each of 1…${nodes} once`);
  return ring;
}

/** Who led before: as told; where the best always leads, the best, unless this is a fresh start. */
function readLeader(protocol: Protocol, spec: ProtocolSpec, words: Words, isPartitioned: boolean): number {
  const told = words["leader"];
  if (told !== undefined) return checkIds("leader", parseIds(String(told)), spec.nodes)[0] ?? 0;
  const isFresh =
    words["detect"] === undefined && words["initiators"] === undefined && spec.down.length === 0 && !isPartitioned;
  if (isFresh || protocol.electsBy === "any") return 0;
  const ids = spec.ring.toSorted((a, b) => (spec.attributes[b - 1] ?? b) - (spec.attributes[a - 1] ?? a) || b - a);
  return ids[0] ?? 0;
}

/** Who begins: as told; else whom the protocol names; else, if the old leader is down and nobody listens for it, the least that is up. */
function readInitiators(protocol: Protocol, spec: ProtocolSpec, words: Words): readonly Scheduled[] {
  const up = spec.ring.filter((id) => !spec.down.includes(id)).toSorted((a, b) => a - b);
  const told = words["initiators"] ?? words["detect"];
  const isUnnoticed = spec.down.includes(spec.leader) && !protocol.isPerpetual(spec.settings);
  const first = up.slice(0, 1);
  const byDefault = protocol.initiators === "all" ? up : protocol.initiators === "first" || isUnnoticed ? first : [];
  const ids =
    told === undefined ? byDefault : told === "all" ? up : checkIds("initiators", parseIds(String(told)), spec.nodes);
  return ids.map((node) => ({ atMs: 0, action: { type: "tell", node, command: "campaign", argument: 0 } }));
}

/** `1,2/3,4,5@50ms-900ms`, `majority@1s`, `1>2`. */
function readPartition(text: string): readonly Scheduled[] {
  const [how = "", when] = text.split("@");
  if (when === undefined) return schedulePartition(how, 0, undefined);
  const [from = "", to] = when.split("-");
  return schedulePartition(how, parseMs(from), to === undefined ? undefined : parseMs(to));
}
