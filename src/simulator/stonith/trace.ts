// What happens in a world of STONITH, as typed events.

export interface StonithEvent {
  readonly atMs: number;
  readonly type: "stonith";
  readonly who: string;
  readonly what: string;
}

export function formatStonithEvent({ atMs, who, what }: StonithEvent): string {
  return `${atMs.toFixed(3).padStart(10)}  ${who.padEnd(8)}  ${what}`;
}
