// Flags, read strictly: unknown flags are refused, and every value says its unit. `--help` is handled before this (main.ts).
import { parseArgs, type ParseArgsConfig } from "node:util";
import { UsageError } from "./command.ts";
import { didYouMean, nearest } from "./help-text.ts";

/** Like `parseArgs`, but refuses in one line, which names the flag that was perhaps meant. */
export function readFlags<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(refusal(error, Object.keys(config.options ?? {})));
  }
}

function refusal(error: unknown, flags: readonly string[]): string {
  const [message = ""] = (error instanceof Error ? error.message : String(error)).split(/\. (?=To )|\n/);
  const unknown = /^Unknown option '(--?([^']*))'/.exec(message);
  const bare = /^Option '(?:-\w, )?(--[^ ']+) <value>' (?:argument missing|argument is ambiguous)/.exec(message)?.[1];
  if (bare !== undefined) return `${bare} is without its value: ${bare} VALUE`;
  if (unknown === null) return message;
  const [, flag = "", name = ""] = unknown;
  const meant = nearest(name, [...flags, "help"]);
  return `there is no flag ${flag}.${didYouMean(meant === undefined ? undefined : `--${meant}`)}`;
}

/** The one name that a command is about. */
export function onlyName(positionals: readonly string[], what: string): string {
  const [name, ...others] = positionals;
  if (name === undefined || name === "") throw new UsageError(`${what} is missing`);
  if (others.length > 0) throw new UsageError(`one ${what} at a time: ${[name, ...others].join(" ")}`);
  return name;
}

/** Refuses a word that is none of the verbs of a command. */
export function refuseVerb(typed: string, verbs: readonly string[]): never {
  const meant = nearest(typed, verbs);
  const hint = didYouMean(meant === undefined ? undefined : JSON.stringify(meant));
  const all = `${verbs.slice(0, -1).join(", ")} or ${verbs.at(-1) ?? ""}`;
  throw new UsageError(`there is no verb ${JSON.stringify(typed)}; it is one of ${all}.${hint}`);
}

/** The options of the library that flags set, and the flags. */
const FLAGS: Readonly<Record<string, string>> = {
  ttlMs: "--ttl",
  drainMs: "--drain",
  maxTenureMs: "--max-tenure",
  everyMs: "--every",
  id: "--id",
  priority: "--priority",
};

/** A message of the library, in the words of the command line: its options under the names of their flags, and without the name of the function that was called. `id` and `priority` are words, too: they are options at the beginning of a problem. */
export function inFlags(message: string): string {
  return message
    .replace(/^(?:createCandidate|openStore|conclave run): (?:1 problem · )?/, "")
    .replace(
      /\b(ttlMs|drainMs|maxTenureMs|everyMs) (\d+)\b/g,
      (_all, name: string, ms: string) => `${FLAGS[name]} ${ms}ms`,
    )
    .replace(/\b(?:ttlMs|drainMs|maxTenureMs|everyMs)\b/g, (name) => FLAGS[name] ?? name)
    .replace(/(^|· )(id|priority)(?=[ :])/g, (_all, before: string, name: string) => `${before}${FLAGS[name]}`);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `500ms`, `2s`, `1m`, `1h` in milliseconds. A bare number is refused: nobody knows whether it means seconds. */
export function readDuration(flag: string, text: string): number {
  const [, digits = "", unit = ""] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  const perUnit = UNITS[unit];
  if (perUnit === undefined)
    throw new UsageError(`${flag} ${text}: a duration is a whole number with its unit, such as 500ms, 2s, 1m or 1h`);
  return Number(digits) * perUnit;
}

/** A timer that is longer than this fires after 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Aborts after a duration. A wait of months is one of 25 days. */
export function abortAfter(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(ms, LONGEST_TIMER_MS));
}

/** A whole number of at least `least`. */
export function readCount(flag: string, text: string, least: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least) return count;
  throw new UsageError(`${flag} ${text}: a whole number of at least ${least} was expected`);
}
