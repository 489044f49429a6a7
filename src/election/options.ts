// Checks all options of a candidate: one error lists every problem. JavaScript users have no compiler, so values that the types forbid are refused here too.
import { hostname } from "node:os";
import type { Clock } from "../base/clock.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import type { NodeIdentity } from "../lease/exchange.ts";
import { resolveSettings, type Settings } from "../lease/settings.ts";
import { cannotFence, type Reopenable, type Store } from "../stores/contract.ts";
import type { CandidateOptions, CandidateSettings } from "./face.ts";
import { helperPath } from "./helper-path.ts";
import { machineId } from "./machine-id.ts";
import { problemsOfKeeper } from "./keeper-options.ts";
import type { Logger } from "./voice.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const METHODS = ["keep", "claim", "release", "look", "watch", "close"] as const;
const KNOWN: readonly (keyof CandidateSettings | "store" | "unfenced")[] = [
  "store",
  "unfenced",
  "id",
  "ttlMs",
  "drainMs",
  "maxTenureMs",
  "priority",
  "renewal",
  "stallAfterMs",
  "keeper",
  "node",
  "onOverstay",
  "onEvent",
  "logger",
];

/** The other options that a caller of `resolveOptions` accepts, and the problems with them. */
export interface Besides {
  readonly keys: readonly string[];
  readonly problems: readonly string[];
}

const NOTHING: Besides = { keys: [], problems: [] };

export function resolveOptions<S extends Store>(
  given: CandidateOptions<S>,
  clock: Clock,
  call: string,
  besides: Besides = NOTHING,
): Settings {
  const options = given ?? {};
  const { store } = options;
  const problems = [
    ...problemsOfStore(store),
    ...problemsOfKeys(given, [...KNOWN, ...besides.keys]),
    ...besides.problems,
    ...problemsOfOverstay(options.onOverstay),
    ...problemsOfEars(options),
    ...(options.renewal === "thread" ? problemsOfThread(store) : []),
    ...(options.keeper === undefined ? [] : problemsOfKeeper(options.keeper, store)),
  ];
  const guarantee = store?.guarantee;
  if (problems.length === 0 && guarantee.fencing === "unfenced" && options.unfenced !== true) throw cannotFence(store);
  const input = {
    id: options.id ?? hostname(),
    ttlMs: options.ttlMs,
    drainMs: options.drainMs,
    renewal: options.renewal,
    stallAfterMs: options.stallAfterMs,
    node: nodeOf(options.node),
    maxTenureMs: options.maxTenureMs,
    priority: options.priority,
  };
  return resolveSettings(input, guarantee, clock.grain, call, problems);
}

function nodeOf(node: CandidateSettings["node"]): NodeIdentity | undefined {
  if (node === undefined) return undefined;
  const { name, machine } = typeof node === "object" && node !== null ? node : { name: node, machine: undefined };
  return { name, machine: machine ?? machineId() };
}

function problemsOfStore(store: unknown): string[] {
  const candidate = store as Partial<Store> | undefined | null;
  const missing = METHODS.filter((method) => typeof candidate?.[method] !== "function");
  if (missing.length === 0 && typeof candidate?.guarantee === "object") return [];
  return [
    `store is not a store: it has no ${missing.join(", ") || "guarantee"}. Pass what memory(), or another driver of conclave/stores, returns; for a URL: await openStore(url)`,
  ];
}

/** The URL of a store that another thread of this process can open again. */
export function urlForThread(store: unknown): string | undefined {
  const { url, isBorrowed } = (store ?? {}) as Partial<Reopenable>;
  return typeof url === "string" && isBorrowed !== true ? url : undefined;
}

function problemsOfThread(store: unknown): string[] {
  if (urlForThread(store) === undefined)
    return [
      `renewal "thread" needs a store that was opened from a URL, because the thread opens it again; this one is around a client that you made, which no other thread can use. Pass await openStore(url), or leave renewal out`,
    ];
  if (helperPath("election", "renewal-thread") === undefined)
    return [
      `renewal "thread" needs the file election/renewal-thread.js of this package, which is not there. Where a bundler has joined conclave into your program, leave conclave out of the bundle`,
    ];
  return [];
}

function problemsOfEars({ onEvent, logger }: CandidateSettings): string[] {
  const missing =
    logger === undefined ? [] : LEVELS.filter((level) => typeof (logger as Partial<Logger>)?.[level] !== "function");
  return [
    ...(onEvent === undefined || typeof onEvent === "function" ? [] : [`onEvent ${show(onEvent)} is not a function`]),
    ...(missing.length === 0
      ? []
      : [`logger has no ${missing.join(", ")}. Pass console, pino() or another object with ${LEVELS.join(", ")}`]),
  ];
}

function problemsOfOverstay(onOverstay: unknown): string[] {
  if (onOverstay === undefined || onOverstay === "report" || onOverstay === "exit" || typeof onOverstay === "function")
    return [];
  return [`onOverstay ${show(onOverstay)} is neither "report", "exit" nor a function`];
}
