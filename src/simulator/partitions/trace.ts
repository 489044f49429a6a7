// What happens in a world of partitions, as typed events.

export interface PartitionEvent {
  readonly atMs: number;
  readonly type: "partitions";
  readonly who: number | undefined;
  readonly what: string;
}

export function formatPartitionEvent({ atMs, who, what }: PartitionEvent): string {
  return `${atMs.toFixed(3).padStart(10)}  ${who === undefined ? "store" : `m${who}`}  ${what}`;
}
