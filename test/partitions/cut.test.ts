// A member that is cut off from a real server: it stops all its partitions by its own clock, the others lead them, and it comes back with new epochs.
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { openStore, requireFenced } from "conclave";
import { joinPartitions, type PartitionGroup, type PartitionTerm } from "conclave/partitions";
import * as etcd from "../../scripts/servers/etcd.mjs";
import * as kubernetes from "../../scripts/servers/kubernetes.mjs";
import * as postgres from "../../scripts/servers/postgres.mjs";
import * as zookeeper from "../../scripts/servers/zookeeper.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { nowMs } from "../support/processes.ts";
import { useServers } from "../support/servers.ts";
import { Wire } from "../support/wire.ts";

/** In Kubernetes almost as many as it can have, because it keeps few memos: with too many chunks nothing would ever be assigned. */
const FEW = 60;
const MOST_IN_KUBERNETES = 900;
/** Long enough for a machine that runs other tests as well: a renewal that comes too late is another story. */
const TTL_MS = 8000;
const [inEtcd, inPostgres, inZookeeper] = [useServers(etcd), useServers(postgres), useServers(zookeeper)];
const inKubernetes = useServers(kubernetes) as () => Awaited<ReturnType<typeof kubernetes.start>>;

interface Place {
  readonly partitions: number;
  readonly url: () => string;
  /** What a wire leads to, and the URL of the store behind that wire. */
  readonly server: () => string;
  readonly behind: (wire: string) => string;
}

const at = (url: () => string): Place => ({ partitions: FEW, url, server: url, behind: (wire) => wire });
const STORES: readonly [name: string, place: Place][] = [
  ["etcd", at(() => urlOf(inEtcd()))],
  ["postgres", at(() => inPostgres().urls[0] ?? "")],
  ["zookeeper", at(() => inZookeeper().urls[0] ?? "")],
  [
    "kubernetes",
    {
      partitions: MOST_IN_KUBERNETES,
      url: () => inKubernetes().urls[0] ?? "",
      server: () => inKubernetes().server,
      behind: (wire) => {
        const { kubeconfig, server } = inKubernetes();
        const file = `${kubeconfig}-behind-a-wire`;
        writeFileSync(file, readFileSync(kubeconfig, "utf8").replace(server, wire.replace(/\/$/, "")));
        return `kubernetes:?kubeconfig=${encodeURIComponent(file)}`;
      },
    },
  ],
];

const open: PartitionGroup[] = [];
const wires: Wire[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((group) => group.close()));
  for (const wire of wires.splice(0)) wire.end();
});

/** Who holds which partition: every term that was begun, asked again and again. */
class Floor {
  readonly #terms: { readonly id: string; readonly term: PartitionTerm }[] = [];
  readonly overlaps: string[] = [];

  readonly #partitions: number;

  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  async join(id: string, url: string, mayControl: boolean): Promise<PartitionGroup> {
    const store = await openStore(url);
    requireFenced(store);
    const group = await joinPartitions("orders", {
      store,
      id,
      partitions: this.#partitions,
      ttlMs: TTL_MS,
      gatherMs: 100,
      mayControl,
      onEvent: () => {},
      onAssigned: (_, term) => this.#work(id, term),
    });
    open.push(group);
    return group;
  }

  async #work(id: string, term: PartitionTerm): Promise<void> {
    this.#terms.push({ id, term });
    await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Partition → who holds it, at this moment by the clock. Notes where there are two. */
  holders(): ReadonlyMap<number, string> {
    const held = new Map<number, string>();
    for (const { id, term } of this.#terms.filter((each) => each.term.isHeld())) {
      const other = held.get(term.partition);
      if (other !== undefined) this.overlaps.push(`${term.partition} is held by ${other} and ${id}`);
      held.set(term.partition, id);
    }
    return held;
  }

  loads(): Readonly<Record<string, number>> {
    const loads: Record<string, number> = {};
    for (const id of this.holders().values()) loads[id] = (loads[id] ?? 0) + 1;
    return loads;
  }

  epochs(partition: number): readonly bigint[] {
    return this.#terms.flatMap(({ term }) => (term.partition === partition ? [term.token.value] : []));
  }
}

/** The clocks are asked once for all partitions: to ask them for each of hundreds takes the time that the members need. */
function areLedByOthers(floor: Floor, partitions: readonly number[]): boolean {
  const holders = floor.holders();
  return partitions.every((partition) => (holders.get(partition) ?? "cut") !== "cut");
}

describe.each(STORES)("on %s", { timeout: 400_000 }, (_, { partitions, url, server, behind }) => {
  it("the partitions of a member that is cut off are led by the others, never twice at once, and it comes back", async () => {
    const floor = new Floor(partitions);
    const wire = await Wire.to(server());
    wires.push(wire);
    await floor.join("a", url(), true);
    await floor.join("b", url(), true);
    const cut = await floor.join("cut", behind(wire.url), false); // so that it is a member which is cut off, and not the controller
    const PATIENT = { timeout: 120_000, interval: 50 };
    const isShared = (...ids: readonly string[]): boolean => {
      const loads = floor.loads();
      const led = Object.values(loads).reduce((sum, load) => sum + load, 0);
      return led === partitions && ids.every((id) => (loads[id] ?? 0) >= partitions / 5);
    };
    await expect.poll(() => isShared("a", "b", "cut"), PATIENT).toBe(true);
    const wanted = [...floor.holders()].flatMap(([partition, id]) => (id === "cut" ? [partition] : []));
    const startedMs = nowMs();
    wire.cut();
    await expect.poll(() => areLedByOthers(floor, wanted), PATIENT).toBe(true);
    // One ttl and one renewal interval are promised. The rest is for a machine that runs other tests as well.
    expect(nowMs() - startedMs).toBeLessThan(4 * TTL_MS);
    expect(cut.held()).toEqual([]);
    wire.mend();
    await expect.poll(() => isShared("a", "b", "cut"), PATIENT).toBe(true);
    expect(floor.overlaps).toEqual([]);
    for (const partition of wanted) {
      const epochs = floor.epochs(partition);
      expect(epochs.length).toBeGreaterThan(1);
      expect(epochs).toEqual(epochs.toSorted((a, b) => (a < b ? -1 : 1)));
    }
  });
});
