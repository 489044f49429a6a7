// `conclave run NAME -- command…`: flags, events and exit codes. src/supervisor does the work.
//
// The exit codes are those of `env` and `timeout`: the command's own; 125 for an error of conclave, 126 found but cannot be executed, 127 not found,
// 128+n ended by signal n.
import { closeSync, openSync, writeSync } from "node:fs";
import { constants } from "node:os";
import type { ConclaveEvent } from "../index.ts";
import {
  type Ending,
  type Endpoints,
  type Pass,
  findCommand,
  refuseHere,
  serveEndpoints,
  shareStderr,
  Supervisor,
  type SupervisorEvent,
} from "../supervisor/index.ts";
import { createMetrics, levelOf, logLine, type Metrics } from "../telemetry/index.ts";
import { UsageError } from "./command.ts";
import { onlyName, readCount, readDuration, readFlags } from "./flags.ts";
import { PASS_HELP, PASS_OPTIONS, readPass, sayHad } from "./run-pass.ts";
import { chooseStore, STORE_HELP } from "./store.ts";

const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

export const help: string = `usage: conclave run NAME [options] -- command [arguments…]

Runs the command only while this process leads the election NAME. Start the same line several times,
on one host or on many: at any time one of these processes runs the command, and the others wait.
The command has a process group of its own; its stdin, stdout and stderr are those of conclave run.
It finds in its environment:

  CONCLAVE_ELECTION   NAME
  CONCLAVE_ID         this candidate
  CONCLAVE_TOKEN      the fencing token, a growing decimal number: give it to what you write to
  CONCLAVE_FENCE      the whole token, domain:value:bid, for conclave/fencing

When the term is about to end, the command gets SIGTERM, and SIGKILL before another process may
lead. A second process, the keeper, does this if conclave run itself is stopped, hangs or is killed.
When the command ends by itself, conclave run gives the lead back and exits with the command's code.

${STORE_HELP}
  --ttl 10s     how long the others wait for a silent leader before one of them leads
  --drain 2s    how long the command has between SIGTERM and SIGKILL (default: a fifth of --ttl)
  --max-tenure 1h
                hand over to another candidate after this time, at least --ttl (default: never)
  --priority 1  0 to 1000 (default: 0); a leader with a smaller one makes way for this candidate
  --id ID       name of this candidate (default: the host's)
  --restart     when the command ends by itself, stand for the next term
${PASS_HELP}  --with-parent end, as by SIGTERM, when the process that started this one has ended (npx, a script)
  --unfenced    accept a store that has no tokens: a stale command may still write
  --http PORT   on 127.0.0.1: /leader, /leading (200 or 503), /healthz, /metrics; 0 takes any port,
                and says which
  --events FILE append events as JSON lines to FILE, instead of writing them to stderr
  --json        write events to stderr as JSON lines, repeated ones too
  --quiet       only warnings and errors on stderr

On SIGTERM, SIGINT or SIGHUP, conclave run sends SIGTERM to the command, waits until it has ended,
gives the lead back and exits. It hands SIGUSR1 and SIGUSR2 on to the command.

Exit code: the command's own; 125 conclave run itself failed, 126 the command cannot be executed, 127 it
was not found, 128+n ended by signal n.
`;

const OPTIONS = {
  store: { type: "string" },
  ttl: { type: "string", default: "10s" },
  drain: { type: "string" },
  "max-tenure": { type: "string" },
  priority: { type: "string" },
  id: { type: "string" },
  restart: { type: "boolean", default: false },
  ...PASS_OPTIONS,
  "with-parent": { type: "boolean", default: false },
  unfenced: { type: "boolean", default: false },
  http: { type: "string" },
  events: { type: "string" },
  json: { type: "boolean", default: false },
  quiet: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof readFlags<{ options: typeof OPTIONS; args: string[] }>>["values"];

interface Asked {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly ttlMs: number;
  readonly drainMs: number | undefined;
  readonly maxTenureMs: number | undefined;
  readonly priority: number | undefined;
  readonly port: number | undefined;
  readonly pass: Pass | undefined;
  readonly values: Values;
}

export async function run(args: readonly string[]): Promise<number> {
  shareStderr();
  const asked = understand(args);
  const refusal = refuseHere();
  if (refusal !== undefined) throw refusal;
  const [command] = asked.command;
  const found = findCommand(command);
  if (found === "executable") return await supervise(asked);
  process.stderr.write(`conclave run: ${command}: ${found === "not-found" ? "not found" : "cannot be executed"}\n`);
  return found === "not-found" ? NOT_FOUND : NOT_EXECUTABLE;
}

function understand(args: readonly string[]): Asked {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const { values, positionals } = readFlags({ args: [...own], options: OPTIONS, allowPositionals: true });
  const [first, ...others] = positionals;
  if (end === -1 && first !== undefined && others.length > 0)
    throw new UsageError(`the command goes behind --: conclave run ${first} -- ${others.join(" ")}`);
  const name = onlyName(positionals, "NAME");
  const [command, ...rest] = end === -1 ? [] : args.slice(end + 1);
  if (command === undefined) throw new UsageError(`which command? conclave run ${name} -- command`);
  const port = values.http === undefined ? undefined : readCount("--http", values.http, 0);
  if (port !== undefined && port > 65_535) throw new UsageError(`--http ${port}: a port is at most 65535`);
  return {
    name,
    command: [command, ...rest],
    ttlMs: readDuration("--ttl", values.ttl),
    drainMs: values.drain === undefined ? undefined : readDuration("--drain", values.drain),
    maxTenureMs: values["max-tenure"] === undefined ? undefined : readDuration("--max-tenure", values["max-tenure"]),
    priority: values.priority === undefined ? undefined : readCount("--priority", values.priority, 0),
    port,
    pass: readPass(values),
    values,
  };
}

async function supervise(asked: Asked): Promise<number> {
  const { name, command, ttlMs, drainMs, maxTenureMs, priority, port, pass, values } = asked;
  const events = openEvents(values);
  const stopping = listenForSignals(values["with-parent"]);
  let endpoints: Endpoints | undefined;
  try {
    const store = await chooseStore(values.store);
    const metrics = createMetrics();
    const supervisor = new Supervisor({
      election: name,
      command,
      store,
      ttlMs,
      drainMs,
      maxTenureMs,
      priority,
      id: values.id,
      restart: values.restart,
      pass,
      unfenced: values.unfenced,
      tell: (event) => tell(event, metrics, events),
    });
    if (port !== undefined) endpoints = await serveEndpoints(port, name, supervisor, () => metrics.text());
    if (endpoints !== undefined && port === 0) process.stderr.write(`http 127.0.0.1:${endpoints.port}\n`);
    stopping.forward = (signal) => supervisor.forward(signal);
    const ending = await supervisor.run(stopping.signal);
    if (ending.kind === "had" && !values.quiet) process.stderr.write(`${sayHad(ending.entry)}\n`);
    return exitCode(ending, stopping.name);
  } finally {
    stopping.end();
    await endpoints?.close();
    events.close();
  }
}

/** `asked`: the signal that told us to stop, after which the command gets SIGTERM. If the command died of that, the code is that of `asked`: 130 after Ctrl-C, as in shells. */
function exitCode(ending: Ending, asked: NodeJS.Signals | undefined): number {
  if (ending.kind === "had") return 0;
  if (ending.kind === "stopped") return asked === undefined ? 0 : 128 + constants.signals[asked];
  const { exit } = ending;
  if ("code" in exit) return exit.code;
  return 128 + constants.signals[exit.signal === "SIGTERM" ? (asked ?? exit.signal) : exit.signal];
}

// ---- signals

interface Stopping {
  readonly signal: AbortSignal;
  /** The signal that asked to stop. */
  name: NodeJS.Signals | undefined;
  forward: (signal: NodeJS.Signals) => void;
  end(): void;
}

/** The end of the parent is noticed within this time. */
const PARENT_EVERY_MS = 250;

/** The first signal counts. A second one changes nothing, because the command is being ended as fast as was agreed. `withParent`: the end of the parent counts as a signal. */
function listenForSignals(withParent: boolean): Stopping {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals): void => {
    stopping.name ??= name;
    controller.abort(new DOMException(`asked to stop by ${name}`, "AbortError"));
  };
  const pass = (name: NodeJS.Signals): void => stopping.forward(name);
  const parent = process.ppid;
  const watch = withParent ? setInterval(() => process.ppid !== parent && leaveAlone(), PARENT_EVERY_MS) : undefined;
  const leaveAlone = (): void => {
    clearInterval(watch);
    process.stderr.write(`conclave run: process ${parent}, which started this one, has ended\n`);
    stop("SIGTERM");
  };
  const stops = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  const passed = ["SIGUSR1", "SIGUSR2"] as const;
  const stopping: Stopping = {
    signal: controller.signal,
    name: undefined,
    forward: () => {},
    end: () => {
      clearInterval(watch);
      for (const name of stops) process.removeListener(name, stop);
      for (const name of passed) process.removeListener(name, pass);
    },
  };
  for (const name of stops) process.on(name, stop);
  for (const name of passed) process.on(name, pass);
  return stopping;
}

// ---- events

interface Events {
  write(event: SupervisorEvent): void;
  close(): void;
}

function openEvents({ events: file, json, quiet }: Values): Events {
  if (file !== undefined) return eventFile(file);
  let before = "";
  return {
    write(event) {
      const level = levelOfAny(event);
      if (level === "debug" || (quiet && level === "info")) return;
      if (json) return void process.stderr.write(asJson(event));
      const line = asText(event);
      // A store that is down answers every try in the same way. The error is printed once, until something else happens.
      if (event.type !== "error" || line !== before) process.stderr.write(`${line}\n`);
      before = line;
    },
    close() {},
  };
}

/** A full disk costs events, and nothing else. The error is printed once, until an event could be written again. */
function eventFile(file: string): Events {
  const descriptor = openToAppend(file);
  let isFailing = false;
  return {
    write(event) {
      try {
        // After a failure there may be half a line.
        writeSync(descriptor, `${isFailing ? "\n" : ""}${asJson(event)}`);
        isFailing = false;
      } catch (error) {
        if (!isFailing) process.stderr.write(`conclave: warning: events are lost: ${file}: ${String(error)}\n`);
        isFailing = true;
      }
    },
    close: () => closeSync(descriptor),
  };
}

function openToAppend(file: string): number {
  try {
    return openSync(file, "a");
  } catch (error) {
    throw new UsageError(`--events: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tell(event: SupervisorEvent, metrics: Metrics, events: Events): void {
  if (isOfElection(event)) metrics.record(event);
  events.write(event);
}

function isOfElection(event: SupervisorEvent): event is ConclaveEvent {
  return event.type !== "child" && event.type !== "keeper" && event.type !== "orphans";
}

function levelOfAny(event: SupervisorEvent): ReturnType<typeof levelOf> {
  if (isOfElection(event)) return levelOf(event);
  if (event.type === "orphans") return "warn";
  if (event.type === "child") return event.state === "unsure" ? "warn" : "info";
  return event.state !== "started" ? "warn" : "info";
}

function asText(event: SupervisorEvent): string {
  if (isOfElection(event)) return logLine(event);
  const { type, ...facts } = event;
  const words = Object.entries(facts).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [type, ...words].join(" ");
}

/** With the wall clock's time, which is for people: nothing is decided by it. Token values are decimal text. */
function asJson(event: SupervisorEvent): string {
  const plain = event.type === "error" ? { ...event, error: errorFacts(event.error) } : event;
  const at = new Date().toISOString();
  return `${JSON.stringify({ at, ...plain }, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value))}\n`;
}

function errorFacts({ code, message, retryable }: { code: string; message: string; retryable: boolean }): object {
  return { code, message, retryable };
}
