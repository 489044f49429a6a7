// `conclave failover guard --server S -- command…`: the guard beside one server.
import { enabledUnits, Guard, type GuardEvent, serveGuard, strangerAt, USUAL_UNITS } from "../../failover/index.ts";
import { findCommand, shareStderr } from "../../supervisor/index.ts";
import { levelOf } from "../../telemetry/index.ts";
import { INTERRUPTED, NO, UsageError, YES } from "../command.ts";
import { readFlags } from "../flags.ts";
import { line, stopSignal } from "../long-run.ts";
import { COMMON, HTTP, combineMetrics, serve, setUp } from "./setup.ts";

const OPTIONS = {
  ...COMMON,
  ...HTTP,
  server: { type: "string" },
  unit: { type: "string", multiple: true },
  "ignore-unit": { type: "string", multiple: true },
  "without-cgroup": { type: "boolean", default: false },
} as const;

export async function guard(args: readonly string[]): Promise<number> {
  // A reader of stderr that is stopped must not stop this process, and one that has gone must not end it: the service would end with it.
  shareStderr();
  const at = args.indexOf("--");
  const command = at < 0 ? [] : args.slice(at + 1);
  const { values } = readFlags({
    args: args.slice(0, at < 0 ? undefined : at),
    options: OPTIONS,
    allowPositionals: false,
  });
  const [program, ...rest] = command;
  if (program === undefined)
    throw new UsageError(
      "the command that starts the service is missing: -- redis-server redis.conf, or -- postgres -D FOLDER",
    );
  if (findCommand(program) !== "executable") throw new UsageError(`${program} cannot be executed`);
  const { config, replication, store } = await setUp(values.config, values.store);
  const server = config.servers[values.server ?? ""];
  if (server === undefined)
    throw new UsageError(`--server S: which server this is, one of ${Object.keys(config.servers).join(", ")}`);
  if (!config.hasGuards)
    throw new UsageError(
      `"guards" of the configuration is false: the monitors promote by themselves, and would not ask this guard`,
    );
  if (values["without-cgroup"] && replication.needsCgroup !== undefined)
    throw new UsageError(`--without-cgroup: not for this kind of server: ${replication.needsCgroup}`);
  const ignored = new Set(values["ignore-unit"]);
  const usual = [...(USUAL_UNITS[config.kind] ?? []), ...(values.unit ?? [])];
  const units = enabledUnits(usual.filter((unit) => !ignored.has(unit)));
  if (units.length > 0) {
    const stranger = await strangerAt(replication, server);
    if (stranger !== undefined) process.stderr.write(`conclave failover guard: ${stranger}\n`);
    process.stderr.write(
      `conclave failover guard: ${units.join(", ")} is enabled, and would start the service beside this guard, as a primary. Disable it: systemctl disable --now ${units.join(" ")}. If it serves something else: --ignore-unit NAME\n`,
    );
    await store.close();
    return NO;
  }
  const { signal, name } = stopSignal();
  const books = combineMetrics(config.name);
  const watch = new Guard({
    name: config.name,
    server,
    command: [program, ...rest],
    replication,
    store,
    ttlMs: config.ttlMs,
    handOverWithinMs: config.handOverWithinMs,
    withoutCgroup: values["without-cgroup"],
    tell: (event) => {
      books.record(event);
      if (isLoud(event)) process.stderr.write(line(event, values.json));
    },
  });
  const endpoints = await serve(values, (at) => serveGuard(watch, { ...at, metrics: books.text }));
  try {
    await watch.run(signal);
  } finally {
    await endpoints?.close();
    await store.close();
  }
  return name() === "SIGINT" ? INTERRUPTED : YES;
}

function isLoud(event: GuardEvent): boolean {
  const isOwn = ["guard", "service", "trouble", "keeper"].includes(event.type);
  if (isOwn) return true;
  const level = levelOf(event as Parameters<typeof levelOf>[0]);
  return level === "warn" || level === "error";
}
