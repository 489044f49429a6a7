// Decides when one monitor takes the primary for down: subjectively, by its own looks alone. Pure. A vote is the value of the monitor's seat (`failover-monitor/NAME/M`), so it expires with the session of the monitor.
//
// A primary is well if it answers in time and says that it is the primary. A server that says that it is a replica takes no writes, which is as bad as silence.
import type { View } from "./choice.ts";
import type { FailoverRecord } from "./record.ts";

export interface DetectorState {
  readonly primary: string | undefined;
  readonly epoch: number;
  /** When the primary was last well, or became the primary. */
  readonly wellAtMs: number;
}

export const UNSEEN: DetectorState = { primary: undefined, epoch: 0, wellAtMs: 0 };

/** `view`: what the primary of `record` answered to a look that was sent at `nowMs` or later. */
export function detect(
  before: DetectorState,
  record: FailoverRecord | undefined,
  view: View | undefined,
  nowMs: number,
): DetectorState {
  const primary = record?.primary;
  const epoch = record?.epoch ?? 0;
  const isWell = view?.is === "up" && view.role === "primary";
  const isAnother = primary !== before.primary || epoch !== before.epoch;
  return { primary, epoch, wellAtMs: isWell || isAnother ? nowMs : before.wellAtMs };
}

export function isDown({ primary, wellAtMs }: DetectorState, downAfterMs: number, nowMs: number): boolean {
  return primary !== undefined && nowMs - wellAtMs >= downAfterMs;
}
