// What the demo of partitions and its members say to each other, a line of JSON each; and the clock that all processes of a host share.

export interface DemoMember {
  readonly id: string;
  readonly group: string;
  readonly store: string;
  /** Where it notes what it holds: `PARTITION MILLISECONDS WHO begin|act|end EPOCH`. */
  readonly log: string;
  readonly ttlMs: number;
  readonly partitions: number;
}

export type MemberMessage =
  | { readonly event: "leads"; readonly partitions: readonly number[] }
  | { readonly event: "controls"; readonly is: boolean }
  /** This member controls the group, and was granted the seat of another: that one is over. */
  | { readonly event: "proved"; readonly id: string }
  /** The term of its own seat has ended before its time. */
  | { readonly event: "lost" }
  | { readonly event: "blocked" }
  /** `isFinal`: trying again cannot help. */
  | { readonly event: "trouble"; readonly message: string; readonly isFinal: boolean };

/** The number of a group cannot be changed, and a store may be used for a second demo. */
export function demoGroup(partitions: number): string {
  return `demo-${partitions}`;
}

/** How often a member notes what it holds. With very many partitions the notes themselves would otherwise be what keeps the machine busy. */
export function noteEveryMs(partitions: number): number {
  return Math.min(500, Math.max(20, partitions / 20));
}

/** CLOCK_MONOTONIC, the same in every process of this host. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
