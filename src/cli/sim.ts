// `conclave sim`: one simulated election told message by message, a swarm of them as distributions, a hunt, a scenario file, an exercise. Simulated time; the
// nodes are those of src/protocols and src/lease. The same arguments print the same bytes.
//
// Exit codes: 0 nothing was broken, 1 an invariant was, or an expectation of the scenario is not true, 2 the command was not understood.
import { readFileSync } from "node:fs";
import {
  eventAsJson,
  playScenario,
  runElection,
  type SampleOrder,
  type AnySubject,
  SUBJECTS,
  type TraceEvent,
} from "../simulator/index.ts";
import { HUNT_HELP, runHunt } from "./sim-hunt.ts";
import { type Context, UsageError } from "./command.ts";
import { readFlags } from "./flags.ts";
import { runExercise } from "./sim-exercises.ts";
import { KAFKA_HELP, runKafka } from "./sim-kafka.ts";
import { LEASE_HELP, runLease } from "./sim-lease.ts";
import { flagOf, readRequest, type SimRequest, wholeNumber } from "./sim-options.ts";
import { tellRun } from "./sim-report.ts";
import { tellSamples } from "./sim-swarm.ts";
import { didYouMean, fit, nearest } from "./help-text.ts";

export const help: string = `usage: conclave sim PROTOCOL [options]
       conclave sim --hunt [NAME…] [--seed S] [--seeds N]
       conclave sim --scenario FILE [--json]
       conclave sim exercise 1|2|3|4|5 [--seed S] [--store URL] [--json]
       conclave sim kafka [--brokers N] [--partitions N] [--json]

PROTOCOL is one of: ${protocolNames()}.

  --nodes N            members 1…N (default 5)
  --seed S             another run (default 1); the same seed prints the same bytes
  --ring 3,1,2         their order in the ring, clockwise
  --attr 3:80,1:20     attributes, for protocols that elect by them
  --initiators 1,3     the nodes that begin an election; or "all"
  --detect 1           the node that notices first that the old leader is dead, and begins
  --leader 5           the node that led before
  --crash 7            a node that is down from the start; may be repeated, or 6,7
  --partition 1,2/3,4,5@50ms-900ms
                       a cut between these groups, from and until when; or one, majority, minority-third, majorities-ring, bridge, primaries, random-halves, 1>2
  --latency 10ms       of messages; also 5ms-15ms, exp:2ms+8ms, lan, wan
  --disk 1ms           how long a disk write takes
  --loss 10%           of messages
  --duplicate 5%       of messages
  --writes 40ms        leaders write to a resource, so often
  --no-fence           that resource does not compare tokens
  --max 60s            stop a run that does not end; what must hold at rest is not judged then

  --seeds 10000        so many seeds from S on, on all cores: times, messages, split votes, and the command that replays each seed that failed
  --csv                with --seeds: one line for each seed; a cell is empty where nobody led, or it never came about

  --json               {protocol, nodes, seed, leader, term, messages: {total, byType}, virtualMs, violations}; messages to crashed nodes are counted, too
  --trace              every event as a line of JSON
  --scenario FILE      plays a scenario file and prints what happens (docs/PROTOCOLS.md)

${SUBJECTS.map(describeSubject).join("\n\n")}

${LEASE_HELP}
${KAFKA_HELP}
${HUNT_HELP}
Exit: 0 nothing was broken, 1 an invariant was, or an expectation of the scenario is not true, 2 the command line was not understood, 130 interrupted.
`;

function protocolNames(): string {
  return [...SUBJECTS.map(({ node }) => node.name), "lease"].join(", ");
}

function describeSubject({ node, commands }: AnySubject): string {
  const { name, summary, parameters } = node;
  const rows = Object.entries(parameters).map(([parameter, { default: value, help, choices }]) => {
    const shown = parameter.endsWith("Ms") ? `${String(value)}ms` : String(value) || "none";
    return `  --${flagOf(parameter).padEnd(22)} ${help}${choices === undefined ? "" : ` (${choices.join(", ")})`}; default ${shown}`;
  });
  const told = Object.entries(commands).map(([command, telling]) => `tell 1 ${command}: ${telling.help}`);
  const scenario = told.length === 0 ? [] : [`  in scenario files: ${told.join("; ")}`];
  return [`${name}: ${summary}`, ...rows, ...scenario].join("\n");
}

export async function run(args: readonly string[], context: Context): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === undefined || name === "--help" || name === "-h") return tellHelp(name === undefined ? 2 : 0);
    if (args.includes("--hunt")) return await runHunt(args);
    if (name === "exercise") return await exercise(rest, context);
    if (name === "lease") return await runLease(rest);
    if (name === "kafka") return runKafka(rest);
    const scenario = readScenarioFlag(args);
    if (scenario !== undefined) return playFile(scenario.file, scenario.isJson);
    if (rest.includes("--help") || rest.includes("-h")) return tellHelp(0);
    if (!SUBJECTS.some(({ node }) => node.name === name)) throw new RangeError(unknownProtocol(name));
    return await simulate(readRequest(name, rest), [name, ...rest]);
  } catch (error) {
    if (!(error instanceof Error) || !isUsage(error)) throw error;
    const end = /[.?!]$/.test(error.message) ? " " : ". ";
    process.stderr.write(`conclave sim: ${error.message}${end}More: conclave sim --help\n`);
    return 2;
  }
}

/** Whether the error is about what the user wrote: about the flags, or about their values. */
function isUsage(error: Error): boolean {
  return error instanceof UsageError || error instanceof RangeError;
}

function unknownProtocol(name: string): string {
  const meant = nearest(name, [...SUBJECTS.map(({ node }) => node.name), "lease", "exercise", "kafka"]);
  return `there is no protocol ${name}: ${protocolNames()}; or exercise, or kafka, or --hunt.${didYouMean(meant)}`;
}

function tellHelp(code: number): number {
  (code === 0 ? process.stdout : process.stderr).write(fit(help));
  return code;
}

// ---- one run, or many --------------------------------------------------------------------------------------------------------------------

async function simulate(request: SimRequest, args: readonly string[]): Promise<number> {
  if (request.seeds !== undefined) return swarm(request, request.seeds, args);
  const { spec, maxMs, isJson } = request;
  const election = runElection(spec, { isRecorded: !isJson || request.isTrace, maxMs });
  const hasVotes = request.subject.electsBy === "any";
  const text = isJson ? `${JSON.stringify(election.result)}\n` : tellRun(election, hasVotes);
  process.stdout.write(request.isTrace ? asLines(election.events) : text);
  return election.result.violations.length === 0 ? 0 : 1;
}

function asLines(events: readonly TraceEvent[]): string {
  return events.map((event) => `${eventAsJson(event)}\n`).join("");
}

async function swarm(
  { subject, spec, maxMs, isJson, isCsv }: SimRequest,
  count: number,
  args: readonly string[],
): Promise<number> {
  const order: SampleOrder = { kind: "election", spec, maxMs, fromSeed: spec.seed, count };
  const hasVotes = subject.electsBy === "any";
  return tellSamples(order, { name: subject.node.name, nodes: spec.nodes, hasVotes, isJson, isCsv, args });
}

// ---- files and exercises -----------------------------------------------------------------------------------------------------------------

function readScenarioFlag(args: readonly string[]): { readonly file: string; readonly isJson: boolean } | undefined {
  const place = args.findIndex((word) => word === "--scenario" || word.startsWith("--scenario="));
  if (place < 0) return undefined;
  const options = { scenario: { type: "string" }, json: { type: "boolean", default: false } } as const;
  const { values } = readFlags({ args: [...args], options, strict: true, allowPositionals: true });
  if (values.scenario === undefined || values.scenario === "") throw new RangeError("--scenario needs a file");
  return { file: values.scenario, isJson: values.json };
}

function readScenario(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`--scenario: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function playFile(file: string, isJson: boolean): number {
  const { text, events, failures } = playScenario(readScenario(file));
  const json: { events: readonly TraceEvent[]; failures: readonly string[] } = { events, failures };
  process.stdout.write(isJson ? `${JSON.stringify(json)}\n` : text);
  for (const failure of failures) process.stderr.write(`conclave sim: ${file}: ${failure}\n`);
  return failures.length === 0 ? 0 : 1;
}

const EXERCISES = `conclave sim exercise N, with --seed S and --json:

  1   Bully: who is elected, and after how many messages, when the leader is dead
  2   ZooKeeper's recipe on a real server (--store URL): the leader is killed, and how long nobody leads
  3   split brain: two leaders write during a partition, and what a fencing token changes
  4   lease duration: how long nobody leads after a crash, and how often a healthy leader is lost
  5   STONITH: three nodes, and a cloud API that stops machines, fails, hangs, lies, or comes late
`;

async function exercise(args: readonly string[], context: Context): Promise<number> {
  const options = {
    seed: { type: "string", default: "1" },
    store: { type: "string" },
    json: { type: "boolean", default: false },
  } as const;
  const { values, positionals } = readFlags({ args: [...args], options, strict: true, allowPositionals: true });
  if (positionals.length === 0) {
    process.stdout.write(EXERCISES);
    return 0;
  }
  if (positionals[0] === "2" && positionals.length === 1) {
    const { runZooKeeperExercise } = await import("./sim-zookeeper.ts");
    return await runZooKeeperExercise(values.store, values.json, context);
  }
  const done = runExercise(positionals[0] ?? "", wholeNumber("seed", values.seed, 0));
  if (done === undefined || positionals.length > 1)
    throw new RangeError("exercise 1 (Bully), 2 (ZooKeeper), 3 (split brain), 4 (lease duration) or 5 (STONITH)");
  process.stdout.write(values.json ? `${JSON.stringify(done.json)}\n` : done.text);
  return 0;
}
