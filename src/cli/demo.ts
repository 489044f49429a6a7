// `conclave demo`: three real processes on one host, and faults that a sceptic would ask for. Exits 0 only if all that it shows is true: no two led at
// one instant by their own log, tokens grew, the stale write was really attempted and refused, and the ledger is whole.
import { sqlite } from "../stores/sqlite.ts";
import { type Context, NO, UNKNOWN, UsageError, YES } from "./command.ts";
import { type Performance, NAMES, perform } from "./demo/performance.ts";
import type { Round } from "./demo/round.ts";
import { openScreen, silentScreen } from "./demo/screen.ts";
import { count, runSimulated } from "./demo/simulated.ts";
import { timeline } from "./demo/timeline.ts";
import { readCount, readDuration, readFlags } from "./flags.ts";
import { sayStore } from "./store.ts";

export const help: string = `usage: conclave demo [--once | --rounds N] [--ttl DURATION] [--json]
       conclave demo --simulated [--seed N] [--json]

Starts three real candidate processes on a sqlite: store in a private temporary folder. The leader writes to a ledger that a guard protects. In each round the leader is killed (SIGKILL), and another process takes over. That one is stopped (SIGSTOP) for longer than its ttl, in the middle of a write, and a third process takes over. The stopped one goes on (SIGCONT) and writes with its old token, and the ledger refuses the write. At the end the demo prints who led when, and judges from the log that the processes have written whether two led at once. The log is kept.

  --once            one round, then end (also if stdout is no terminal)
  --rounds N        N rounds, then end (default: until Ctrl-C)
  --ttl DURATION    how long the others wait for a silent leader, 500ms to 1m (default 2s)
  --json            in place of the story a JSON object after each round, the last one when all processes have ended: {"ok", "rounds", "ttlMs", "failovers": [{"how", "from", "fromToken", "to",
                    "toToken", "ms"}], "staleWrites": [{"who", "token", "newest", "refused"}], "terms", "entries", "overlaps", "problems",
                    "summary", "log"}. A failover's ms is from the signal to the first entry of the successor that the ledger took.
  --simulated       one simulated election, without processes; the same for the same --seed N (default 1)

With NO_COLOR in the environment it prints no colors. It needs SQLite (Node 22.13 or later, or npm install libsql), and Linux or macOS; --simulated needs neither.

Exit codes: 0 there was no overlap and every stale write was refused, 1 something else happened, 2 the command line was not understood, 3 it could not be shown, 130 interrupted before the first round was over.
`;

const INTERRUPTED = 130;
const TTL_LEAST_MS = 500;
const TTL_MOST_MS = 60_000;

export async function run(args: readonly string[], { home }: Context): Promise<number> {
  const flags = readArgs(args);
  if (flags.simulated) return runSimulated(flags.seed, flags.json);
  if (process.platform === "win32") {
    process.stderr.write(
      "conclave demo: Windows cannot stop a process and let it go on. See a simulated one: conclave demo --simulated\n",
    );
    return UNKNOWN;
  }
  const told = new AbortController();
  const stop = (): void => told.abort();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, stop);
  process.stdout.on("error", stop);
  const { json, ttlMs, rounds } = flags;
  try {
    const performance = await perform({
      program: new URL("./demo/candidate.js", home),
      ttlMs,
      rounds,
      screen: json ? silentScreen : openScreen(process.stdout, process.env),
      signal: told.signal,
      onStore: (file) => sayStore(sqlite(file), file),
      onRound: (played, verdict, log) => {
        if (json && verdict.ok && played.length < rounds) printJson(ttlMs, { rounds: played, verdict, log });
      },
    });
    if (json) printJson(ttlMs, performance);
    else process.stdout.write(tellEnd(performance));
    const { verdict } = performance;
    if (told.signal.aborted && performance.rounds.length === 0 && verdict.problems.length === 0) return INTERRUPTED;
    return verdict.ok ? YES : NO;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`conclave demo: ${why}\nSee a simulated one: conclave demo --simulated\n`);
    return UNKNOWN;
  }
}

interface Flags {
  readonly json: boolean;
  readonly ttlMs: number;
  readonly rounds: number;
  readonly simulated: boolean;
  readonly seed: number;
}

function readArgs(args: readonly string[]): Flags {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = { once: flag, rounds: text, ttl: text, json: flag, simulated: flag, seed: text } as const;
  const { values } = readFlags({ args: [...args], options, allowPositionals: false });
  const { once, rounds, ttl, simulated = false, seed } = values;
  if (simulated && (once === true || rounds !== undefined || ttl !== undefined))
    throw new UsageError("--simulated goes with --seed and --json only");
  if (!simulated && seed !== undefined)
    throw new UsageError("--seed goes with --simulated: real processes cannot be replayed");
  if (once === true && rounds !== undefined) throw new UsageError("--once is --rounds 1: pass one of them");
  const ttlMs = readDuration("--ttl", ttl ?? "2s");
  if (ttlMs < TTL_LEAST_MS || ttlMs > TTL_MOST_MS) throw new UsageError(`--ttl ${ttl}: from 500ms to 1m`);
  const endless = process.stdout.isTTY ? Infinity : 1;
  return {
    json: values.json === true,
    ttlMs,
    rounds: once === true ? 1 : rounds === undefined ? endless : readCount("--rounds", rounds, 1),
    simulated,
    seed: readCount("--seed", seed ?? "1", 0),
  };
}

function printJson(ttlMs: number, { rounds, verdict, log }: Omit<Performance, "startMs">): void {
  const { terms, ...rest } = verdict;
  const shown = {
    ok: rest.ok,
    rounds: rounds.length,
    ttlMs,
    failovers: rounds.flatMap(({ failovers }) => failovers),
    staleWrites: rounds.flatMap(({ staleWrites }) => staleWrites).map((write) => ({ ...write, refused: true })),
    terms,
    entries: rest.entries,
    overlaps: rest.overlaps,
    problems: rest.problems,
    summary: rest.summary,
    log,
  };
  // A number of any length is written as text.
  const text = JSON.stringify(shown, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
  process.stdout.write(`${text}\n`);
}

function tellEnd({ startMs, rounds, verdict }: Performance): string {
  const { terms, entries, problems, summary } = verdict;
  const refused = rounds.flatMap(({ staleWrites }) => staleWrites).length;
  return [
    "",
    ...timeline(
      terms,
      rounds.flatMap(({ failovers }) => failovers),
      NAMES,
      startMs,
    ),
    "",
    ...tellTimes(rounds),
    `${count(entries, "entry", "entries")} in the ledger, ${count(refused, "stale write")} refused`,
    ...problems.map((problem) => `NOT TRUE: ${problem}`),
    summary,
    "",
  ].join("\n");
}

/** The times from the signal to the first entry of the successor. */
function tellTimes(rounds: readonly Round[]): readonly string[] {
  const failovers = rounds.flatMap((round) => round.failovers);
  return (["killed", "stopped"] as const).flatMap((how) => {
    const times = failovers
      .filter((each) => each.how === how)
      .map(({ ms }) => ms)
      .toSorted((a, b) => a - b);
    if (times.length === 0) return [];
    const [least = 0, most = 0] = [times[0], times.at(-1)];
    const range = times.length === 1 ? `${least.toFixed(0)} ms` : `${least.toFixed(0)} to ${most.toFixed(0)} ms`;
    return [`taken over ${range} after the leader was ${how}`];
  });
}
