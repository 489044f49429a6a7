// `conclave failover monitor`: one of the configured monitors, with Sentinel's port beside it if that is wanted.
import {
  Monitor,
  type MonitorEvent,
  SentinelPort,
  sentinelViewOf,
  serveMonitor,
  switchMessages,
} from "../../failover/index.ts";
import { shareStderr } from "../../supervisor/index.ts";
import { levelOf } from "../../telemetry/index.ts";
import { INTERRUPTED, UsageError, YES } from "../command.ts";
import { readCount, readFlags } from "../flags.ts";
import { line, stopSignal } from "../long-run.ts";
import { openFence } from "./fence.ts";
import { COMMON, HTTP, combineMetrics, serve, setUp } from "./setup.ts";

const OPTIONS = {
  ...COMMON,
  ...HTTP,
  as: { type: "string" },
  sentinel: { type: "string" },
  "sentinel-host": { type: "string", default: "127.0.0.1" },
  "dry-run": { type: "boolean", default: false },
  unfenced: { type: "boolean", default: false },
} as const;

export async function monitor(args: readonly string[]): Promise<number> {
  // A reader of stderr that is stopped must not stop this process, and one that has gone must not end it.
  shareStderr();
  const { values } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: false });
  const { config, replication, store } = await setUp(values.config, values.store);
  const name = values.as;
  if (name === undefined || !config.monitors.includes(name))
    throw new UsageError(`--as M: which monitor this is, one of ${config.monitors.join(", ")}`);
  if (values.sentinel !== undefined && config.kind !== "redis")
    throw new UsageError(
      "--sentinel: clients of PostgreSQL do not ask Sentinel. docs/FAILOVER.md says how they find the primary",
    );
  const fence = await openFence(config, name, values);
  if (values.unfenced)
    process.stderr.write(
      "conclave failover: warning: --unfenced: nothing stops an old primary; acknowledged writes may be lost, and two servers may take writes at once\n",
    );
  const { signal, name: stoppedBy } = stopSignal();
  const tell = (event: MonitorEvent): void => {
    books.record(event);
    if (isLoud(event)) process.stderr.write(line(event, values.json));
    if (event.type === "switched") announce(event.from, event.to);
  };
  const watch = new Monitor({
    config,
    monitor: name,
    store,
    replication,
    fence,
    unfenced: values.unfenced,
    dryRun: values["dry-run"],
    tell,
  });
  const books = combineMetrics(config.name, () => watch);
  const port = new SentinelPort(() => sentinelViewOf(config, watch, name));
  const announce = (from: string | undefined, to: string): void => {
    const [old, next] = [from === undefined ? undefined : config.servers[from], config.servers[to]];
    const others = Object.values(config.servers).filter((server) => server.name !== to);
    if (next !== undefined)
      for (const [channel, message] of switchMessages(config.name, old, next, others)) port.publish(channel, message);
  };
  if (values.sentinel !== undefined) {
    const number = await port.listen(readCount("--sentinel", values.sentinel, 0), values["sentinel-host"]);
    process.stderr.write(line({ type: "sentinel", host: values["sentinel-host"], port: number }, values.json));
  }
  const endpoints = await serve(values, (at) => serveMonitor(watch, { ...at, metrics: books.text }));
  try {
    await watch.run(signal);
  } finally {
    await endpoints?.close();
    await port.close();
    await fence?.close();
    await store.close();
  }
  return stoppedBy() === "SIGINT" ? INTERRUPTED : YES;
}

function isLoud(event: MonitorEvent): boolean {
  const isOwn =
    event.type === "failover" || event.type === "vote" || event.type === "switched" || event.type === "trouble";
  return isOwn || levelOf(event) === "warn" || levelOf(event) === "error";
}
