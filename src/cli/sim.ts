// `conclave sim`: one simulated election told message by message, a swarm of them as distributions, a scenario file, an exercise. Simulated time; the
// nodes are those of src/protocols and src/lease. The same arguments print the same bytes.
//
// Exit codes: 0 nothing was broken, 1 an invariant was, or an expectation of the scenario is not true, 2 the command was not understood.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Protocol, PROTOCOLS } from "../protocols/index.ts";
import { huntProtocol, playScenario, runElection, type TraceEvent } from "../simulator/index.ts";
import { runExercise } from "./sim-exercises.ts";
import { LEASE_HELP, runLease } from "./sim-lease.ts";
import { flagOf, readRequest, type SimRequest } from "./sim-options.ts";
import { samplesAsCsv, summarize, tellHunt, tellRun, tellSwarm } from "./sim-report.ts";
import { runSwarm } from "./sim-swarm.ts";

export const help: string = `usage: conclave sim PROTOCOL [options]
       conclave sim --scenario FILE [--json]
       conclave sim exercise 1|3|4 [--seed S] [--json]

PROTOCOL is one of: ${[...PROTOCOLS.map(({ name }) => name), "lease"].join(", ")}.

  --nodes N            members 1…N (default 5)          --seed S       another run (default 1); the same seed prints the same bytes
  --ring 3,1,2         clockwise order                  --attr 3:80,1:20   attributes, for protocols that elect by them
  --initiators 1,3     who begins; "all"                --detect 1     who notices first that the old leader is dead, and begins
  --leader 5           who led before                   --crash 7      down from the start; may be repeated, or 6,7
  --partition 1,2/3,4,5@50ms-900ms                      also one, majority, minority-third, majorities-ring, bridge, primaries, random-halves, 1>2
  --latency 10ms       5ms-15ms, exp:2ms+8ms, lan, wan  --disk 1ms     how long a disk write takes
  --loss 10%  --duplicate 5%                            of messages
  --writes 40ms        leaders write to a resource      --no-fence     which does not compare tokens
  --max 60s            stop a run that does not end

  --seeds 10000        so many seeds from S on, on all cores: times, messages, split votes, failing seeds with their replay command
  --hunt               worlds drawn from the seed, with every fault that the protocol claims to tolerate; with --seeds or --seed
  --csv                with --seeds: one line a seed

  --json               {protocol, nodes, seed, leader, term, messages: {total, byType}, virtualMs, violations}; a message to a crashed node counts
  --scenario FILE      plays a script of testdata/ and prints what happens

${PROTOCOLS.map(describeProtocol).join("\n\n")}

${LEASE_HELP}
Exit: 0 nothing was broken, 1 an invariant was, or an expectation of the scenario is not true, 2 not understood.
`;

function describeProtocol({ name, summary, parameters, commands }: Protocol): string {
  const rows = Object.entries(parameters).map(([parameter, { default: value, help, choices }]) => {
    const shown = parameter.endsWith("Ms") ? `${String(value)}ms` : String(value);
    return `  --${flagOf(parameter).padEnd(22)} ${help}${choices === undefined ? "" : ` (${choices.join(", ")})`}; default ${shown}`;
  });
  const told = Object.entries(commands).map(([command, what]) => `tell 1 ${command}: ${what}`);
  return [`${name}: ${summary}`, ...rows, `  in scenario files: ${told.join("; ")}`].join("\n");
}

export async function run(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === undefined || name === "--help" || name === "-h") return tellHelp(name === undefined ? 2 : 0);
    if (name === "exercise") return exercise(rest);
    if (name === "lease") return runLease(rest);
    const scenario = readScenarioFlag(args);
    if (scenario !== undefined) return playFile(scenario.file, scenario.isJson);
    if (rest.includes("--help") || rest.includes("-h")) return tellHelp(0);
    return await simulate(readRequest(name, rest), [name, ...rest]);
  } catch (error) {
    if (!(error instanceof Error) || !isUsage(error)) throw error;
    process.stderr.write(`conclave sim: ${error.message}\n`);
    return 2;
  }
}

/** What a user wrote: ours are RangeErrors, those of parseArgs have a code. */
function isUsage(error: Error & { readonly code?: unknown }): boolean {
  return (
    error instanceof RangeError ||
    (typeof error.code === "string" && /^(?:ERR_PARSE_ARGS|ENOENT|EISDIR)/.test(error.code))
  );
}

function tellHelp(code: number): number {
  (code === 0 ? process.stdout : process.stderr).write(help);
  return code;
}

// ---- one run, or many --------------------------------------------------------------------------------------------------------------------

async function simulate(request: SimRequest, args: readonly string[]): Promise<number> {
  if (request.seeds !== undefined) return swarm(request, request.seeds, args);
  const { spec, maxMs, isJson } = request;
  if (request.isHunt) return hunt(spec.protocol, spec.seed, isJson);
  const election = runElection(spec, { isRecorded: !isJson, maxMs });
  process.stdout.write(isJson ? `${JSON.stringify(election.result)}\n` : tellRun(election));
  return election.result.violations.length === 0 ? 0 : 1;
}

function hunt(protocol: string, seed: number, isJson: boolean): number {
  const hunted = huntProtocol(protocol, seed, { isRecorded: true });
  process.stdout.write(isJson ? `${JSON.stringify(hunted)}\n` : tellHunt(hunted));
  return hunted.violation === undefined ? 0 : 1;
}

async function swarm(
  { protocol, spec, maxMs, isHunt, isJson, isCsv }: SimRequest,
  count: number,
  args: readonly string[],
): Promise<number> {
  const startedAt = performance.now();
  const order = { spec, maxMs, isHunt, fromSeed: spec.seed, count };
  const samples = await runSwarm(order, (done) => showProgress(done, count));
  const seconds = (performance.now() - startedAt) / 1000;
  const summary = summarize(protocol.name, spec.nodes, samples, (seed) => replayCommand(args, seed));
  process.stdout.write(
    isCsv
      ? samplesAsCsv(samples)
      : isJson
        ? `${JSON.stringify(summary)}\n`
        : tellSwarm(summary, samples, isHunt, protocol.electsBy === "any"),
  );
  const events = samples.reduce((sum, sample) => sum + sample.events, 0);
  process.stderr.write(
    `${count} seeds, ${events} events in ${seconds.toFixed(1)} s: ${Math.round(events / seconds)} events/s\n`,
  );
  return summary.failures.length === 0 ? 0 : 1;
}

function showProgress(done: number, count: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count}${done === count ? "\n" : ""}`);
}

/** The same arguments, for one seed. */
function replayCommand(args: readonly string[], seed: number): string {
  const kept: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? "";
    if (word === "--seeds" || word === "--seed") index++;
    else if (!/^--(?:seeds?=|csv$|json$)/.test(word)) kept.push(word);
  }
  return `conclave sim ${kept.join(" ")} --seed ${seed}`;
}

// ---- files and exercises -----------------------------------------------------------------------------------------------------------------

function readScenarioFlag(args: readonly string[]): { readonly file: string; readonly isJson: boolean } | undefined {
  const place = args.findIndex((word) => word === "--scenario" || word.startsWith("--scenario="));
  if (place < 0) return undefined;
  const file = args[place]?.split("=")[1] ?? args[place + 1];
  if (file === undefined) throw new RangeError("--scenario needs a file");
  return { file, isJson: args.includes("--json") };
}

function playFile(file: string, isJson: boolean): number {
  const { text, events, failures } = playScenario(readFileSync(file, "utf8"));
  const json: { events: readonly TraceEvent[]; failures: readonly string[] } = { events, failures };
  process.stdout.write(isJson ? `${JSON.stringify(json)}\n` : text);
  return failures.length === 0 ? 0 : 1;
}

function exercise(args: readonly string[]): number {
  const options = { seed: { type: "string", default: "1" }, json: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  if (!/^\d+$/.test(values.seed)) throw new RangeError(`--seed ${values.seed}: a whole number is needed`);
  const done = runExercise(positionals[0] ?? "", Number(values.seed));
  if (done === undefined) throw new RangeError("exercise 1 (Bully), 3 (split brain) or 4 (lease duration)");
  process.stdout.write(values.json ? `${JSON.stringify(done.json)}\n` : done.text);
  return 0;
}
