// `conclave failover switchover|pause|resume`: an order to the leader of the monitors, and its answer.
import { choiceNow, giveOrder, statusOf } from "../../failover/index.ts";
import { createCandidate } from "../../index.ts";
import { NO, UNKNOWN, UsageError, YES } from "../command.ts";
import { readDuration, readFlags } from "../flags.ts";
import { COMMON, type Setup, setUp } from "./setup.ts";

const OPTIONS = {
  ...COMMON,
  to: { type: "string" },
  force: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
  wait: { type: "string", default: "30s" },
} as const;

export async function order(kind: "switchover" | "pause" | "resume", args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: false });
  const waitMs = readDuration("--wait", values.wait);
  const setup = await setUp(values.config, values.store);
  const candidate = createCandidate({ store: setup.store, unfenced: true, id: "conclave-failover", ttlMs: 5000 });
  try {
    checkServer(setup, values.to);
    if (values["dry-run"]) return await tellChoice(candidate, setup, values.json);
    const wanted =
      kind === "switchover" ? ({ kind, to: values.to, isForced: values.force } as const) : ({ kind } as const);
    process.stderr.write(
      `conclave failover: the order is given, and waits up to ${values.wait} for the leading monitor. It stands even if you interrupt this command.\n`,
    );
    const answer = await giveOrder(candidate, setup.config.name, wanted, AbortSignal.timeout(waitMs));
    if (answer === undefined) {
      process.stderr.write(
        `conclave failover: no monitor has answered within ${values.wait}. The order stands: a leader that comes later obeys it. conclave failover status shows who is there.\n`,
      );
      return UNKNOWN;
    }
    process.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : `${answer.said}\n`);
    return answer.isDone ? YES : NO;
  } finally {
    await candidate.close();
    await setup.store.close();
  }
}

/** An order for a server that nobody knows would only be refused by the leader, after a wait. */
function checkServer({ config }: Setup, server: string | undefined): void {
  if (server === undefined || Object.hasOwn(config.servers, server)) return;
  throw new UsageError(`--to ${server}: the configured servers are ${Object.keys(config.servers).join(", ")}`);
}

async function tellChoice(
  candidate: Parameters<typeof statusOf>[0],
  { config, replication }: Setup,
  isJson: boolean,
): Promise<number> {
  const found = await statusOf(candidate, config, replication);
  const choice = choiceNow(config, found);
  const said =
    choice.is === "chosen" ? `${choice.server} would be chosen: ${choice.reason}` : `nobody: ${choice.reason}`;
  process.stdout.write(isJson ? `${JSON.stringify(choice)}\n` : `${said}\n`);
  return choice.is === "chosen" ? YES : NO;
}
