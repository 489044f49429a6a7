// What happens in a world of failovers, as typed events.

export interface FailoverEvent {
  readonly atMs: number;
  readonly type: "failover";
  readonly who: string;
  readonly what: string;
}

export function formatFailoverEvent({ atMs, who, what }: FailoverEvent): string {
  return `${atMs.toFixed(3).padStart(10)}  ${who.padEnd(6)}  ${what}`;
}
