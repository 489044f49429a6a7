// `conclave schedule reset NAME KEY`: sets the mark of a schedule anew. Only a leader can write it, so this command stands for the election and waits for its turn.
import { createCandidate } from "../index.ts";
import { resetSchedule } from "../schedule/admin.ts";
import { NO, UsageError, YES } from "./command.ts";
import { abortAfter, readDuration, readFlags } from "./flags.ts";
import { chooseStore, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave schedule reset NAME KEY [--to INSTANT] [--store URL] [--wait 30s]

Sets the mark of the schedule KEY of the election NAME: the slots up to INSTANT count as done, and those
after it are run. Use it for a mark that a wrong clock has set into the future (SCHEDULE_AHEAD).
KEY is "default" unless the program says otherwise; conclave list --schedules shows all of them.

Only the leader of NAME can write the mark, so this command waits until it leads NAME, writes, and gives the lead back at
once. If another process leads, stop it, or ask it to hand over (conclave resign NAME).

${STORE_HELP}
  --to INSTANT  such as 2026-11-16T03:00:00Z (default: now)
  --wait 30s    how long to wait for the leadership
  --json        one JSON object: {"election", "key", "slot"}

Exit codes: 0 it is set, 1 another process led all the time, 2 not understood, 3 the store cannot be asked.
`;

const OPTIONS = {
  store: { type: "string" },
  to: { type: "string" },
  wait: { type: "string", default: "30s" },
  json: { type: "boolean", default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [what, name, key, ...others] = positionals;
  if (what !== "reset" || name === undefined || key === undefined || others.length > 0)
    throw new UsageError("it is used as: conclave schedule reset NAME KEY");
  const waitMs = readDuration("--wait", values.wait);
  const nowMs = new Date().getTime();
  const slotMs = values.to === undefined ? nowMs : Date.parse(values.to);
  if (!Number.isFinite(slotMs)) throw new UsageError(`--to ${values.to}: an instant such as 2026-11-16T03:00:00Z`);
  const candidate = createCandidate({
    store: await chooseStore(values.store),
    unfenced: true,
    id: "conclave-schedule",
  });
  try {
    const election = candidate.election(name);
    const term = await election.campaign({ signal: abortAfter(waitMs) }).catch((error: unknown) => {
      if (error instanceof Error && error.name === "TimeoutError") return undefined;
      throw error;
    });
    if (term === undefined) {
      const leader = await election.leader();
      process.stderr.write(
        `conclave schedule: ${leader?.id ?? "another"} leads "${name}", and only a leader can write the mark. Stop it, or ask it to leave: conclave resign ${name}. Then try again.\n`,
      );
      return NO;
    }
    await resetSchedule(term, key, slotMs, nowMs);
    const slot = new Date(slotMs).toISOString();
    process.stdout.write(
      values.json
        ? `${JSON.stringify({ election: name, key, slot })}\n`
        : `"${name}" ${key}: slots up to ${slot} count as done\n`,
    );
    return YES;
  } finally {
    await candidate.close();
  }
}
