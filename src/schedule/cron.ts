// Patterns of cron, by the optional peer `croner` ^11. A fleet has one engine, because engines, and versions of one engine, disagree about the nights on which clocks are set. Two
// processes that disagree about slots begin one twice or not at all. test/schedule/cron.test.ts tests what version 11 does on such nights, and docs/ONCE-PER-FLEET.md says it.
import { ConclaveError, invalidConfig } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { loadPeer } from "../clients/load-peer.ts";
import type { NextSlot } from "./slots.ts";

interface CronJob {
  nextRun(after: Date): Date | null;
}

interface Croner {
  readonly Cron: new (pattern: string, options: { readonly timezone: string; readonly paused: true }) => CronJob;
}

export function cronSlots(pattern: string, timeZone: string, call: string): NextSlot {
  if (typeof pattern !== "string" || typeof timeZone !== "string")
    throw invalidConfig(call, [`the pattern ${show(pattern)} and the time zone ${show(timeZone)} must be texts`]);
  const job = jobOf(pattern, timeZone, call);
  return (afterMs) => job.nextRun(new Date(afterMs))?.getTime();
}

function jobOf(pattern: string, timeZone: string, call: string): CronJob {
  const { Cron } = croner(call);
  try {
    const job = new Cron(pattern, { timezone: timeZone, paused: true });
    job.nextRun(new Date(0)); // a wrong time zone throws only when it is used
    return job;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalidConfig(call, [`${show(pattern)} in ${show(timeZone)} is not a pattern of cron: ${why}`], cause);
  }
}

function croner(call: string): Croner {
  const found = loadPeer("croner") as Partial<Croner> | undefined;
  if (typeof found?.Cron === "function") return found as Croner;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `${call}: patterns of cron need the package croner, which is not installed: npm install croner@11. Or pass { everyMs }, or an object with next(after).`,
  );
}
