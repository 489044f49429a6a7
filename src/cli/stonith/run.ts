// `conclave stonith run --config FILE --node NODE -- command…`: one candidate of a guarded election, whose work is a command.
import { constants, hostname } from "node:os";
import { GuardedCommand, type GuardedEvent, guardedElection, openRunner } from "../../stonith/index.ts";
import { findCommand, shareStderr } from "../../supervisor/index.ts";
import { levelOf } from "../../telemetry/index.ts";
import { INTERRUPTED, UsageError, YES } from "../command.ts";
import { readDuration, readFlags } from "../flags.ts";
import { line, stopSignal } from "../long-run.ts";
import { checkNode, checkStore, COMMON, type StonithSetup, STORE_IN_TESTS, storeInTests, withSetup } from "./setup.ts";

const OPTIONS = {
  ...COMMON,
  node: { type: "string" },
  drain: { type: "string" },
  ...STORE_IN_TESTS,
} as const;

type Exit = NonNullable<Awaited<ReturnType<GuardedCommand["run"]>>>;

export async function run(args: readonly string[]): Promise<number> {
  const at = args.indexOf("--");
  const [program, ...rest] = at < 0 ? [] : args.slice(at + 1);
  const own = args.slice(0, at < 0 ? undefined : at);
  const { values } = readFlags({ args: own, options: OPTIONS, allowPositionals: false });
  if (program === undefined)
    throw new UsageError("the command is missing: conclave stonith run --config FILE --node NODE -- command");
  if (findCommand(program) !== "executable") throw new UsageError(`${program} cannot be executed`);
  shareStderr();
  const node = values.node ?? hostname();
  return await withSetup(values, { devices: true }, async (setup) => {
    checkNode(setup, node);
    const drainMs = values.drain === undefined ? setup.config.ttlMs / 5 : readDuration("--drain", values.drain);
    const forTests = checkStore(setup.store, storeInTests(values));
    return await lead(setup, { node, command: [program, ...rest], drainMs, isJson: values.json, forTests });
  });
}

interface Asked {
  readonly node: string;
  readonly command: readonly [string, ...string[]];
  readonly drainMs: number;
  readonly isJson: boolean;
  readonly forTests: ReturnType<typeof checkStore>;
}

async function lead(setup: StonithSetup, { node, command, drainMs, isJson, forTests }: Asked): Promise<number> {
  const { config, store } = setup;
  const say = (event: object): void => void process.stderr.write(line(event, isJson));
  const guarded = guardedElection({
    config,
    node,
    store,
    shooter: openRunner(setup, { tell: (news) => say({ type: "device", ...news }) }),
    tell: (event) => isLoud(event) && say(event),
    ...forTests,
  });
  const work = new GuardedCommand({ election: config.election, node, command, drainMs, tell: say });
  const { signal, name } = stopSignal();
  const stand = new AbortController();
  signal.addEventListener("abort", () => stand.abort());
  let exit: Exit | undefined;
  try {
    await guarded.lead(
      async (term) => {
        exit = await work.run(term);
        if (exit !== undefined) stand.abort(); // the command has ended by itself
      },
      { signal: stand.signal },
    );
  } finally {
    await guarded.close();
    await work.close();
  }
  if (exit === undefined) return name() === "SIGINT" ? INTERRUPTED : YES;
  return "code" in exit ? exit.code : 128 + constants.signals[exit.signal];
}

function isLoud(event: GuardedEvent): boolean {
  if (event.type === "stonith" || event.type === "trouble" || event.type === "elected" || event.type === "lost")
    return true;
  const level = levelOf(event);
  return level === "warn" || level === "error";
}
