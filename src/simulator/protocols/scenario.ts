// Scenario files: a script and its output, in one text. A block is commands, a line `----`, their output, and an empty line. Playing a file gives the same text with the output written anew; a test
// compares the two, and a rewrite keeps the new one. Lines with `#` are comments.
//
//   cluster bully nodes=5 seed=1 latency=10ms leader=5 down=5 answerTimeout=50ms …       begins; the protocol's parameters by their names
//   run 100ms            on by so long                  run until=leader max=5s          until all that are up agree; also until=rest, until=violation
//   step 3               three events                   status · messages · state 2      who believes what · sent so far · a node's state
//   fork a · back a      keep a copy · return to it     expect leader=4 | leader=none | leaders=2,5 | violations=one-leader | violations=none
//   crash 3 · partition majority · hold 1>2 · tell 1 suspect 5 …                         every action of actions.ts
import { type NodeId, type NodeSetting, type NodeSettings } from "../../protocols/node.ts";
import { parseAction } from "./actions.ts";
import { checkNodes, checkSpec } from "./check-spec.ts";
import { formatMs, parseMs } from "../kernel/durations.ts";
import { isWithoutEnd, specOf } from "./election.ts";
import { parseLatency } from "../kernel/latency.ts";
import { PaceCheck } from "./pace.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { AnySubject } from "./subject.ts";
import { subjectNamed } from "./subjects/index.ts";
import { describeBelief, formatProtocolEvent, type ProtocolEvent } from "./trace.ts";
import { ProtocolWorld } from "./world.ts";

const RULE = "----";
const RUN_MAX_MS = 60_000;
const BEGINS = "a scenario begins with: cluster PROTOCOL nodes=N";

/** The result of a scenario file. */
export interface PlayedScenario {
  /** The file, with the present output of its commands. */
  readonly text: string;
  readonly events: readonly ProtocolEvent[];
  readonly world: ProtocolWorld | undefined;
  /** Expectations that did not hold. */
  readonly failures: readonly string[];
}

/** Plays a scenario file, and writes it anew with the present output of its commands. */
export function playScenario(text: string): PlayedScenario {
  const player = new Player();
  const written: string[] = [];
  let block: string[] = [];
  let isOutput = false;
  for (const line of [...text.split("\n"), ""]) {
    if (isOutput) isOutput = line.trim() !== "";
    else if (line.trim() === RULE) {
      isOutput = true;
      written.push(...block, RULE, ...player.play(block), "");
      block = [];
    } else if (line.trim() === "") {
      written.push(...(block.some(isCommand) ? [...block, RULE, ...player.play(block)] : block), "");
      block = [];
    } else block.push(line);
  }
  if (player.world === undefined) player.failures.push(BEGINS);
  return {
    text: `${written
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()}\n`,
    events: player.events,
    world: player.world,
    failures: player.failures,
  };
}

const isCommand = (line: string): boolean => line.trim() !== "" && !line.trim().startsWith("#");

/** `answerTimeoutMs` is written `answerTimeout=50ms`; the other parameters by their own names. */
export function parseSetting(
  node: AnySubject["node"],
  name: string,
  text: string,
): readonly [name: string, value: NodeSetting] {
  const timed = `${name}Ms`;
  if (Object.hasOwn(node.parameters, timed)) return [timed, parseMs(text)];
  const parameter = Object.hasOwn(node.parameters, name) ? node.parameters[name] : undefined;
  if (parameter === undefined)
    throw new RangeError(`${node.name} has no parameter ${name}: ${Object.keys(node.parameters).join(", ")}`);
  if (typeof parameter.default === "boolean") return [name, text !== "off" && text !== "false" && text !== "no"];
  if (typeof parameter.default === "number") {
    if (!/^\d+(?:\.\d+)?$/.test(text)) throw new RangeError(`${name} ${text}: a number is needed`);
    return [name, Number(text)];
  }
  if (parameter.choices !== undefined && !parameter.choices.includes(text))
    throw new RangeError(`${name} ${text}: it is one of ${parameter.choices.join(", ")}`);
  return [name, text];
}

/** Reads members, written `1,2,3`; throws a RangeError for anything else. */
export function parseIds(text: string): readonly NodeId[] {
  return text.split(",").map((part) => {
    if (!/^\d+$/.test(part.trim())) throw new RangeError(`${JSON.stringify(text)}: members are written 1,2,3`);
    return Number(part);
  });
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new RangeError(`step ${text}: a whole number is needed`);
  return Number(text);
}

/** `3:80,1:20`; the attribute of every other member is its id. */
export function parseAttributes(text: string, nodes: number): readonly number[] {
  const attributes = Array.from({ length: nodes }, (_, index) => index + 1);
  const told = new Set<NodeId>();
  for (const part of text.split(",")) {
    const match = /^(\d+):(-?\d+(?:\.\d+)?)$/.exec(part.trim());
    const id = Number(match?.[1] ?? 0);
    if (match === null || id < 1 || id > nodes || told.has(id))
      throw new RangeError(`attributes ${text}: write 3:80,1:20 for members of 1…${nodes}, each at most once`);
    told.add(id);
    attributes[id - 1] = Number(match[2]);
  }
  return attributes;
}

class Player {
  world: ProtocolWorld | undefined;
  readonly failures: string[] = [];
  readonly #copies = new Map<string, ProtocolWorld>();
  #shown = 0;

  get events(): readonly ProtocolEvent[] {
    return this.world?.trace.events ?? [];
  }

  play(lines: readonly string[]): readonly string[] {
    const printed = lines.filter(isCommand).flatMap((line) => this.#playLine(line.trim()));
    return printed.length === 0 ? ["ok"] : printed;
  }

  #playLine(line: string): readonly string[] {
    try {
      return this.#obey(line);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.failures.push(`${line}: ${error.message}`);
      return [`error: ${error.message}`];
    }
  }

  #obey(line: string): readonly string[] {
    const [command = "", ...words] = line.split(/\s+/);
    if (command === "cluster") return this.#cluster(words);
    const world = this.#begun();
    const action = parseAction(line);
    if (action !== undefined) {
      world.apply(action);
      return this.#news();
    }
    switch (command) {
      case "run":
        return this.#run(world, words);
      case "step":
        for (let left = parseCount(words[0] ?? "1"); left > 0; left--) world.step();
        return this.#news();
      case "status":
        return world.members.map((member) => statusOf(member));
      case "messages":
        return Object.entries(world.counts()).map(([type, count]) => `${type} ${count}`);
      case "state":
        return [JSON.stringify(world.member(Number(words[0])).state)];
      case "fork":
        this.#copies.set(words[0] ?? "", world.fork());
        return [];
      case "back":
        return this.#back(words[0] ?? "");
      case "expect":
        return words.map((word) => this.#expect(world, word));
      default:
        throw new RangeError(`there is no command ${command}`);
    }
  }

  #begun(): ProtocolWorld {
    if (this.world === undefined) throw new RangeError(BEGINS);
    return this.world;
  }

  #cluster([name = "", ...words]: readonly string[]): readonly string[] {
    this.world = new ProtocolWorld(specFrom(name, words), { isRecorded: true });
    this.#shown = 0;
    return this.#news();
  }

  #run(world: ProtocolWorld, words: readonly string[]): readonly string[] {
    const options = new Map(words.map((word) => word.split("=") as [string, string | undefined]));
    const until = options.get("until");
    const maxMs =
      world.nowMs +
      (until === undefined ? parseMs(words[0] ?? "") : parseMs(options.get("max") ?? formatMs(RUN_MAX_MS)));
    runUntil(world, until, maxMs);
    if (until === undefined) world.runTo(maxMs);
    return this.#news();
  }

  #back(name: string): readonly string[] {
    const copy = this.#copies.get(name);
    if (copy === undefined) throw new RangeError(`there is no copy ${name}; keep one with: fork ${name}`);
    this.world = copy.fork();
    this.#shown = this.world.trace.events.length;
    return [];
  }

  #expect(world: ProtocolWorld, word: string): string {
    const [what = "", wanted = ""] = word.split("=");
    const actual = observe(world, what);
    if (actual === wanted) return `ok ${word}`;
    this.failures.push(`expect ${word}: it is ${actual}`);
    return `NOT TRUE ${word}: it is ${actual}`;
  }

  #news(): readonly string[] {
    const { events } = this;
    const lines = events.slice(this.#shown).flatMap((event) => formatProtocolEvent(event) ?? []);
    this.#shown = events.length;
    return lines;
  }
}

function runUntil(world: ProtocolWorld, until: string | undefined, maxMs: number): void {
  const isReached = (): boolean => {
    if (until === "leader") return world.agreedLeader() !== 0;
    if (until === "violation") return world.violations.length > 0;
    if (until === "rest" || until === undefined) return false;
    throw new RangeError(`run until=${until}: leader, rest or violation`);
  };
  const pace = new PaceCheck(world);
  while (!isReached() && world.kernel.nextAtMs <= maxMs && world.step()) pace.look();
}

function observe(world: ProtocolWorld, what: string): string {
  const listed = (items: readonly unknown[]): string => (items.length === 0 ? "none" : items.join(","));
  switch (what) {
    case "leader":
      return world.agreedLeader() === 0 ? "none" : String(world.agreedLeader());
    case "leaders":
      return listed(world.leaders());
    case "violations":
      // In the middle of an election, properties that must hold at rest need not hold yet.
      if (world.kernel.nextAtMs === Infinity || isWithoutEnd(world.subject, world.spec)) world.judgeAtRest();
      return listed(world.violations.map(({ invariant }) => invariant));
    case "refused":
      return String(world.resource.refused);
    case "stale":
      return String(world.resource.stale);
    default:
      throw new RangeError(`expect ${what}: leader, leaders, violations, refused or stale`);
  }
}

function statusOf({ id, isUp, isPaused, role, leader, term }: ProtocolWorld["members"][number]): string {
  if (!isUp) return `${id} is down`;
  return `${id} ${describeBelief(role, leader, id)}, term ${term}${isPaused ? ", paused" : ""}`;
}

function specFrom(name: string, words: readonly string[]): ProtocolSpec {
  const { node } = subjectNamed(name);
  const options = new Map(words.map((word) => word.split("=") as [string, string | undefined]));
  const take = (option: string): string | undefined => {
    const value = options.get(option);
    options.delete(option);
    return value;
  };
  const nodes = checkNodes(Number(take("nodes") ?? 5));
  const base = specOf(name, { nodes });
  const [latency, attributes, ring, down] = [take("latency"), take("attr"), take("ring"), take("down")];
  const [seed, leader, writes, fenced, disk] = [
    take("seed"),
    take("leader"),
    take("writes"),
    take("fenced"),
    take("disk"),
  ];
  const settings: NodeSettings = Object.fromEntries(
    [...options].map(([key, value = ""]) => parseSetting(node, key, value)),
  );
  return checkSpec({
    ...base,
    seed: Number(seed ?? 1),
    settings: { ...base.settings, ...settings },
    links: { ...base.links, ...(latency === undefined ? {} : { latency: parseLatency(latency) }) },
    diskLatency: disk === undefined ? base.diskLatency : parseLatency(disk),
    attributes: attributes === undefined ? base.attributes : parseAttributes(attributes, nodes),
    ring: ring === undefined ? base.ring : parseIds(ring),
    leader: Number(leader ?? 0),
    down: down === undefined ? [] : parseIds(down),
    writeEveryMs: writes === undefined ? 0 : parseMs(writes),
    isFenced: fenced !== "off",
    isOrdered: true,
  });
}
