// The flags of `conclave run` that say when the command may begin: once per key, or once per slot.
import { ONCE_KEPT, ONCE_KEY_MAX, type OnceEntry } from "../schedule/once.ts";
import { slotsOf, type When } from "../schedule/when.ts";
import type { Pass } from "../supervisor/index.ts";
import { UsageError } from "./command.ts";
import { readDuration } from "./flags.ts";

export const PASS_HELP: string = `  --once KEY    run the command once per fleet for this KEY (a version, a day). KEY is marked as run before the command begins; a process that finds it marked exits with 0. The last ${ONCE_KEPT} keys are remembered
  --once-success
                with --once: mark KEY only after exit code 0. If the command fails, the next leader runs it again
  --cron "0 3 * * *"
                stay, and run the command once per fleet for each slot of this pattern (needs the package croner); --time-zone Europe/Berlin (default: UTC)
  --every 15m   stay, and run the command once per fleet in each interval, counted from the beginning of 1970
  --missed last which of the slots that nobody could begin in time are run late: all, last or none
  --mark before when a slot is marked as run: before its command begins, or after it has ended
  --key KEY     the key of the schedule, if NAME has several schedules (default: "default")
`;

export const PASS_OPTIONS = {
  once: { type: "string" },
  "once-success": { type: "boolean", default: false },
  cron: { type: "string" },
  "time-zone": { type: "string" },
  every: { type: "string" },
  missed: { type: "string" },
  mark: { type: "string" },
  key: { type: "string" },
} as const;

interface PassValues {
  readonly once?: string | undefined;
  readonly "once-success": boolean;
  readonly cron?: string | undefined;
  readonly "time-zone"?: string | undefined;
  readonly every?: string | undefined;
  readonly missed?: string | undefined;
  readonly mark?: string | undefined;
  readonly key?: string | undefined;
  readonly restart: boolean;
}

export function readPass(values: PassValues): Pass | undefined {
  const { once, cron, every, restart } = values;
  const kinds = [once, cron, every].filter((given) => given !== undefined);
  if (kinds.length > 1) throw new UsageError("--once, --cron and --every say different things; give one of them");
  if (kinds.length > 0 && restart) throw new UsageError("--restart does not go with --once, --cron and --every");
  const isSlots = cron !== undefined || every !== undefined;
  for (const flag of ["missed", "mark", "key", "time-zone"] as const)
    if (values[flag] !== undefined && !isSlots) throw new UsageError(`--${flag} goes with --cron or --every`);
  if (values["once-success"] && once === undefined) throw new UsageError("--once-success goes with --once KEY");
  if (once !== undefined) return readOnceKey(once, values["once-success"]);
  return isSlots ? readSlots(values) : undefined;
}

function readOnceKey(key: string, isSuccess: boolean): Pass {
  if (key.length === 0 || key.length > ONCE_KEY_MAX)
    throw new UsageError(`--once ${JSON.stringify(key)}: a key has 1 to ${ONCE_KEY_MAX} characters`);
  return { kind: "once", key, mark: isSuccess ? "success" : "before" };
}

function readSlots({ cron, every, missed = "last", mark = "before", key, "time-zone": timeZone }: PassValues): Pass {
  if (missed !== "all" && missed !== "last" && missed !== "none")
    throw new UsageError(`--missed ${missed}: it is all, last or none`);
  if (mark !== "before" && mark !== "after") throw new UsageError(`--mark ${mark}: it is before or after`);
  const when: When = cron === undefined ? { everyMs: readDuration("--every", every ?? "") } : { cron, timeZone };
  slotsOf(when, "conclave run"); // a wrong pattern is refused before this process campaigns
  return { kind: "slots", when, options: { missed, mark, key } };
}

/** For a process that has nothing to do, because the key is done. */
export function sayHad({ key, state, at }: OnceEntry): string {
  return state === "done"
    ? `${key} was done at ${at}; there is nothing to do`
    : `${key} was begun at ${at}, and nobody noted its end; it does not begin twice`;
}
