// Of all who wait for a name one looks often: it hears soon that the name was given back, and what that costs does not grow with those who wait. Several handles on one table of the
// model, each as a process of its own has it.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import type { FencedStore, Hint } from "conclave/stores/contract";
import { dynamodb, type DynamoClient } from "conclave/stores/dynamodb";
import { learn, mayTake, NOTHING_KNOWN } from "../../../src/stores/dynamodb/scout-rule.ts";
import { call, hold, open } from "../moves.ts";
import { ModelClient } from "./model-client.ts";

const NAME = "billing";
const POST = `scout/${NAME}`;

/** A process: its own handle, what it asks, and how it fares. */
class Process implements DynamoClient {
  readonly store: FencedStore;
  readonly #table: ModelClient;
  readonly hints: Hint[] = [];
  readonly #watches = new AbortController();
  asked: { readonly verb: string; readonly input: object }[] = [];
  state: "lives" | "hangs" | "fails" = "lives";

  constructor(table: ModelClient, lookMs?: number) {
    this.#table = table;
    this.store = dynamodb(this, { table: "model", lookMs });
  }

  send(command: never): Promise<unknown> {
    const { input } = command as { readonly input: object };
    this.asked.push({ verb: (command as object).constructor.name.replace("Command", ""), input });
    if (this.state === "hangs") return new Promise(() => {});
    if (this.state === "fails") return Promise.reject(new Error("the network is away"));
    return this.#table.send(command);
  }

  watch(...names: readonly string[]): this {
    const watched = this.store.watch(
      names.map((name) => ({ name })),
      { signal: this.#watches.signal, sentAtMs: 0 },
    );
    void (async () => {
      for await (const hint of watched) this.hints.push(hint);
    })();
    return this;
  }

  leave(): void {
    this.#watches.abort();
  }

  /** How often it has looked since it was asked the last time. */
  looks(): number {
    return this.asked.splice(0).filter(({ verb }) => verb === "BatchGetItem").length;
  }
}

const isFree = (table: ModelClient): boolean | undefined => table.items.get(POST)?.["free"]?.BOOL;

describe("watching", () => {
  let table: ModelClient;
  let leader: FencedStore;
  let giveBack: () => Promise<unknown>;
  beforeEach(async () => {
    table = new ModelClient();
    leader = dynamodb(table, { table: "model" });
    const session = await open(leader);
    const held = await hold(leader, session, NAME);
    giveBack = () => leader.release({ session, holds: [held], endSession: true }, call());
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const processes = (count: number): Process[] => Array.from({ length: count }, () => new Process(table).watch(NAME));
  const scoutsAmong = (all: readonly Process[]): readonly Process[] => all.filter((each) => each.looks() > 2);

  it("of many who wait one looks ten times a second, by reads that cost half, and the others ask once in ten seconds", async () => {
    const all = processes(50);
    await pass(1_000);
    expect(scoutsAmong(all)).toHaveLength(1);
    await pass(60_000);
    const asked = all.flatMap((each) => each.asked.map((one) => ({ ...one, each })));
    for (const { verb, input } of asked)
      if (verb !== "UpdateItem") expect(JSON.stringify(input)).toContain('"ConsistentRead":false');
    const [most = 0, ...others] = all.map((each) => each.asked.length).toSorted((a, b) => b - a);
    expect(most).toBeGreaterThan(500);
    expect(most).toBeLessThan(650);
    for (const count of others) expect(count).toBeLessThanOrEqual(7);
  });

  it("what is given back is told to the scout within two looks, once, and to nobody else", async () => {
    const all = processes(20);
    await pass(1_000);
    const [scout] = scoutsAmong(all);
    await giveBack();
    await pass(201);
    expect(scout?.hints).toMatchObject([{ name: NAME, seat: { state: "vacant" } }]);
    await pass(2_000);
    expect(all.flatMap(({ hints }) => hints)).toHaveLength(1);
  });

  it("a scout that leaves says so, and another one follows with its next round", async () => {
    const all = processes(5);
    await pass(1_000);
    const [first] = scoutsAmong(all);
    first?.leave();
    await pass(0);
    expect(isFree(table)).toBe(true);
    await pass(13_000);
    all.forEach((each) => each.looks());
    await pass(1_000);
    const after = scoutsAmong(all);
    expect(after).toHaveLength(1);
    expect(after).not.toContain(first);
  });

  it("one that begins when nobody scouts does so at once", async () => {
    const [first] = processes(1);
    await pass(1_000);
    first?.leave();
    await pass(0);
    const [second] = processes(1);
    await pass(500);
    expect(second?.looks()).toBeGreaterThan(1);
  });

  it("a scout that has died is replaced; one that lives is not", async () => {
    const all = processes(3);
    await pass(1_000);
    const [first] = scoutsAmong(all);
    await pass(300_000);
    expect(scoutsAmong(all)).toEqual([first]);
    if (first !== undefined) first.state = "hangs";
    await pass(50_000);
    const others = all.filter((each) => each !== first);
    others.forEach((each) => each.looks());
    await pass(1_000);
    expect(scoutsAmong(others)).toHaveLength(1);
  });

  it("a network that is away for a while is no end of it", async () => {
    const [only] = processes(1);
    await pass(1_000);
    if (only !== undefined) only.state = "fails";
    await pass(30_000);
    if (only !== undefined) only.state = "lives";
    await giveBack();
    await pass(SOON_MS);
    expect(only?.hints).toHaveLength(1);
  });

  it("a process scouts for four of its names at most", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `name ${index}`);
    new Process(table).watch(...names);
    await pass(1_000);
    expect([...table.items.keys()].filter((key) => key.startsWith("scout/"))).toHaveLength(4);
  });

  it("a lookMs of the user's is all there is", async () => {
    const mine = new Process(table, 500).watch(NAME);
    await pass(60_000);
    expect(mine.asked).toEqual([]);
  });
});

const SOON_MS = 20_000;

it("may be taken where there is none, where it was left, and where it has not changed for three rounds", () => {
  const found = { stamp: "a", free: false };
  expect(mayTake(learn(NOTHING_KNOWN, undefined), undefined)).toBe(true);
  expect(mayTake(learn(NOTHING_KNOWN, found), { ...found, free: true })).toBe(true);
  let known = learn(NOTHING_KNOWN, found);
  expect(mayTake(known, found)).toBe(false);
  known = learn(known, found);
  expect(mayTake(known, found)).toBe(false);
  expect(mayTake(learn(known, { ...found, stamp: "b" }), { ...found, stamp: "b" })).toBe(false);
  expect(mayTake(learn(known, found), found)).toBe(true);
});

it(
  "five hundred candidates: one leads at a time, the next one soon after, and nobody asks more than once a second but the scout",
  { timeout: 120_000 },
  async () => {
    const table = new ModelClient();
    const [errors, waiting] = [[] as ConclaveEvent[], new Set<number>()];
    const all = Array.from({ length: 500 }, (_, index) => {
      const process = new Process(table);
      const onEvent = (event: ConclaveEvent): void => {
        if (event.type === "error") errors.push(event);
        if (event.type === "waiting") waiting.add(index);
      };
      return { process, candidate: createCandidate({ store: process.store, ttlMs: 60_000, drainMs: 100, onEvent }) };
    });
    let led = 0;
    const [first, ...rest] = all;
    const term = await first?.candidate.election(NAME).campaign();
    const others = rest.map(async ({ candidate, process }) => {
      const won = await candidate.election(NAME).campaign();
      led++;
      return { won, process };
    });
    void Promise.allSettled(others);
    const requests = (): number => all.reduce((sum, { process }) => sum + process.asked.splice(0).length, 0);
    await expect.poll(() => [isFree(table), waiting.size], { timeout: 60_000 }).toEqual([false, 499]);
    // The first look of each reads twice, and each asks once whether there is a scout.
    requests();
    const hasLooked = (): boolean => rest.every(({ process }) => process.asked.length > 2);
    await expect.poll(hasLooked, { timeout: 60_000 }).toBe(true);
    requests();
    const from = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect((requests() / (performance.now() - from)) * 1000).toBeLessThan(700);
    const resignedAt = performance.now();
    await term?.resign();
    const { won, process: winner } = await Promise.race(others);
    requests();
    // Every other one has looked since.
    const isQuiet = (): boolean => rest.every(({ process }) => process === winner || process.asked.length > 0);
    await expect.poll(isQuiet, { timeout: 60_000 }).toBe(true);
    expect([led, won.isHeld()]).toEqual([1, true]);
    const seconds = (performance.now() - resignedAt) / 1000;
    // Each look shows another session, which is read once more; and one in ten of a second may have been on its way with a claim.
    expect(requests()).toBeLessThan(1_000 + 1_500 * seconds);
    expect(errors).toEqual([]);
    await Promise.all(all.map(({ candidate }) => candidate.close()));
  },
);

it("a scout that leads leaves its post to those who wait", { timeout: 60_000 }, async () => {
  const table = new ModelClient();
  const [first, second] = [new Process(table), new Process(table)].map(({ store }) =>
    createCandidate({ store, ttlMs: 20_000, drainMs: 100 }),
  );
  const term = await first?.election(NAME).campaign();
  const next = second?.election(NAME).campaign();
  await expect.poll(() => isFree(table), { timeout: 20_000 }).toBe(false);
  await term?.resign();
  const won = await next;
  const until = performance.now() + 10_000;
  while (isFree(table) !== true && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([isFree(table), won?.isHeld()]).toEqual([true, true]);
  await Promise.all([first?.close(), second?.close()]);
});

it("what decides is read consistently: a claim, a keep and a look", async () => {
  const table = new ModelClient();
  const mine = new Process(table);
  const session = await open(mine.store);
  const held = await hold(mine.store, session, NAME);
  await mine.store.keep(session, [held], call());
  await mine.store.look([{ name: NAME }], call());
  await hold(mine.store, await open(mine.store), "another");
  const reads = mine.asked.filter(({ verb }) => verb === "GetItem" || verb === "BatchGetItem");
  expect(reads.length).toBeGreaterThan(3);
  for (const { input } of reads) expect(JSON.stringify(input)).toContain('"ConsistentRead":true');
});
