// The registry of a group: whom it forgets, and that nobody who is there is forgotten for good. On a store in this process, in real time, with short ttls; nothing here rests on exact instants.
import { createCandidate } from "conclave";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  changeRegistry,
  readRegistry,
  withDrain,
  withIds,
  withoutIds,
  withTransfer,
} from "../../src/partitions/registry.ts";
import { registryName } from "../../src/partitions/names.ts";
import type { Registry } from "../../src/partitions/texts.ts";
import { passesInvitations } from "conclave/stores/contract";
import { closeAll, Floor } from "./floor.ts";

afterEach(closeAll);

/** Names as pods have them: a new one at each start. Six hundred of them need more than half of a memo. */
const PODS = Array.from({ length: 600 }, (_, n) => `orders-7d9f8b6c5d-of-a-deployment-with-a-long-name-${n + 10_000}`);

class Registrar {
  readonly floor = new Floor();
  readonly #candidate = createCandidate({ store: this.floor.store, id: "registrar", ttlMs: 1200 });

  change(change: (registry: Registry) => Registry): Promise<Registry> {
    return changeRegistry(this.#candidate, "orders", change);
  }

  async ids(): Promise<readonly string[]> {
    return [...(await readRegistry(this.#candidate.election(registryName("orders")))).ids];
  }

  /** Ends the present session of a member, as `conclave resign` does. */
  async endSession(id: string): Promise<void> {
    const name = `partitions/orders/member/${id}`;
    const call = { signal: AbortSignal.timeout(5000), sentAtMs: 0 };
    const look = await this.floor.store.look([{ name }], call);
    const holder = look.kind === "seen" ? look.seats[0]?.holder : undefined;
    if (holder?.token === undefined || holder.bid === undefined || holder.domain === undefined) throw new Error(id);
    const { store } = this.floor;
    if (!passesInvitations(store)) throw new Error("memory asks holders to leave");
    const token = { domain: holder.domain, value: holder.token, bid: holder.bid };
    await store.askToLeave(name, token, call);
  }

  close(): Promise<void> {
    return this.#candidate.close();
  }
}

describe("the registry of a group", () => {
  it("forgets those that are not there when it is half full, but none of whom an operator has asked something", async () => {
    const registrar = new Registrar();
    await registrar.floor.join("a");
    await registrar.floor.rests({ a: 12 });
    await registrar.change((registry) =>
      withTransfer(withDrain(withIds(registry, PODS), PODS[7] as string, true), 3, PODS[9]),
    );
    await registrar.floor.join("b");
    await registrar.floor.rests({ a: 6, b: 6 });
    expect(await registrar.ids()).toEqual(["a", "b", PODS[7], PODS[9]]);
    await registrar.close();
  });

  it("forgets nobody as long as there is room", async () => {
    const registrar = new Registrar();
    await registrar.floor.join("a");
    await registrar.change((registry) => withIds(registry, PODS.slice(0, 100)));
    await registrar.floor.join("b");
    expect(await registrar.ids()).toHaveLength(102);
    await registrar.close();
  });

  it("has a member again that was forgotten while it had no session", async () => {
    const registrar = new Registrar();
    const { floor } = registrar;
    await Promise.all([floor.join("a"), floor.join("b")]);
    await floor.rests({ a: 6, b: 6 });
    await registrar.change((registry) => withoutIds(registry, new Set(["b"])));
    await registrar.endSession("b");
    await vi.waitFor(async () => expect(await registrar.ids()).toEqual(["a", "b"]), { timeout: 15_000 });
    await floor.rests({ a: 6, b: 6 });
    await registrar.close();
  }, 60_000);

  it("has a member again that came between the look and the write of who forgets", async () => {
    const registrar = new Registrar();
    const { floor } = registrar;
    await Promise.all([floor.join("a"), floor.join("late", { mayControl: false })]);
    await floor.rests({ a: 6, late: 6 });
    await registrar.change((registry) => withIds(registry, PODS));
    const { store } = floor;
    const seatOfLate = "partitions/orders/member/late";
    let hasMissed = false;
    const look: typeof store.look = async (questions, call) => {
      const answer = await store.look(questions, call);
      if (hasMissed || questions.length < PODS.length || answer.kind !== "seen") return answer;
      hasMissed = true;
      const seats = answer.seats.map((seat) =>
        seat.name === seatOfLate ? { ...seat, state: "vacant" as const, holder: undefined } : seat,
      );
      return { ...answer, seats };
    };
    const old = new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        return key === "look" ? look : typeof value === "function" ? value.bind(target) : value;
      },
    });
    await floor.join("c", { store: old, mayControl: false });
    expect(hasMissed).toBe(true);
    expect(await registrar.ids()).toEqual(["a", "c", "late"]);
    await registrar.close();
  }, 60_000);
});
