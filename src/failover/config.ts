// The configuration of one group: one file, the same for monitors and guards. All its problems are reported at once. A file that contains a password and can be read by other users is refused.
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { invalidConfig } from "../base/errors.ts";
import { problemsOfOwner } from "../stonith/config.ts";
import { postgresReplication, problemOfPostgres } from "./postgres.ts";
import { problemOfServer, redisReplication } from "./redis.ts";
import type { Replication, ServerSpec } from "./replication.ts";
import { problemsOfStonith, type StonithKey } from "./stonith-key.ts";
import type { FailoverPlan, ShotRules } from "./state.ts";

/** The kind of servers of the group. */
export type FailoverKind = "redis" | "postgres";

const KINDS: Readonly<
  Record<FailoverKind, { readonly port: number; readonly problemOf: (url: string) => string | undefined }>
> = {
  redis: { port: 6379, problemOf: problemOfServer },
  postgres: { port: 5432, problemOf: problemOfPostgres },
};

/** One group of servers. docs/FAILOVER.md says what each setting means. */
export interface FailoverConfig {
  readonly name: string;
  readonly kind: FailoverKind;
  /** The store that monitors and guards use. If it is missing, --store or CONCLAVE_STORE names it. */
  readonly store: string | undefined;
  readonly monitors: readonly string[];
  /** The Sentinel ports of the monitors, by the names of the monitors. A monitor without such a port is not listed. */
  readonly ports: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
  readonly quorum: number;
  readonly servers: Readonly<Record<string, ServerSpec>>;
  /** Guards stand beside the servers. */
  readonly hasGuards: boolean;
  /** Devices that power off the machine of an old primary. */
  readonly stonith: StonithKey | undefined;
  /** A monitor takes a primary for down when it has not been well for this long. */
  readonly downAfterMs: number;
  /** How often a monitor looks. */
  readonly lookEveryMs: number;
  /** The time to live of the seat `primary/NAME`, of votes and of the leadership of the monitors. */
  readonly ttlMs: number;
  /** The timeout of one command to a server. */
  readonly timeoutMs: number;
  /** A server that is at most this far behind the greatest position may be preferred because of its priority. */
  readonly lagMax: number;
  /** How many standbys a commit waits for; 0 for none. PostgreSQL only. */
  readonly confirmations: number;
  readonly failoversMax: number;
  readonly windowMs: number;
  readonly settleMs: number;
  readonly promoteWithinMs: number;
  readonly repointWithinMs: number;
  readonly handOverWithinMs: number;
  readonly yieldAfterMs: number;
}

const NUMBERS: Readonly<Record<string, readonly [fallback: number, least: number]>> = {
  downAfterMs: [3000, 100],
  lookEveryMs: [500, 20],
  ttlMs: [5000, 500],
  timeoutMs: [1000, 50],
  lagMax: [0, 0],
  confirmations: [0, 0],
  failoversMax: [3, 1],
  windowMs: [3_600_000, 1000],
  settleMs: [1000, 0],
  promoteWithinMs: [15_000, 100],
  repointWithinMs: [10_000, 100],
  handOverWithinMs: [10_000, 100],
  yieldAfterMs: [5000, 100],
};
const KNOWN = ["name", "kind", "store", "monitors", "quorum", "servers", "guards", "stonith", ...Object.keys(NUMBERS)];
/** A name in PostgreSQL has at most 63 bytes, and the number of a timeline is appended to this one. */
const STANDBY_NAME_MAX = 52;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Throws CONFIG_INVALID with every problem. */
export function readFailoverConfig(file: string): FailoverConfig {
  const call = `the failover configuration ${file}`;
  const { text, mode, uid } = readFile(file, call);
  const hasPassword = /:\/\/[^/"@\s]*:[^/"@\s]*@/.test(text);
  const shared = hasPassword && (mode & 0o077) !== 0 ? ["it holds a password, and others may read it: chmod 600"] : [];
  // The configuration names the file of the devices, and that file is executed.
  const owner = /"stonith"\s*:/.test(text) ? problemsOfOwner({ mode, uid }) : [];
  const config = parseFailoverConfig(text, call, [...owner, ...shared]);
  const { stonith } = config;
  if (stonith === undefined) return config;
  return { ...config, stonith: { ...stonith, config: path.resolve(path.dirname(file), stonith.config) } };
}

function readFile(file: string, call: string): { readonly text: string; readonly mode: number; readonly uid: number } {
  try {
    const { mode, uid } = statSync(file);
    return { text: readFileSync(file, "utf8"), mode, uid };
  } catch (error) {
    throw invalidConfig(call, [`it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`]);
  }
}

/** Parses the text of a configuration. Throws CONFIG_INVALID with every problem; `call` says in the message what was read. */
export function parseFailoverConfig(text: string, call: string, more: readonly string[] = []): FailoverConfig {
  const found = fieldsOf(text, call);
  const problems = [...more, ...problemsOf(found)];
  if (problems.length > 0) throw invalidConfig(call, problems);
  const numbers = Object.fromEntries(
    Object.entries(NUMBERS).map(([name, [fallback]]) => [name, (found[name] as number | undefined) ?? fallback]),
  );
  const monitors = namesOf(found["monitors"]);
  return {
    name: found["name"],
    kind: found["kind"],
    store: found["store"],
    monitors,
    ports: portsOf(found["monitors"]),
    quorum: found["quorum"] ?? Math.floor(monitors.length / 2) + 1,
    servers: serversOf(
      found["servers"] as Readonly<Record<string, RawServer>>,
      KINDS[found["kind"] as FailoverKind].port,
    ),
    hasGuards: found["guards"] !== false,
    stonith: found["stonith"],
    ...numbers,
  } as unknown as FailoverConfig;
}

type RawServer = string | { readonly url: string; readonly priority?: number };

function serversOf(raw: Readonly<Record<string, RawServer>>, usualPort: number): Readonly<Record<string, ServerSpec>> {
  const one = ([name, server]: readonly [string, RawServer]): readonly [string, ServerSpec] => {
    const url = urlOf(server) ?? "";
    const { hostname, port } = new URL(url);
    const priority = typeof server === "string" ? 100 : (server.priority ?? 100);
    return [name, { name, url, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || usualPort), priority }];
  };
  return Object.fromEntries(Object.entries(raw).map(one));
}

function urlOf(server: unknown): string | undefined {
  const url = typeof server === "string" ? server : (server as { readonly url?: unknown } | undefined)?.url;
  return typeof url === "string" ? url : undefined;
}

function problemsOf(found: Readonly<Record<string, unknown>>): readonly string[] {
  const problems: string[] = [];
  const { name, kind, store, monitors, quorum, servers } = found;
  const isName = (value: unknown): boolean => typeof value === "string" && NAME.test(value);
  for (const key of Object.keys(found)) if (!KNOWN.includes(key)) problems.push(`there is no setting ${key}`);
  if (!isName(name)) problems.push(`name: letters, digits, ".", "_" and "-", at most 63`);
  if (!isKind(kind)) problems.push(`kind: "redis" or "postgres"`);
  if (store !== undefined && typeof store !== "string") problems.push("store: a URL");
  const names = namesOf(monitors);
  if (names.length === 0 || !names.every(isName) || new Set(names).size < names.length)
    problems.push(
      `monitors: a list of different names, such as ["m1", "m2", "m3"], or names with the ports for clients, {"m1": "10.0.0.1:26379"}`,
    );
  const isQuorum = quorum === undefined || (Number.isInteger(quorum) && (quorum as number) >= 1);
  if (!isQuorum || (quorum as number) > names.length)
    problems.push("quorum: a whole number, at most as many as monitors");
  problems.push(...problemsOfServers(servers, isKind(kind) ? kind : "redis"), ...problemsOfWaiting(found));
  problems.push(...problemsOfStonith(found, names, Object.keys((servers as object | null) ?? {})));
  for (const [key, [, least]] of Object.entries(NUMBERS)) {
    const value = found[key];
    if (value !== undefined && !(Number.isInteger(value) && (value as number) >= least))
      problems.push(`${key}: a whole number of at least ${least}`);
  }
  return problems;
}

function isKind(kind: unknown): kind is FailoverKind {
  return typeof kind === "string" && Object.hasOwn(KINDS, kind);
}

function problemsOfWaiting({
  kind,
  confirmations,
  servers,
  lagMax,
}: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Number.isInteger(confirmations) || (confirmations as number) === 0) return [];
  if (kind !== "postgres") return ["confirmations: Redis acknowledges a write before its replicas have it"];
  const isPromotable = (server: unknown): boolean => (server as { readonly priority?: unknown } | null)?.priority !== 0;
  const others = Object.values((servers as object | undefined) ?? {}).filter(isPromotable).length - 1;
  return [
    ...((confirmations as number) > others
      ? [`confirmations: beside a primary there are only ${others} servers that can be promoted`]
      : []),
    ...(lagMax === undefined || lagMax === 0 ? [] : ["lagMax: must be 0 where commits wait for standbys"]),
    ...Object.keys((servers as object | undefined) ?? {})
      .filter((name) => name.length > STANDBY_NAME_MAX)
      .map((name) => `servers: ${name} is longer than ${STANDBY_NAME_MAX} letters, which PostgreSQL cannot wait for`),
  ];
}

function namesOf(monitors: unknown): readonly string[] {
  if (Array.isArray(monitors)) return monitors as readonly string[];
  return typeof monitors === "object" && monitors !== null ? Object.keys(monitors) : [];
}

function portsOf(monitors: unknown): FailoverConfig["ports"] {
  if (typeof monitors !== "object" || monitors === null || Array.isArray(monitors)) return {};
  const places = Object.entries(monitors).flatMap(([name, place]) => {
    const [, host = "", port] = /^\[?([^\]]*)\]?:(\d+)$/.exec(String(place)) ?? [];
    return port === undefined ? [] : [[name, { host, port: Number(port) }] as const];
  });
  return Object.fromEntries(places);
}

function problemsOfServers(servers: unknown, kind: FailoverKind): readonly string[] {
  if (typeof servers !== "object" || servers === null || Object.keys(servers).length < 2)
    return [
      `servers: two at least, such as {"a": "${kind}://10.0.0.1:${KINDS[kind].port}", "b": "${kind}://10.0.0.2:${KINDS[kind].port}"}`,
    ];
  const seen = new Set<string>();
  return Object.entries(servers).flatMap(([name, server]) => {
    const url = urlOf(server);
    const problem = url === undefined ? "a URL is missing" : KINDS[kind].problemOf(url);
    if (problem !== undefined) return [`servers.${name}: ${problem}`];
    const place = new URL(url ?? "").host;
    const isTwice = seen.has(place);
    seen.add(place);
    const { priority = 100 } = server as { readonly priority?: unknown };
    return [
      ...(NAME.test(name) ? [] : [`servers.${name}: letters, digits, ".", "_" and "-"`]),
      ...(isTwice ? [`servers.${name}: another server has this address`] : []),
      ...(Number.isInteger(priority) && (priority as number) >= 0 && (priority as number) <= 1000
        ? []
        : [`servers.${name}: a priority is a whole number from 0 (never) to 1000`]),
    ];
  });
}

function fieldsOf(text: string, call: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {
    // The message of the parser quotes the text, which may contain a password.
    throw invalidConfig(call, ["it is not valid JSON; jq . FILE says in which line"]);
  }
  throw invalidConfig(call, ["it is JSON, but not an object: { … }"]);
}

export interface FailoverChoices {
  readonly hasGuards: boolean;
  readonly shots: ShotRules | undefined;
  readonly isDryRun: boolean;
}

export function planOf(config: FailoverConfig, { hasGuards, shots, isDryRun }: FailoverChoices): FailoverPlan {
  const { monitors, quorum, lagMax, confirmations, failoversMax, windowMs, settleMs } = config;
  const { promoteWithinMs, repointWithinMs, handOverWithinMs, yieldAfterMs, lookEveryMs } = config;
  return {
    monitors,
    quorum,
    servers: Object.fromEntries(Object.values(config.servers).map(({ name, priority }) => [name, priority])),
    lagMax,
    hasGuards,
    shots,
    confirmations,
    failoversMax,
    windowMs,
    settleMs,
    promoteWithinMs,
    repointWithinMs,
    handOverWithinMs,
    yieldAfterMs,
    retryMs: lookEveryMs,
    isDryRun,
  };
}

/** Returns how the servers of this group are reached. */
export function replicationOf({
  kind,
  servers,
  timeoutMs,
  ttlMs,
  promoteWithinMs,
  confirmations,
}: FailoverConfig): Replication {
  return kind === "redis"
    ? redisReplication(servers, { timeoutMs, ttlMs })
    : postgresReplication(servers, { timeoutMs, promoteWithinMs, confirmations });
}
