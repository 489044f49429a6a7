// Partitions without a controller: members on a store in this process, and on one where takers judge. In real time, with short ttls; nothing here rests on exact instants.
import { rendezvousPartitions, type RendezvousGroup, type RendezvousOptions } from "conclave/partitions";
import { rendezvousOwner } from "conclave/protocols";
import type { Store } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { afterEach, describe, expect, it, vi } from "vitest";

const PARTITIONS = 60;
const open: RendezvousGroup[] = [];
const heals: (() => void)[] = [];
afterEach(async () => {
  for (const heal of heals.splice(0)) heal();
  await Promise.all(open.splice(0).map((member) => member.close()));
});

class Floor {
  readonly store: Store;
  readonly at: Set<string>[] = Array.from({ length: PARTITIONS }, () => new Set());
  begins = 0;

  constructor(store: Store = memory()) {
    this.store = store;
  }

  join(id: string, options: Partial<RendezvousOptions> = {}): RendezvousGroup {
    const member = rendezvousPartitions("orders", {
      store: this.store,
      unfenced: true,
      id,
      partitions: PARTITIONS,
      membersMax: 5,
      ttlMs: 1200,
      onEvent: () => {},
      onAssigned: (partition, { signal }) => this.#work(id, partition, signal),
      ...options,
    });
    open.push(member);
    return member;
  }

  async #work(id: string, partition: number, signal: AbortSignal): Promise<void> {
    this.begins++;
    this.at[partition]?.add(id);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.at[partition]?.delete(id);
  }

  owners(): readonly string[] {
    return this.at.map((here) => [...here].join("+"));
  }

  async rests(...ids: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(this.owners()).toEqual(expected(ids)), { timeout: 15_000, interval: 20 });
  }
}

/** What everybody computes that sees these members. */
function expected(ids: readonly string[]): readonly string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => rendezvousOwner(`orders/${partition}`, ids) ?? "");
}

/** The store of one process that can be cut off: no request is answered, until it is healed. */
function cuttable(store: Store): { readonly store: Store; readonly cut: () => void } {
  let whenHealed: Promise<void> | undefined;
  const cutOff = new Proxy(store, {
    get(target, key: keyof Store) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (key === "close" || key === "watch") return value.bind(target) as unknown;
      return async (...args: readonly unknown[]) => {
        await whenHealed;
        return (await Reflect.apply(value, target, args)) as unknown;
      };
    },
  });
  return {
    store: cutOff,
    cut: () => void (whenHealed = new Promise((resolve) => heals.push(resolve))),
  };
}

describe.each([
  ["where the store judges", (): Store => memory()],
  ["where takers judge", (): Store => memory({ layout: "swap" })],
])("a group without a controller, %s", (_, make) => {
  it(
    "shares its partitions by the hash over those that are there, and only what must move does",
    { timeout: 60_000 },
    async () => {
      const floor = new Floor(make());
      floor.join("a");
      const b = floor.join("b");
      await floor.rests("a", "b");
      const before = floor.begins;
      floor.join("c");
      await floor.rests("a", "b", "c");
      const toC = expected(["a", "b", "c"]).filter((owner) => owner === "c").length;
      expect(floor.begins - before).toBe(toC);
      await b.close();
      await floor.rests("a", "c");
      const fromB = expected(["a", "b", "c"]).filter((owner) => owner === "b").length;
      expect(floor.begins - before).toBe(toC + fromB);
      expect(b.held()).toEqual([]);
    },
  );

  it(
    "leaves what a member led to the others when it is cut off, and that member stops by itself",
    { timeout: 60_000 },
    async () => {
      const store = make();
      const floor = new Floor(store);
      const { store: cutOff, cut } = cuttable(store);
      floor.join("a");
      floor.join("b");
      const c = floor.join("c", { store: cutOff });
      await floor.rests("a", "b", "c");
      const begun = floor.begins;
      cut();
      await floor.rests("a", "b");
      expect(c.held()).toEqual([]);
      expect(c.members()).toEqual([]);
      const ofC = expected(["a", "b", "c"]).filter((owner) => owner === "c").length;
      expect(floor.begins - begun).toBe(ofC);
      for (const heal of heals.splice(0)) heal();
      await floor.rests("a", "b", "c");
    },
  );
});

describe("a member without a controller", () => {
  it("waits while another process of its name takes part", { timeout: 60_000 }, async () => {
    const floor = new Floor();
    const first = floor.join("a");
    await floor.rests("a");
    const second = floor.join("a");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const [leads, waits] = [first, second].toSorted((a, b) => b.held().length - a.held().length);
    expect(waits?.held()).toEqual([]);
    await leads?.close();
    await vi.waitFor(() => expect(waits?.held()).toHaveLength(PARTITIONS), { timeout: 15_000 });
  });

  it("begins a partition again only when its own work of it has settled", { timeout: 60_000 }, async () => {
    const floor = new Floor();
    let running = 0;
    let [most, stopped] = [0, 0];
    const slow = async (_partition: number, { signal }: { readonly signal: AbortSignal }): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      stopped++;
      await new Promise((resolve) => setTimeout(resolve, 700));
      running--;
    };
    const partitions = 1;
    const owner = rendezvousOwner("orders/0", ["a", "b"]) ?? "";
    const other = owner === "a" ? "b" : "a";
    const a = floor.join(other, { partitions, onAssigned: slow });
    await vi.waitFor(() => expect(a.held()).toHaveLength(1));
    const b = floor.join(owner, { partitions, onAssigned: async () => {} });
    await vi.waitFor(() => expect(stopped).toBe(1), { timeout: 10_000 });
    await b.close();
    await vi.waitFor(() => expect(a.held()).toHaveLength(1), { timeout: 10_000 });
    expect(most).toBe(1);
  });

  it("has a lead without a token, and calls work that rejects again", { timeout: 30_000 }, async () => {
    const floor = new Floor();
    const errors: string[] = [];
    let calls = 0;
    const member = floor.join("a", {
      partitions: 1,
      onEvent: (event) => event.type === "error" && errors.push(event.error.code),
      onAssigned: async (_, lead) => {
        expect(lead).not.toHaveProperty("token");
        if (++calls === 1) throw new Error("not today");
      },
    });
    await vi.waitFor(() => expect(calls).toBe(2), { timeout: 10_000 });
    expect(errors).toEqual(["PARTITION_FAILED"]);
    const [lead] = member.held();
    expect(lead?.isLeading()).toBe(true);
    await member.close();
    expect(() => lead?.throwIfNotLeading()).toThrow(expect.objectContaining({ code: "TERM_LOST" }));
  });

  it("lists the problems of its options, and wants to be told that nothing is fenced", () => {
    const onAssigned = async (): Promise<void> => {};
    const store = memory();
    const options = { store, unfenced: true, partitions: 0, id: "a/b", onAssigned: 7 as never } as const;
    expect(() => rendezvousPartitions("or ders", options)).toThrow(/4 problems.*group.*id.*partitions.*onAssigned/);
    expect(() => rendezvousPartitions("x", { store, partitions: 1, onAssigned } as never)).toThrow(/unfenced: true/);
    expect(() =>
      rendezvousPartitions("x", { store, unfenced: true, partitions: 1, membersMax: 101, onAssigned }),
    ).toThrow(/from 1 to 100/);
  });
});
