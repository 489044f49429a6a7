// Options by their names. JavaScript users have no compiler: a misspelled option would be ignored in silence, and with it what it was meant to prevent.
import { invalidConfig } from "./errors.ts";
import { show } from "./show.ts";

const LISTED = 5;

/** Options of a candidate that are easily passed to a store or to a call instead. */
const OF_A_CANDIDATE: readonly string[] = ["unfenced", "ttlMs", "id", "logger", "renewal", "drainMs", "keeper"];

/** A sentence for each key of `options` that is not `known`, and one if it is no object at all. */
export function problemsOfKeys(options: unknown, known: readonly string[]): string[] {
  if (options === undefined || options === null) return [];
  if (typeof options !== "object") return [`the options are a ${typeof options}, not an object`];
  return Object.keys(options)
    .filter((key) => !known.includes(key))
    .map((key) => `${key} is not an option${hint(key, known)}`);
}

function hint(key: string, known: readonly string[]): string {
  const typed = key.toLowerCase();
  const near = known.find((each) => each.toLowerCase().startsWith(typed) || typed.startsWith(each.toLowerCase()));
  if (near !== undefined) return `; did you mean ${near}?`;
  if (OF_A_CANDIDATE.includes(key))
    return `: it belongs to the candidate, beside its store, as in elect(name, { store, ${key}: … })`;
  return known.length > LISTED ? "" : `: ${known.join(", ")} ${known.length === 1 ? "is" : "are"}`;
}

/**
 * The same for the settings of a URL that may have settings of other programs in it, too: only what begins like one of ours is judged.
 * @param known with their prefix, conclave_…
 */
export function problemsOfSettings(settings: Iterable<string>, known: readonly string[]): string[] {
  return [...new Set(settings)]
    .filter((key) => /^conclave_/i.test(key) && !known.includes(key))
    .map((key) => `${JSON.stringify(key)} is not a setting of it: ${known.join(", ")} are`);
}

/** The options that a call cannot do without, and what each must be. */
export type NeededOptions = Readonly<Record<string, "object" | "function" | "string" | "number" | "store">>;

/** Throws CONFIG_INVALID with a sentence for each option that is missing or is something else. */
export function requireOptions(call: string, options: unknown, needed: NeededOptions): void {
  const given = Object(options) as Readonly<Record<string, unknown>>;
  const problems = Object.entries(needed).flatMap(([key, kind]) => {
    const value = given[key];
    if (kind === "store") return isStore(value) ? [] : [`${key} ${show(value)} is not a store: ${PASS_A_STORE}`];
    if (typeof value === kind && value !== null) return [];
    return [`${key} ${show(value)} is not ${kind === "object" ? "an" : "a"} ${kind}`];
  });
  if (problems.length > 0) throw invalidConfig(call, problems);
}

const PASS_A_STORE = "pass what a driver of conclave/stores returns; for a URL: await openStore(url)";

function isStore(value: unknown): boolean {
  return typeof (Object(value) as { readonly guarantee?: unknown }).guarantee === "object";
}
