// The signal of a process that was asked to stop, and a deadline for it. If something still keeps the process alive at the deadline, this is reported before the process ends.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { LONGEST_TIMER_MS } from "../base/longest-timer.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { busyElections } from "./twins.ts";

/** Options of `shutdownSignal`. */
export interface ShutdownOptions {
  /**
   * Ends the process this long after it was asked to stop, if it has not ended by itself, with exit code 1 and lines that name what kept it alive. Choose it below the time that
   * your platform waits: Docker kills after 10 s, Kubernetes after 30 s. @default never
   */
  readonly exitWithinMs?: number | undefined;
}

let shared: AbortSignal | undefined;
let asked: NodeJS.Signals | undefined;
let exitWithinMs = Infinity;

/**
 * Aborts on the first SIGTERM or SIGINT. A second one ends the process as usual, because nothing listens to it any more. There is one signal per process; of several deadlines the
 * shortest counts. It does not keep the process alive.
 */
export function shutdownSignal(options: ShutdownOptions = {}): AbortSignal {
  exitWithinMs = Math.min(exitWithinMs, checkedDeadline(options));
  if (shared !== undefined) {
    if (asked !== undefined) exitLater(asked);
    return shared;
  }
  const controller = new AbortController();
  const names = ["SIGTERM", "SIGINT"] as const;
  const stop = (name: NodeJS.Signals): void => {
    for (const each of names) process.removeListener(each, stop);
    asked = name;
    if (exitWithinMs === Infinity) noticeLater(name);
    exitLater(name);
    controller.abort(new DOMException(`asked to stop by ${name}`, "AbortError"));
  };
  for (const each of names) process.on(each, stop);
  shared = controller.signal;
  return shared;
}

function checkedDeadline(options: ShutdownOptions): number {
  const problems = problemsOfKeys(options, ["exitWithinMs"]);
  if (problems.length > 0) throw invalidConfig("shutdownSignal", problems);
  const withinMs: unknown = options?.exitWithinMs ?? Infinity;
  if (typeof withinMs === "number" && withinMs >= 0) return withinMs > LONGEST_TIMER_MS ? Infinity : withinMs;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `shutdownSignal: exitWithinMs ${show(withinMs)} is not a number of milliseconds`,
  );
}

/** This is shorter than the 10 s of Docker, after which nothing could be reported any more. */
const NOTICE_MS = 5_000;

/** Without a deadline, work that ignores its signal is waited for without end. A user who has pressed Ctrl-C is told so, once. */
function noticeLater(name: NodeJS.Signals): void {
  setTimeout(() => {
    const names = busyElections().map((election) => JSON.stringify(election));
    if (names.length === 0 || exitWithinMs !== Infinity) return;
    const message = `still running ${NOTICE_MS / 1000} s after ${name}: the work of ${names.join(", ")} has not ended, or close() was not called. It is waited for. Pass term.signal to what the work awaits. A second ${name} ends the process at once, and shutdownSignal({ exitWithinMs }) does so by itself.`;
    process.emitWarning(message, { type: "ConclaveWarning", code: "CONCLAVE_STILL_RUNNING" });
  }, NOTICE_MS).unref();
}

/** The timer is not referenced: a process that has nothing left to do ends before. */
function exitLater(name: NodeJS.Signals): void {
  if (exitWithinMs === Infinity) return;
  const withinMs = exitWithinMs;
  setTimeout(() => {
    const lines = whatKeepsAlive().map((line) => `  ${line}\n`);
    process.stderr.write(
      `conclave: still running ${withinMs} ms after ${name}. What keeps the process alive:\n${lines.join("")}Exiting with code 1.\n`,
    );
    process.exit(1);
  }, withinMs).unref();
}

/** The things that people usually have forgotten to close. */
const USUAL: Readonly<Record<string, string>> = {
  Timeout: "a timer: clear it, or unref() it",
  TCPServerWrap: "a server that listens: server.close()",
  TCPSocketWrap:
    "an open connection: end the pool or client that has it; of an HTTP server, server.closeIdleConnections()",
  TLSWrap: "an open connection: end the pool or client that has it",
  PipeWrap: "a pipe: standard input or output, or a child process",
  ProcessWrap: "a child process: end it, or unref() it",
  MessagePort: "a worker thread, or a port to one: terminate() it",
  FSEventWrap: "a watched file: close the watcher",
};

function whatKeepsAlive(): readonly string[] {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const resources = [...counts].map(
    ([kind, count]) => `${count} × ${kind}${USUAL[kind] === undefined ? "" : `, ${USUAL[kind]}`}`,
  );
  const elections = busyElections().map(
    (name) => `the election ${JSON.stringify(name)}: its work has not ended, or close() was not called`,
  );
  return [...elections, ...resources];
}
