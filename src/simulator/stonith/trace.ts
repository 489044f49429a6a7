// What happens in a world of STONITH, as typed events.

export interface StonithEvent {
  readonly atMs: number;
  readonly type: "stonith";
  readonly who: string;
  /** In words; a rendering, which nobody reads back. */
  readonly what: string;
  readonly is?: StonithMilestone | undefined;
}

/** What a reader of the trace looks for: work that begins, and what has permitted it. */
export type StonithMilestone = "begins" | "off" | "confirmed" | "cleared";

export function formatStonithEvent({ atMs, who, what }: StonithEvent): string {
  return `${atMs.toFixed(3).padStart(10)}  ${who.padEnd(8)}  ${what}`;
}
