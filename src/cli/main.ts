#!/usr/bin/env node
// The command line: picks a command, and answers for its exit code. One file a command; each is loaded only when it is asked for.
import { createRequire } from "node:module";
import { isConclaveError } from "../index.ts";
import { type CommandModule, NOT_UNDERSTOOD, UNKNOWN, UsageError, YES } from "./command.ts";
import { speakWarnings } from "./warnings.ts";

interface Command {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
  /** The exit code for all trouble of ours, where 2 and 3 would be taken for those of another program. */
  readonly trouble?: number;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  demo: {
    summary: "three real processes elect a leader; it is killed, stopped, replaced, and its stale write refused",
    load: () => import("./demo.ts"),
  },
  run: { summary: "runs a command only while this process leads", load: () => import("./run.ts"), trouble: 125 },
  leader: { summary: "who leads now", load: () => import("./leader.ts") },
  observe: { summary: "a line for every change of the leader", load: () => import("./observe.ts") },
  drill: { summary: "real faults on your store, judged from outside", load: () => import("./drill.ts") },
  fence: { summary: "tell a guard that the store has been moved", load: () => import("./fence.ts") },
  schema: { summary: "the SQL that makes the tables of a store in PostgreSQL", load: () => import("./schema.ts") },
  sim: { summary: "simulated elections: one, a swarm, a scenario, an exercise", load: () => import("./sim.ts") },
};

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}`);
  return [
    "conclave: one leader among many processes, and a stale one made harmless",
    "",
    "usage: conclave COMMAND [options]",
    "",
    ...rows,
    "",
    "conclave COMMAND --help says more. conclave --version prints the version.",
    "Exit codes: 0 yes or done, 1 no, 2 not understood, 3 it could not be found out or not be done. run has those of env(1).",
    "",
  ].join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    (name === undefined ? process.stderr : process.stdout).write(usage());
    return name === undefined ? NOT_UNDERSTOOD : YES;
  }
  if (name === "--version" || name === "-v") {
    const { version } = createRequire(import.meta.url)("conclave/package.json") as { version: string };
    process.stdout.write(`${version}\n`);
    return YES;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    process.stderr.write(`conclave: there is no command ${JSON.stringify(name)}\n\n${usage()}`);
    return NOT_UNDERSTOOD;
  }
  return await runCommand(name, command, rest);
}

async function runCommand(name: string, { load, trouble }: Command, args: readonly string[]): Promise<number> {
  const module = await load();
  if (asksForHelp(args)) {
    process.stdout.write(module.help);
    return YES;
  }
  try {
    return await module.run(args, { home: import.meta.url });
  } catch (error) {
    process.stderr.write(`conclave ${name}: ${describe(error)}\n`);
    if (!(error instanceof UsageError)) return trouble ?? (isInvalid(error) ? NOT_UNDERSTOOD : UNKNOWN);
    process.stderr.write(`\n${module.help}`);
    return trouble ?? NOT_UNDERSTOOD;
  }
}

/** What comes after `--` belongs to another program. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).some((arg) => arg === "--help" || arg === "-h");
}

function isInvalid(error: unknown): boolean {
  return isConclaveError(error) && error.code === "CONFIG_INVALID";
}

function describe(error: unknown): string {
  if (isConclaveError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

speakWarnings();
main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`conclave: ${describe(error)}\n`);
    process.exitCode = UNKNOWN;
  },
);
