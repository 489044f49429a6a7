#!/usr/bin/env node
// The command line: picks a command, and answers for its exit code. One file a command (commands.ts).
import { createRequire } from "node:module";
import { type ConclaveError, isConclaveError } from "../index.ts";
import { NOT_UNDERSTOOD, UNKNOWN, UsageError, YES } from "./command.ts";
import { type CommandEntry, COMMANDS } from "./commands.ts";
import { inFlags } from "./flags.ts";
import { bearLostReaders, exitCodeOf } from "./output.ts";
import { speakWarnings } from "./warnings.ts";
import { didYouMean, fit, nearest } from "./help-text.ts";

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}`);
  return [
    "conclave: elects one leader among many processes",
    "",
    "usage: conclave COMMAND [options]",
    "",
    ...rows,
    "",
    "conclave help COMMAND says more. conclave --version prints the version.",
    "Exit codes: 0 yes or done, 1 no, 2 the command line was not understood, 3 the store did not answer",
    "or refused (the reason is on stderr), 130 interrupted. conclave run has the exit codes of env(1).",
    "",
  ].join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === "help" && rest[0] !== undefined) return await tellHelp(rest[0]);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    (name === undefined ? process.stderr : process.stdout).write(usage());
    return name === undefined ? NOT_UNDERSTOOD : YES;
  }
  if (name === "--version" || name === "-v") {
    const { version } = createRequire(import.meta.url)("conclave/package.json") as { version: string };
    process.stdout.write(`${version}\n`);
    return YES;
  }
  const command = commandOf(name);
  return command === undefined ? refuse(name) : await runCommand(name, command, rest);
}

function commandOf(name: string): CommandEntry | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

async function tellHelp(name: string): Promise<number> {
  const command = commandOf(name);
  if (command === undefined) return refuse(name);
  process.stdout.write(fit((await command.load()).help));
  return YES;
}

function refuse(name: string): number {
  if (name.startsWith("-")) {
    const meant = nearest(name, ["--help", "--version"]);
    process.stderr.write(`conclave: there is no flag ${name}.${didYouMean(meant)} More: conclave --help\n`);
    return NOT_UNDERSTOOD;
  }
  const meant = nearest(name, Object.keys(COMMANDS));
  const hint = didYouMean(meant === undefined ? undefined : JSON.stringify(meant));
  process.stderr.write(`conclave: there is no command ${JSON.stringify(name)}.${hint} All of them: conclave --help\n`);
  return NOT_UNDERSTOOD;
}

async function runCommand(name: string, { load, trouble }: CommandEntry, args: readonly string[]): Promise<number> {
  const module = await load();
  if (asksForHelp(args)) {
    process.stdout.write(fit(module.help));
    return YES;
  }
  try {
    return await module.run(args, { home: import.meta.url });
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const said = listed(describe(error));
    const end = said.includes("\n") ? "\n" : /[.?!]$/.test(said) ? " " : ". ";
    process.stderr.write(`conclave ${name}: ${said}${isUsage ? `${end}More: conclave ${name} --help` : ""}\n`);
    return trouble ?? (isUsage || isInvalid(error) ? NOT_UNDERSTOOD : UNKNOWN);
  }
}

/** What comes after `--` belongs to another program. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).some((arg) => arg === "--help" || arg === "-h");
}

function isInvalid(error: unknown): error is ConclaveError {
  return isConclaveError(error) && error.code === "CONFIG_INVALID";
}

/** Several problems of one file or call are easier to read one below the other. */
function listed(message: string): string {
  const [head = "", ...problems] = message.split(" · ");
  return problems.length < 2 ? message : [head, ...problems.map((problem) => `  - ${problem}`)].join("\n");
}

function describe(error: unknown): string {
  if (isInvalid(error)) return `${error.code}: ${inFlags(error.message)}`;
  if (isConclaveError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

bearLostReaders();
speakWarnings();
main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = exitCodeOf(code);
  },
  (error: unknown) => {
    process.stderr.write(`conclave: ${describe(error)}\n`);
    process.exitCode = UNKNOWN;
  },
);
