#!/usr/bin/env node
// The command line: picks a command, and answers for its exit code. One file a command; each is loaded only when it is asked for.
//
// Exit codes: 0 it is true, 1 it is not, 2 the command was not understood.
import { createRequire } from "node:module";

interface Command {
  readonly summary: string;
  readonly load: () => Promise<{ readonly run: (args: readonly string[]) => Promise<number> }>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  demo: {
    summary: "a simulated election: a paused leader is replaced, and its stale write refused",
    load: () => import("./demo.ts"),
  },
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
    "",
  ].join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(usage());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    const { version } = createRequire(import.meta.url)("conclave/package.json") as { version: string };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    process.stderr.write(`conclave: there is no command ${JSON.stringify(name)}\n\n${usage()}`);
    return 2;
  }
  const { run } = await command.load();
  return run(rest);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`conclave: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
