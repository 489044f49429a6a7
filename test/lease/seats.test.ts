// The search for a seat of a semaphore: its rules one by one, and thousands of seeded worlds in which candidates come, work, die and are refused.
import { describe, expect, it } from "vitest";
import { createRng, type Rng } from "conclave/protocols";
import { nextFraction, nextUint32 } from "../../src/base/rng.ts";
import {
  createSearch,
  restMs,
  type SeatEffect,
  seatOrder,
  type SeatSearch,
  stepSearch,
} from "../../src/lease/seats.ts";

const SEEDS = 2000;

describe("the order of the seats", () => {
  it("has every seat once, from the start on", () => {
    expect(seatOrder(4, 2, () => false)).toEqual([2, 3, 0, 1]);
  });

  it("has those first that seem to be free", () => {
    expect(seatOrder(5, 3, (seat) => seat === 1 || seat === 4)).toEqual([4, 1, 3, 0, 2]);
  });
});

describe("a search", () => {
  it("asks for the next seat only when the one before is contested, and only once", () => {
    const search = createSearch([0, 1, 2], false);
    expect(stepSearch(search, { type: "begin" })).toEqual([{ type: "stand", seat: 0 }]);
    expect(stepSearch(search, { type: "contested", seat: 0 })).toEqual([{ type: "stand", seat: 1 }]);
    expect(stepSearch(search, { type: "contested", seat: 0 })).toEqual([]);
    expect(stepSearch(search, { type: "contested", seat: 1 })).toEqual([{ type: "stand", seat: 2 }]);
    expect(stepSearch(search, { type: "contested", seat: 2 })).toEqual([]);
  });

  it("holds the first that is granted, leaves the others, and gives back what is granted besides", () => {
    const search = createSearch([0, 1, 2], false);
    stepSearch(search, { type: "begin" });
    stepSearch(search, { type: "contested", seat: 0 });
    stepSearch(search, { type: "contested", seat: 1 });
    expect(stepSearch(search, { type: "granted", seat: 1 })).toEqual([
      { type: "hold", seat: 1 },
      { type: "leave", seat: 0 },
      { type: "leave", seat: 2 },
    ]);
    expect(stepSearch(search, { type: "granted", seat: 0 })).toEqual([{ type: "leave", seat: 0 }]);
    expect(search.held).toBe(1);
  });

  it("that tries once gives up when the last seat is contested, not before", () => {
    const search = createSearch([0, 1], true);
    stepSearch(search, { type: "begin" });
    expect(stepSearch(search, { type: "contested", seat: 0 })).toEqual([{ type: "stand", seat: 1 }]);
    expect(stepSearch(search, { type: "contested", seat: 1 })).toEqual([
      { type: "none-free" },
      { type: "leave", seat: 0 },
      { type: "leave", seat: 1 },
    ]);
    expect(stepSearch(search, { type: "granted", seat: 0 })).toEqual([{ type: "leave", seat: 0 }]);
  });

  it("that was stopped leaves every seat, and asks for none any more", () => {
    const search = createSearch([0, 1], false);
    stepSearch(search, { type: "begin" });
    expect(stepSearch(search, { type: "stop" })).toEqual([{ type: "leave", seat: 0 }]);
    expect(stepSearch(search, { type: "contested", seat: 0 })).toEqual([]);
  });
});

it("the rest after a term doubles while terms are short, and makes way in a race when others were meant to have their turn", () => {
  const given = { isRace: true, ttlMs: 10_000, pollMs: 2000, coolDownMs: 500 };
  expect(restMs({ ...given, reason: "expired", shortTerms: 0 })).toBe(500);
  expect(restMs({ ...given, reason: "expired", shortTerms: 2 })).toBe(2000);
  expect(restMs({ ...given, reason: "expired", shortTerms: 9 })).toBe(10_000);
  expect(restMs({ ...given, reason: "tenure", shortTerms: 0 })).toBe(3000);
  expect(restMs({ ...given, reason: "tenure", shortTerms: 0, isRace: false })).toBe(500);
});

// ---- seeded worlds -------------------------------------------------------------------------------------------------------------------

interface Walker {
  readonly search: SeatSearch;
  readonly holds: Set<number>;
}

/** Seats that answer in any order and late, and are granted to one at a time in the order of the queue. */
class World {
  readonly #seed: number;
  readonly #rng: Rng;
  readonly #permits: number;
  readonly walkers = new Set<Walker>();
  /** Of each seat: who stands there, the first of whom is or will be granted it. */
  readonly #queues: Walker[][];
  /** Words under way from a seat to a walker. */
  readonly #words: { readonly to: Walker; readonly seat: number; readonly type: "granted" | "contested" }[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#rng = createRng(seed);
    this.#permits = 1 + (nextUint32(this.#rng) % 5);
    this.#queues = Array.from({ length: this.#permits }, () => []);
  }

  run(): void {
    for (let turn = 0; turn < 200; turn++) {
      const luck = nextFraction(this.#rng);
      if (luck < 0.15 && this.walkers.size < 12) this.#come();
      else if (luck < 0.25) this.#go(this.#any([...this.walkers].filter(({ search }) => search.held !== undefined)));
      else if (luck < 0.28) this.#go(this.#any([...this.walkers]));
      else this.#hear();
      this.#check();
    }
    while (this.#words.length > 0) this.#hear();
    this.#checkAtRest();
  }

  #any<V>(list: readonly V[]): V | undefined {
    return list[nextUint32(this.#rng) % Math.max(1, list.length)];
  }

  #come(): void {
    const search = createSearch(
      seatOrder(this.#permits, nextUint32(this.#rng), () => false),
      false,
    );
    const walker = { search, holds: new Set<number>() };
    this.walkers.add(walker);
    this.#carryOut(walker, stepSearch(search, { type: "begin" }));
  }

  /** It gives back what it has, or is killed, which is the same to the seats. */
  #go(walker: Walker | undefined): void {
    if (walker === undefined) return;
    this.#carryOut(walker, stepSearch(walker.search, { type: "stop" }));
    for (let seat = 0; seat < this.#permits; seat++) this.#leave(walker, seat);
    this.walkers.delete(walker);
  }

  #hear(): void {
    if (this.#words.length === 0) return;
    const [word] = this.#words.splice(nextUint32(this.#rng) % this.#words.length, 1);
    if (word === undefined || !(this.#queues[word.seat]?.includes(word.to) ?? false)) return;
    if (word.type === "granted") word.to.holds.add(word.seat);
    this.#carryOut(word.to, stepSearch(word.to.search, { type: word.type, seat: word.seat }));
  }

  #carryOut(walker: Walker, effects: readonly SeatEffect[]): void {
    for (const { type, ...rest } of effects) {
      const seat = "seat" in rest ? rest.seat : -1;
      if (type === "stand") this.#stand(walker, seat);
      if (type === "leave") this.#leave(walker, seat);
    }
  }

  #stand(walker: Walker, seat: number): void {
    const queue = this.#queues[seat]!;
    if (queue.includes(walker)) this.#complain("stands twice at one seat");
    queue.push(walker);
    this.#words.push({ to: walker, seat, type: queue.length === 1 ? "granted" : "contested" });
  }

  #leave(walker: Walker, seat: number): void {
    const queue = this.#queues[seat]!;
    const place = queue.indexOf(walker);
    walker.holds.delete(seat);
    if (place < 0) return;
    queue.splice(place, 1);
    if (place === 0 && queue[0] !== undefined) this.#words.push({ to: queue[0], seat, type: "granted" });
  }

  /** At every instant a walker has at most one permit, stands nowhere else once it has one, and waits for one answer at most. */
  #check(): void {
    for (const { search, holds } of this.walkers) {
      const isSound =
        search.held === undefined
          ? holds.size === 0
          : holds.size === 1 && holds.has(search.held) && search.standing.size === 0;
      if (!isSound) this.#complain(`holds ${[...holds].join()}, and takes ${search.held} for its permit`);
      if ([...search.standing.values()].filter((isContested) => !isContested).length > 1)
        this.#complain("asks for two seats at once");
    }
  }

  /** When nothing is under way: no seat is empty while somebody waits, and who waits is at every seat. */
  #checkAtRest(): void {
    const waiting = [...this.walkers].filter(({ search }) => search.held === undefined);
    const held = this.walkers.size - waiting.length;
    if (held !== Math.min(this.#permits, this.walkers.size)) this.#complain(`${held} of ${this.#permits} are held`);
    if (waiting.some(({ search }) => search.standing.size !== this.#permits))
      this.#complain("waits at fewer seats than there are");
  }

  /** Not by `expect`: there are millions of these. */
  #complain(what: string): never {
    throw new Error(`seed ${this.#seed}: ${what}`);
  }
}

it(`of ${SEEDS} seeded worlds none has a candidate with two permits, a permit that is free while somebody waits, or a waiter that is not at every seat`, () => {
  for (let seed = 0; seed < SEEDS; seed++) new World(seed).run();
});
