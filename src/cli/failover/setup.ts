// What every verb of `conclave failover` begins with: it reads the configuration, and opens the store and the servers.
import {
  createFailoverMetrics,
  type FailoverConfig,
  type GuardEvent,
  type MonitorEvent,
  type MonitorSight,
  readFailoverConfig,
  type Replication,
  replicationOf,
} from "../../failover/index.ts";
import { type ConclaveEvent, isConclaveError, type Store } from "../../index.ts";
import type { Endpoints } from "../../supervisor/index.ts";
import { createMetrics } from "../../telemetry/index.ts";
import { UsageError } from "../command.ts";
import { readCount } from "../flags.ts";
import { line } from "../long-run.ts";
import { chooseStore } from "../store.ts";

export const COMMON = {
  config: { type: "string" },
  store: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** Flags of the verbs that go on until they are told to stop. */
export const HTTP = {
  http: { type: "string" },
  "http-host": { type: "string", default: "127.0.0.1" },
} as const;

/** The metrics of the elections, and those of the failover. */
export interface CombinedMetrics {
  readonly record: (event: MonitorEvent | GuardEvent) => void;
  readonly text: () => string;
}

export function combineMetrics(group: string, sight?: () => MonitorSight): CombinedMetrics {
  const [elections, failover] = [createMetrics(), createFailoverMetrics(group, sight)];
  return {
    record: (event) => {
      if (isOfElection(event)) elections.record(event);
      failover.record(event);
    },
    text: () => elections.text() + failover.text(),
  };
}

const OWN = new Set<string>(["failover", "vote", "switched", "trouble", "guard", "service", "keeper"]);

function isOfElection(event: MonitorEvent | GuardEvent): event is ConclaveEvent {
  return !OWN.has(event.type);
}

/** Undefined if the user has not asked for it. */
export async function serve(
  flags: { readonly http?: string | undefined; readonly "http-host": string; readonly json: boolean },
  open: (at: { readonly port: number; readonly host: string }) => Promise<Endpoints>,
): Promise<Endpoints | undefined> {
  if (flags.http === undefined) return undefined;
  const host = flags["http-host"];
  const endpoints = await open({ port: readCount("--http", flags.http, 0), host });
  process.stderr.write(line({ type: "http", host, port: endpoints.port }, flags.json));
  return endpoints;
}

export interface FailoverSetup {
  readonly config: FailoverConfig;
  readonly replication: Replication;
  readonly store: Store;
}

export async function setUp(file: string | undefined, storeFlag: string | undefined): Promise<FailoverSetup> {
  if (file === undefined) throw new UsageError("--config FILE is missing: docs/FAILOVER.md shows one");
  const config = read(file);
  return { config, replication: replicationOf(config), store: await chooseStore(storeFlag ?? config.store) };
}

function read(file: string): FailoverConfig {
  try {
    return readFailoverConfig(file);
  } catch (error) {
    if (isConclaveError(error)) throw new UsageError(error.message);
    throw error;
  }
}
