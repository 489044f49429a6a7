// `conclave failover switchover|pause|resume|confirm`: an order to the leader of the monitors, and its answer.
import { giveOrder, statusOf, switchoverNow } from "../../failover/index.ts";
import { createCandidate } from "../../index.ts";
import { NO, UNKNOWN, UsageError, YES } from "../command.ts";
import { abortAfter, readDuration, readFlags } from "../flags.ts";
import { COMMON, type FailoverSetup, setUp } from "./setup.ts";

const OPTIONS = {
  ...COMMON,
  to: { type: "string" },
  force: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  wait: { type: "string", default: "30s" },
} as const;

/** What an order asks for. */
type Wanted = Parameters<typeof giveOrder>[2];

export async function order(kind: "switchover" | "pause" | "resume", args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: false });
  const wanted: Wanted = kind === "switchover" ? { kind, to: values.to, isForced: values.force } : { kind };
  return await withCandidate(values, async (candidate, setup) => {
    checkServer(setup, values.to);
    if (values["dry-run"] && wanted.kind !== "switchover")
      throw new UsageError(`--dry-run: only for switchover; ${kind} moves no primary`);
    return values["dry-run"] && wanted.kind === "switchover"
      ? await tellChoice(candidate, setup, wanted, values.json)
      : await give(candidate, setup, wanted, values);
  });
}

const OPTIONS_OF_CONFIRM = {
  ...COMMON,
  "i-have-seen-that-it-is-off": { type: "boolean", default: false },
  wait: { type: "string", default: "30s" },
} as const;

/** A human's word takes the place of a device's. */
export async function confirm(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS_OF_CONFIRM, allowPositionals: true });
  const [server, ...more] = positionals;
  if (server === undefined || more.length > 0)
    throw new UsageError("which server's machine is off? conclave failover confirm SERVER --config FILE");
  return await withCandidate(values, async (candidate, setup) => {
    const { record } = await statusOf(candidate, setup.config, setup.replication);
    if (record?.step.at !== "fencing" || record.step.from !== server) {
      process.stderr.write(`conclave failover: ${server} is not being fenced: there is nothing to confirm\n`);
      return NO;
    }
    if (!values["i-have-seen-that-it-is-off"])
      throw new UsageError(
        `you would say that you have seen that the machine of ${server} is off, and that it stays off until a human starts it. Another server is then made the primary at once. If ${server} still takes writes, two do, and data is lost. Nothing can check what you say. If it is so: --i-have-seen-that-it-is-off`,
      );
    return await give(candidate, setup, { kind: "confirm", server, epoch: record.epoch }, values);
  });
}

type Looker = Parameters<typeof statusOf>[0];

async function withCandidate(
  { config, store }: { readonly config?: string | undefined; readonly store?: string | undefined },
  work: (candidate: Looker, setup: FailoverSetup) => Promise<number>,
): Promise<number> {
  const setup = await setUp(config, store);
  const candidate = createCandidate({ store: setup.store, unfenced: true, id: "conclave-failover", ttlMs: 5000 });
  try {
    return await work(candidate, setup);
  } finally {
    await candidate.close();
    await setup.store.close();
  }
}

/** The leader would refuse an order for an unknown server, but only after a wait. So it is refused here. */
function checkServer({ config }: FailoverSetup, server: string | undefined): void {
  if (server === undefined || Object.hasOwn(config.servers, server)) return;
  throw new UsageError(`--to ${server}: the configured servers are ${Object.keys(config.servers).join(", ")}`);
}

async function give(
  candidate: Looker,
  { config }: FailoverSetup,
  wanted: Wanted,
  { wait, json }: { readonly wait: string; readonly json: boolean },
): Promise<number> {
  const waitMs = readDuration("--wait", wait);
  process.stderr.write(
    `conclave failover: the order is given, and waits up to ${wait} for the leading monitor. It stands even if you interrupt this command.\n`,
  );
  const answer = await giveOrder(candidate, config.name, wanted, abortAfter(waitMs));
  if (answer === undefined) {
    process.stderr.write(
      `conclave failover: no monitor has answered within ${wait}. The order stands: a leader that comes later obeys it. conclave failover status shows who is there.\n`,
    );
    return UNKNOWN;
  }
  process.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${answer.said}\n`);
  return answer.isDone ? YES : NO;
}

async function tellChoice(
  candidate: Looker,
  { config, replication }: FailoverSetup,
  wanted: Parameters<typeof switchoverNow>[2],
  isJson: boolean,
): Promise<number> {
  const found = await statusOf(candidate, config, replication);
  const choice = switchoverNow(config, found, wanted);
  const said =
    choice.is === "chosen" ? `${choice.server} would be the primary: ${choice.reason}` : `nobody: ${choice.reason}`;
  process.stdout.write(isJson ? `${JSON.stringify(choice)}\n` : `${said}\n`);
  return choice.is === "chosen" ? YES : NO;
}
