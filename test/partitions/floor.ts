// Members of one group on a store in this process, and who works on which partition, as the works themselves see it. In real time, with short ttls; nothing here rests on exact instants.
import { joinPartitions, type PartitionGroup, type PartitionOptions, type PartitionTerm } from "conclave/partitions";
import { memory } from "conclave/stores/memory";
import { expect, vi } from "vitest";

export const PARTITIONS = 12;
const open: PartitionGroup[] = [];

/** Closes all members of all floors. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((group) => group.close()));
}

export class Floor {
  readonly store = memory();
  readonly at: Set<string>[] = Array.from({ length: PARTITIONS }, () => new Set());
  readonly epochs: bigint[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly overlaps: string[] = [];
  /** The longest time that each partition had no leader, after its first one. */
  readonly gapsMs: number[] = Array.from({ length: PARTITIONS }, () => 0);
  readonly #endedMs: (number | undefined)[] = Array.from({ length: PARTITIONS });
  readonly #options: Partial<PartitionOptions>;

  /** `options`: of all members, if they do not say otherwise. */
  constructor(options: Partial<PartitionOptions> = {}) {
    this.#options = options;
  }

  async join(id: string, options: Partial<PartitionOptions> = {}): Promise<PartitionGroup> {
    const group = await joinPartitions("orders", {
      store: this.store,
      id,
      partitions: PARTITIONS,
      ttlMs: 1200,
      gatherMs: 50,
      onEvent: () => {},
      onAssigned: (partition, term) => this.work(id, partition, term),
      ...this.#options,
      ...options,
    });
    open.push(group);
    return group;
  }

  async work(id: string, partition: number, term: PartitionTerm): Promise<void> {
    const here = this.at[partition] ?? new Set();
    if (here.size > 0) this.overlaps.push(`${id} begins ${partition} beside ${[...here].join()}`);
    if (!term.isHeld()) this.overlaps.push(`${id} begins ${partition} and does not hold it`);
    const endedMs = this.#endedMs[partition];
    if (endedMs !== undefined)
      this.gapsMs[partition] = Math.max(this.gapsMs[partition] ?? 0, performance.now() - endedMs);
    here.add(id);
    this.epochs[partition]?.push(term.token.value);
    await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));
    here.delete(id);
    this.#endedMs[partition] = performance.now();
  }

  /** How often any partition was begun. */
  get begins(): number {
    return this.epochs.reduce((sum, epochs) => sum + epochs.length, 0);
  }

  partitionsOf(id: string): readonly number[] {
    return this.at.flatMap((here, partition) => (here.has(id) ? [partition] : []));
  }

  loads(): Readonly<Record<string, number>> {
    const loads: Record<string, number> = {};
    for (const here of this.at) for (const id of here) loads[id] = (loads[id] ?? 0) + 1;
    return loads;
  }

  async rests(loads: Readonly<Record<string, number>>): Promise<void> {
    await vi.waitFor(() => expect(this.loads()).toEqual(loads), { timeout: 15_000, interval: 20 });
    expect(this.overlaps).toEqual([]);
    for (const epochs of this.epochs) expect(epochs).toEqual(epochs.toSorted((a, b) => (a < b ? -1 : 1)));
  }
}
