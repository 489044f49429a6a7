// Guarded elections with real terms, memos and bans, on a store in memory; machines are objects, and the shooter does as it is told.
import { createCandidate, type Term } from "conclave";
import {
  GuardedElection,
  guardedElection,
  type GuardedEvent,
  type GuardedOptions,
  giveStonithOrder,
  shownOf,
  stonithStatus,
  type Shooter,
} from "conclave/stonith";
import { memory } from "conclave/stores/memory";
import type { FencedStore, ShownNodeless, ShowsNodeless, Store } from "conclave/stores/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONFIG, WatchdogOfTest } from "./watchdog.ts";

type Fate = "off" | "failed" | "unknown";

/** Machines that can be powered off, and who is at work on what they guard. */
class Room {
  /** Who waits in the line and obeys no ban; undefined: nobody knows. */
  strangers: readonly string[] | undefined = [];
  readonly store: FencedStore & ShowsNodeless = Object.assign(memory(), {
    showNodeless: async (): Promise<ShownNodeless> => {
      this.looks++;
      return this.strangers === undefined
        ? { kind: "unknown", cause: new Error("no answer") }
        : { kind: "nodeless", candidates: this.strangers };
    },
  });
  looks = 0;
  readonly works = new Set<string>();
  readonly log: string[] = [];
  readonly shots: string[] = [];
  readonly machines = new Map<string, Machine>();
  fate: Fate = "off";

  machine(name: string, dog?: WatchdogOfTest): Machine {
    const machine = new Machine(this, name, dog);
    this.machines.set(name, machine);
    return machine;
  }

  shooter(by: string): Shooter {
    return {
      nodes: ["a", "b", "c"],
      shoot: async ({ node, mayShoot }) => {
        const refusal = await mayShoot();
        this.shots.push(`${by}>${node}${refusal === undefined ? "" : " refused"}`);
        if (refusal !== undefined) return { outcome: "failed", said: refusal, isGone: true };
        if (this.fate === "off") this.machines.get(node)?.powerOff();
        return { outcome: this.fate, said: `it is ${this.fate}`, isGone: true };
      },
      look: async () => ({ is: "on" }),
      whenGone: async () => {},
      close: async () => {},
    };
  }
}

class Machine {
  readonly room: Room;
  readonly name: string;
  readonly guarded: GuardedElection;
  readonly news: string[] = [];
  /** Nothing of it reaches the store. */
  isCut = false;
  #power = new AbortController();
  readonly #stop = new AbortController();

  constructor(room: Room, name: string, dog?: WatchdogOfTest) {
    this.room = room;
    this.name = name;
    const options: GuardedOptions = {
      config: dog?.config ?? CONFIG,
      node: { name, machine: `machine of ${name}` },
      store: this.#link(room.store),
      shooter: room.shooter(name),
      storeWithoutQuorum: "only for tests",
      lookEveryMs: 50,
      tell: (event) => this.#hear(event),
    };
    this.guarded = dog === undefined ? guardedElection(options) : new GuardedElection(options, dog.places);
    dog?.guard(() => this.powerOff());
  }

  /** Works until it is stopped, or its machine is off. `isStubborn`: whatever its term says. */
  async lead(isStubborn = false): Promise<void> {
    await this.guarded.lead((term) => this.#work(term, isStubborn), { signal: this.#stop.signal });
  }

  async #work({ signal, token }: Term, isStubborn: boolean): Promise<void> {
    const { works, log } = this.room;
    if (works.size > 0) log.push(`${this.name} begins beside ${[...works].join(", ")}`);
    works.add(this.name);
    log.push(`${this.name} in term ${token.value}`);
    const ends = isStubborn ? [this.#power.signal] : [this.#power.signal, signal];
    await new Promise<void>((resolve) => {
      for (const end of ends) {
        if (end.aborted) resolve();
        end.addEventListener("abort", () => resolve(), { once: true });
      }
    });
    works.delete(this.name);
    // A machine that is off says nothing more.
    if (this.#power.signal.aborted) await new Promise(() => {});
  }

  powerOff(): void {
    this.isCut = true;
    this.#power.abort();
  }

  stop(): void {
    this.#stop.abort();
  }

  #hear(event: GuardedEvent): void {
    if (event.type !== "stonith") return;
    const { news } = event;
    this.news.push(news.is === "history" ? news.entry.is : news.is);
  }

  #link(store: Store): Store {
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown =>
          this.isCut ? new Promise(() => {}) : (value as (...all: unknown[]) => unknown).apply(target, args);
      },
    });
  }
}

const opened: Machine[] = [];
afterEach(async () => {
  const all = opened.splice(0);
  for (const machine of all) machine.powerOff();
  await Promise.race([
    Promise.all(all.map(({ guarded }) => guarded.close())),
    new Promise((resolve) => setTimeout(resolve, 500)),
  ]);
});

function room(...names: readonly string[]): readonly [Room, ...Machine[]] {
  const made = new Room();
  const machines = names.map((name) => made.machine(name));
  opened.push(...machines);
  return [made, ...machines];
}

const POLL = { timeout: 30_000, interval: 20 };

describe("a guarded election", () => {
  it("hands over without a shot when the work has ended", async () => {
    const [made, a, b] = room("a", "b");
    const first = a?.lead();
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    void b?.lead();
    a?.stop();
    await first;
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1", "b in term 2"]);
    expect(made.shots).toEqual([]);
  });

  it("begins when the machine of the last leader is verified to be off, and never beside it", async () => {
    const [made, a, b] = room("a", "b");
    void a?.lead(true);
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    if (a !== undefined) a.isCut = true;
    void b?.lead();
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1", "b in term 2"]);
    expect(made.shots).toEqual(["b>a"]);
    expect(b?.news).toEqual(expect.arrayContaining(["opened", "shooting", "off", "lifted", "begun"]));
    const reader = createCandidate({ store: made.store });
    const { record, bans } = await stonithStatus(reader, "ledger");
    expect(bans).toEqual([]);
    expect(record.acting.map(({ node, token }) => [node, token])).toEqual([["b", "2"]]);
    await reader.close();
  });

  it("frees what the node that is off held elsewhere in the store, long before its ttl", async () => {
    const [made, a, b] = room("a", "b");
    const node = { name: "a", machine: "machine of a" };
    const dead = createCandidate({ store: made.store, node, ttlMs: 60_000 });
    const next = createCandidate({ store: made.store });
    await dead.election("reports").campaign();
    void a?.lead(true);
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    const waits = next.election("reports").campaign();
    if (a !== undefined) a.isCut = true;
    void b?.lead();
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1", "b in term 2"]);
    expect((await waits).token.value).toBe(2n);
    await Promise.all([dead, next].map((each) => each.close()));
  });

  it.each(["failed", "unknown"] as const)(
    "does not begin after shots that are %s, until a human confirms",
    async (fate) => {
      const [made, a, b] = room("a", "b");
      made.fate = fate;
      void a?.lead(true);
      await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
      if (a !== undefined) a.isCut = true;
      void b?.lead();
      await expect.poll(() => made.shots.length, POLL).toBeGreaterThan(3);
      expect(made.log).toEqual(["a in term 1"]);
      const reader = createCandidate({ store: made.store });
      const { record, bans } = await stonithStatus(reader, "ledger");
      expect(bans.map(({ node }) => node)).toEqual(["a"]);
      a?.powerOff();
      const order = { kind: "confirm", by: "kim", node: "a", says: "off", ...shownOf(record, "a") } as const;
      const answer = await giveStonithOrder(reader, "ledger", order, AbortSignal.timeout(30_000));
      expect(answer).toMatchObject({ isDone: true });
      await expect.poll(() => made.log, POLL).toEqual(["a in term 1", "b in term 2"]);
      await reader.close();
    },
  );

  it.each([["go-1"], undefined])("neither shoots nor begins while %s waits in the same line", async (strangers) => {
    const [made, a, b] = room("a", "b");
    void a?.lead(true);
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    made.strangers = strangers;
    if (a !== undefined) a.isCut = true;
    void b?.lead();
    // The ttl of a has run out, and its seat was granted to b.
    const reader = createCandidate({ store: made.store });
    await expect.poll(async () => (await reader.election("ledger").leader())?.token, POLL).toBe(2n);
    const before = made.looks;
    await expect.poll(() => made.looks > before + 10 || made.log.length > 1, POLL).toBe(true);
    expect([made.shots, made.log]).toEqual([[], ["a in term 1"]]);
    made.strangers = [];
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1", "b in term 2"]);
    await reader.close();
  });

  it("does not shoot a leader that has lost its term and has ended its work in time", async () => {
    const [made, a, b] = room("a", "b");
    void a?.lead();
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    if (a !== undefined) a.isCut = true;
    await expect.poll(() => made.works.size, POLL).toBe(0);
    // Its process is well, and reaches the store again: it can say itself that its work has ended.
    if (a !== undefined) a.isCut = false;
    void b?.lead();
    await expect.poll(() => made.log.length, POLL).toBe(2);
    expect(made.shots).toEqual([]);
  });

  it("shoots what an operator asks for, while it works, and refuses its own node", async () => {
    const [made, a, b] = room("a", "b");
    void a?.lead();
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    const operator = createCandidate({ store: made.store });
    const order = { kind: "fence", by: "kim", node: "a", why: "it smokes" } as const;
    const own = await giveStonithOrder(operator, "ledger", order, AbortSignal.timeout(30_000));
    expect(own).toMatchObject({ isDone: false });
    expect(own?.said).toContain("never powers itself off");
    await giveStonithOrder(operator, "ledger", { ...order, node: "b" }, AbortSignal.timeout(30_000));
    await expect.poll(() => made.shots, POLL).toEqual(["a>b"]);
    await expect.poll(() => b?.isCut, POLL).toBe(true);
    expect(made.works).toEqual(new Set(["a"]));
    await operator.close();
  });

  it("obeys an order while nobody leads, and begins no work", async () => {
    const [made, a] = room("a", "b");
    const operator = createCandidate({ store: made.store });
    const stop = new AbortController();
    const obeying = a?.guarded.obey(stop.signal);
    const order = { kind: "fence", by: "kim", node: "b", why: "it smokes" } as const;
    const answer = await giveStonithOrder(operator, "ledger", order, AbortSignal.timeout(30_000));
    expect(answer).toMatchObject({ isDone: true });
    await expect.poll(() => made.shots, POLL).toEqual(["a>b"]);
    stop.abort();
    await obeying;
    expect(made.log).toEqual([]);
    await operator.close();
  });
});

describe("a guarded election with a hardware watchdog", () => {
  let dog: WatchdogOfTest;
  beforeEach(() => void (dog = new WatchdogOfTest()));
  afterEach(() => dog.end());

  function machines(): readonly [Room, Machine, Machine] {
    const made = new Room();
    const [a, b] = [made.machine("a", dog), made.machine("b", dog)];
    opened.push(a, b);
    return [made, a, b];
  }

  it("arms it before the work begins, says so in the record, feeds it, and disarms it when the work has ended", async () => {
    const [made, a] = machines();
    const heardAtBegin: string[] = [];
    const stop = new AbortController();
    const stopped = new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    const leading = a.guarded.lead(
      async () => {
        heardAtBegin.push(dog.heard);
        await stopped;
        heardAtBegin.push(dog.heard.slice(-1));
      },
      { signal: stop.signal },
    );
    await expect.poll(() => heardAtBegin.length, POLL).toBe(1);
    expect(heardAtBegin).toEqual(["1"]);
    const reader = createCandidate({ store: made.store });
    const { record } = await stonithStatus(reader, "ledger");
    expect(record.acting).toMatchObject([{ node: "a", watchdog: { timeoutMs: 1000, ttlMs: 1000 } }]);
    await expect.poll(() => dog.heard.length, POLL).toBeGreaterThan(6);
    expect(a.isCut).toBe(false);
    stop.abort();
    await leading;
    expect(heardAtBegin).toEqual(["1", "1"]);
    expect(dog.heard).toMatch(/^1+V$/);
    await reader.close();
  });

  it("does not begin the work of a term that ran out while it was being armed", async () => {
    const [made, a] = machines();
    dog.opensAfter(2 * dog.config.ttlMs);
    const leading = a.lead();
    await expect.poll(() => made.log.length, POLL).toBe(1);
    expect(made.log).toEqual(["a in term 2"]);
    a.stop();
    await leading;
  });

  it("feeds it only while the term is held; the next leader waits until it has reset the machine, and shoots nobody", async () => {
    const [made, a, b] = machines();
    void a.lead(true);
    await expect.poll(() => made.log, POLL).toEqual(["a in term 1"]);
    a.isCut = true;
    void b.lead();
    await expect.poll(() => made.log.at(-1), POLL).toBe("b in term 2");
    expect(made.log).toEqual(["a in term 1", "b in term 2"]);
    expect(dog.heard).toMatch(/^1+$/);
    expect(made.shots).toEqual([]);
    expect(b.news).toEqual(expect.arrayContaining(["opened", "off", "lifted", "begun"]));
  });
});

describe("a guarded election is refused", () => {
  const options = { config: CONFIG, node: "a", shooter: new Room().shooter("a") };
  const refused = (more: Partial<Parameters<typeof guardedElection>[0]>): unknown => {
    try {
      guardedElection({ ...options, store: memory(), ...more });
      return "taken";
    } catch (error) {
      return (error as { readonly code?: unknown }).code;
    }
  };

  it("on a store without a quorum, on one without bans, and for a node that is not configured", () => {
    expect(refused({})).toBe("STORE_UNSUPPORTED");
    expect(refused({ storeWithoutQuorum: "only for tests", node: "z" })).toBe("CONFIG_INVALID");
    expect(refused({ storeWithoutQuorum: "only for tests", store: memory({ layout: "swap" }) })).toBe(
      "STORE_UNSUPPORTED",
    );
  });
});
