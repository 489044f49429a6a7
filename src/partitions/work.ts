// Calls the work of one partition for as long as it is led. If the work ends early, the partition stays led without doing anything. If it fails, that is reported, and it begins again after a pause.
import type { Clock } from "../base/clock.ts";
import { ConclaveError } from "../base/errors.ts";
import { textOfError } from "../base/harmless.ts";
import { whenAborted } from "../election/abort.ts";
import { nap } from "../election/nap.ts";

export interface PartitionCall {
  readonly group: string;
  readonly partition: number;
  /** Aborts when the partition is led no longer. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly call: () => Promise<unknown>;
  readonly report: (error: ConclaveError) => void;
}

const PAUSE_FIRST_MS = 1000;
const PAUSE_LAST_MS = 60_000;

/** Never rejects, and does not settle before the signal has aborted and the work has settled. */
export async function workUntil({ group, partition, signal, clock, call, report }: PartitionCall): Promise<void> {
  const stopped = whenAborted(signal);
  for (let waitMs = PAUSE_FIRST_MS; !signal.aborted; waitMs = Math.min(PAUSE_LAST_MS, 2 * waitMs))
    try {
      await call();
      return await stopped;
    } catch (error) {
      if (signal.aborted) return;
      const message = `the work of partition ${partition} of "${group}" rejected: ${textOfError(error)}. It begins again in ${waitMs / 1000} s. Its error is the cause of this one.`;
      report(new ConclaveError("PARTITION_FAILED", message, { cause: error }));
      await nap(waitMs, signal, clock);
    }
}
