// Members of a group on a store in this process: who leads what, and what becomes of it when members come, leave, drain and fail. In real time, with short ttls; nothing here rests on exact instants.
import { memory } from "conclave/stores/memory";
import { joinPartitions, type PartitionOptions } from "conclave/partitions";
import { afterEach, describe, expect, it, vi } from "vitest";
import { redis } from "conclave/stores/redis";
import type { FencedStore } from "conclave/stores/contract";
import { closeAll, Floor } from "./floor.ts";

afterEach(closeAll);

describe("a group", () => {
  it("shares its partitions evenly, moves some to a member that comes, and gives them back when it leaves", async () => {
    const floor = new Floor();
    await floor.join("a");
    await floor.rests({ a: 12 });
    const b = await floor.join("b");
    await floor.rests({ a: 6, b: 6 });
    await floor.join("c");
    await floor.rests({ a: 4, b: 4, c: 4 });
    await b.close();
    await floor.rests({ a: 6, c: 6 });
    expect(b.held()).toEqual([]);
  }, 60_000);

  it("drains a member, and lets it have partitions again", async () => {
    const floor = new Floor();
    const [a] = await Promise.all([floor.join("a"), floor.join("b")]);
    await floor.rests({ a: 6, b: 6 });
    await a?.drain("b");
    await floor.rests({ a: 12 });
    await a?.undrain("b");
    await floor.rests({ a: 6, b: 6 });
  }, 60_000);

  it("transfers a partition to the member that was named", async () => {
    const floor = new Floor();
    const [a] = await Promise.all([floor.join("a"), floor.join("b")]);
    await floor.rests({ a: 6, b: 6 });
    const moved = floor.at.findIndex((here) => here.has("a"));
    await a?.transfer(moved, "b");
    await vi.waitFor(() => expect([...(floor.at[moved] ?? [])]).toEqual(["b"]), { timeout: 10_000 });
    expect(floor.overlaps).toEqual([]);
  }, 60_000);

  it("hands a partition over only after its work has settled", async () => {
    const floor = new Floor();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow: PartitionOptions["onAssigned"] = async (partition, term) => {
      await floor.work("a", partition, term).then(() => floor.at[partition]?.add("a"));
      await held;
      expect(term.isHeld()).toBe(true);
      expect(term.isLeading()).toBe(false);
      floor.at[partition]?.delete("a");
    };
    await floor.join("a", { onAssigned: slow });
    await floor.rests({ a: 12 });
    await floor.join("b");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(floor.loads()).toEqual({ a: 12 });
    release();
    await floor.rests({ a: 6, b: 6 });
  }, 60_000);

  it("gives its seat back only after the work of every partition has settled, also when it is closed", async () => {
    const floor = new Floor();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const a = await floor.join("a", {
      onAssigned: async (partition, term) => {
        await floor.work("a", partition, term).then(() => floor.at[partition]?.add("a"));
        await held;
        floor.at[partition]?.delete("a");
      },
    });
    await floor.rests({ a: 12 });
    await floor.join("b", { mayControl: true });
    const closed = a.close();
    // Longer than its ttl: it is held on, and renewed, for as long as its work goes on.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(floor.loads()).toEqual({ a: 12 });
    release();
    await closed;
    await floor.rests({ b: 12 });
  }, 60_000);

  it("goes on as it is when its controller leaves: nothing is begun anew but what the controller itself led", async () => {
    const floor = new Floor();
    const members = await Promise.all(["a", "b", "c"].map((id) => floor.join(id)));
    await floor.rests({ a: 4, b: 4, c: 4 });
    const controller = members.find((member) => member.isController());
    const own = floor.at.flatMap((here, partition) => (here.has(controller?.id ?? "") ? [partition] : []));
    const before = floor.epochs.map((epochs) => epochs.length);
    await controller?.close();
    const others = ["a", "b", "c"].filter((id) => id !== controller?.id);
    await floor.rests(Object.fromEntries(others.map((id) => [id, 6])));
    const begun = floor.epochs.flatMap((epochs, partition) =>
      epochs.length > (before[partition] ?? 0) ? [partition] : [],
    );
    expect(begun).toEqual(own);
  }, 60_000);

  it("moves nothing when its controller leaves, also where only a wish keeps the loads uneven", async () => {
    const floor = new Floor();
    // Only x and y are ever the controller, and they lead nothing.
    const first = await floor.join("x");
    await first.drain("x");
    await first.drain("y");
    await floor.join("a", { mayControl: false });
    await floor.join("b", { mayControl: false });
    await floor.rests({ a: 6, b: 6 });
    const wished = [...floor.partitionsOf("b"), ...floor.partitionsOf("a").slice(0, 4)];
    for (const partition of wished) await first.transfer(partition, "b");
    await floor.rests({ a: 2, b: 10 });
    const second = await floor.join("y");
    const before = floor.begins;
    await first.close();
    await vi.waitFor(() => expect(second.isController()).toBe(true), { timeout: 15_000 });
    // What this controller decides is acted on by the time that it has moved what it is asked to move now.
    const moved = floor.partitionsOf("a")[0] ?? -1;
    await second.transfer(moved, "b");
    await floor.rests({ a: 1, b: 11 });
    expect(floor.begins).toBe(before + 1);
  }, 60_000);

  it("calls the work of a partition again after it has rejected, and reports it", async () => {
    const floor = new Floor();
    const errors: string[] = [];
    let calls = 0;
    await floor.join("a", {
      partitions: 1,
      onEvent: (event) => event.type === "error" && errors.push(event.error.code),
      onAssigned: async () => {
        calls++;
        if (calls === 1) throw new Error("not today");
      },
    });
    await vi.waitFor(() => expect(calls).toBe(2), { timeout: 10_000 });
    expect(errors).toEqual(["PARTITION_FAILED"]);
  }, 30_000);

  it("refuses a member that was told another number of partitions", async () => {
    const floor = new Floor();
    await floor.join("a");
    await floor.rests({ a: 12 });
    await expect(floor.join("b", { partitions: 13 })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  }, 30_000);

  it("refuses a member that was told another number of partitions, also before a controller was elected", async () => {
    const floor = new Floor();
    await floor.join("a", { mayControl: false });
    await expect(floor.join("b", { partitions: 13 })).rejects.toThrow(/the group has 12 partitions, not 13/);
  }, 30_000);
});

describe("joinPartitions", () => {
  const onAssigned = async (): Promise<void> => {};

  it("lists every problem of its options at once", async () => {
    const options = { store: memory(), id: "a/b", partitions: 0, weight: -1, onAssigned: 7 as never };
    await expect(joinPartitions("or ders", options)).rejects.toThrow(
      /5 problems.*group.*id.*partitions.*weight.*onAssigned/,
    );
    await expect(joinPartitions("x", { store: memory(), partitions: 200_000, onAssigned })).rejects.toThrow(
      /memory keeps 109200 of one group at most/,
    );
  });

  it("refuses a store without tokens, without memos, or without hints", async () => {
    const bare = redis("redis://127.0.0.1:1") as unknown as FencedStore;
    await expect(joinPartitions("x", { store: bare, partitions: 1, onAssigned })).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
    });
    const silent = memory({ layout: "swap" });
    await expect(joinPartitions("x", { store: silent, partitions: 1, onAssigned })).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
    });
  });
});
