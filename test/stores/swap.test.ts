// Sessions, seats and counters over compare-and-swap, with every request of several candidates delayed, reordered, lost and answered late, as a seed draws it.
// The judge sits in the port: it sees each write at the instant at which it is applied.
import { describe, expect, it } from "vitest";
import { createRng, type Rng } from "conclave/protocols";
import { nextChance } from "../../src/base/rng.ts";
import { unknown } from "../../src/base/outcome.ts";
import { type Bid, type Hold, type Session, VACANT } from "conclave/stores/contract";
import { MemoryPort } from "../../src/stores/memory/memory-port.ts";
import type { StampedText, Found, Listed, Swapped, SwapPort } from "../../src/stores/swap/port.ts";
import { readSeat, readSession, type SeatRecord, sessionKey } from "../../src/stores/swap/records.ts";
import { SwapStore } from "../../src/stores/swap/swap-store.ts";
import { memory } from "conclave/stores/memory";
import { call, Crossing, live, NAME, once, version } from "./hasty.ts";

const SEAT = `seat/${NAME}`;
const guarantee = memory("memory:?layout=swap").guarantee;

/** Holds every request back until the seed lets it pass; loses some requests and some answers. */
class RestlessPort implements SwapPort {
  readonly inner = new MemoryPort();
  readonly faults: string[] = [];
  readonly crossing: Crossing;
  readonly #random: Rng;
  #greatest = 0n;

  constructor(random: Rng) {
    this.#random = random;
    this.crossing = new Crossing(random);
  }

  /** Each record is read at an instant of its own, the last one first, as a port may. */
  async read(keys: readonly string[]): Promise<Found> {
    const entries: (StampedText | undefined)[] = [];
    for (const key of keys.toReversed()) {
      await this.crossing.turn();
      const found = await this.inner.read([key], call);
      if (found.kind === "found") entries.unshift(found.entries[0]);
    }
    await this.crossing.turn();
    return { kind: "found", entries };
  }

  async list(prefix: string): Promise<Listed> {
    await this.crossing.turn();
    return await this.inner.list(prefix, call);
  }

  async swap(key: string, over: string | undefined, text: string): Promise<Swapped> {
    await this.crossing.turn();
    if (nextChance(this.#random, 0.05)) {
      void this.#late(key, over, text);
      return unknown("no answer");
    }
    const swapped = await this.#apply(key, over, text);
    if (nextChance(this.#random, 0.03)) return unknown("the answer was lost");
    await this.crossing.turn();
    return swapped;
  }

  async close(): Promise<void> {}

  async #late(key: string, over: string | undefined, text: string): Promise<void> {
    await this.crossing.late();
    await this.#apply(key, over, text);
  }

  async #apply(key: string, over: string | undefined, text: string): Promise<Swapped> {
    const before = key === SEAT ? await this.seat() : undefined;
    const holder = before === undefined ? undefined : await this.session(before.session);
    const swapped = await this.inner.swap(key, over, text, call);
    if (key === SEAT && swapped.kind === "swapped") this.#judge(before, holder?.ended ?? true, await this.seat());
    return swapped;
  }

  #judge(before: SeatRecord | undefined, isEnded: boolean, after: SeatRecord | undefined): void {
    if (after === undefined || after.bid === before?.bid) return;
    if (before !== undefined && !before.vacant && !isEnded && before.session !== after.session)
      this.faults.push(`${after.bid} took the seat of ${before.bid}, whose session lives`);
    if (after.token <= this.#greatest)
      this.faults.push(`${after.bid} was given ${after.token} after ${this.#greatest}`);
    if (after.token > this.#greatest) this.#greatest = after.token;
  }

  async seat(): Promise<SeatRecord | undefined> {
    const found = await this.inner.read([SEAT], call);
    return found.kind === "found" ? readSeat(found.entries[0])?.record : undefined;
  }

  async session(id: string): Promise<{ readonly ended: boolean } | undefined> {
    const found = await this.inner.read([sessionKey(id)], call);
    return found.kind === "found" ? readSession(found.entries[0])?.record : undefined;
  }
}

interface Play {
  readonly grants: number;
  readonly takeovers: number;
  readonly faults: readonly string[];
}

async function play(seed: number): Promise<Play> {
  const random = createRng(seed);
  const port = new RestlessPort(random);
  const store = new SwapStore(port, guarantee);
  const told = { grants: 0, takeovers: 0 };
  const claiming = () => (_: Hold, isTakeover: boolean) => {
    told.grants++;
    if (isTakeover) told.takeovers++;
  };
  const candidates = [1, 2, 3].map((number) => live(store, `c${number}`, random, claiming));
  let isOver = false;
  void Promise.all(candidates).then(() => (isOver = true));
  for (let turns = 0; turns < 5_000; turns++) {
    for (let jobs = 0; jobs < 20; jobs++) await Promise.resolve();
    if (!port.crossing.step() && isOver) break;
  }
  return { ...told, faults: isOver ? port.faults : [...port.faults, "it never ended"] };
}

describe("over compare-and-swap", () => {
  it("no seat is taken from a session that lives, and tokens only grow, in whatever order requests arrive", async () => {
    const total = { grants: 0, takeovers: 0 };
    for (let seed = 1; seed <= 500; seed++) {
      const { grants, takeovers, faults } = await play(seed);
      expect(faults, `seed ${seed}`).toEqual([]);
      total.grants += grants;
      total.takeovers += takeovers;
    }
    expect(total.grants).toBeGreaterThan(1_000);
    expect(total.takeovers).toBeGreaterThan(200);
  });

  it("a keep that comes between the taker's look and its claim saves the seat", async () => {
    const store = new SwapStore(new MemoryPort(), guarantee);
    const [held, rival] = [await opened(store, "a"), await opened(store, "b")];
    const granted = await once(store, held, "a.1" as Bid, VACANT);
    const seen = await version(store);
    await store.keep(held, [], call);
    expect(await once(store, rival, "b.1" as Bid, seen)).toMatchObject({ kind: "beaten", seat: { state: "held" } });
    expect(granted?.kind).toBe("granted");
    expect(await store.keep(held, [], call)).toMatchObject({ kind: "kept" });
  });

  it("a session that a taker has ended is over: its keeps and its claims are refused", async () => {
    const store = new SwapStore(new MemoryPort(), guarantee);
    const [silent, rival] = [await opened(store, "a"), await opened(store, "b")];
    await once(store, silent, "a.1" as Bid, VACANT);
    expect(await once(store, rival, "b.1" as Bid, await version(store))).toMatchObject({ kind: "granted" });
    expect(await store.keep(silent, [], call)).toEqual({ kind: "session-lost" });
    expect(await once(store, silent, "a.2" as Bid, await version(store))).toEqual({ kind: "session-lost" });
  });

  it("a record that somebody edited is refused by its key, and left as it is", async () => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const session = await opened(store, "a");
    await port.swap(SEAT, undefined, "{}", call);
    const claimed = await once(store, session, "a.1" as Bid, VACANT);
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA", retryable: false });
    expect(claimed).toHaveProperty("message", expect.stringContaining('"seat/x"'));
    expect(await port.read([SEAT], call)).toMatchObject({ entries: [{ text: "{}" }] });
  });

  it.each([`""`, `"0x10"`, `" 7"`, `"-1"`, "7"])("a seat whose token is %s is refused", async (token) => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const session = await opened(store, "a");
    const text = `{"session":"s","candidate":"c","bid":"b","token":${token},"ttlMs":1000,"value":"","vacant":true}`;
    await port.swap(SEAT, undefined, text, call);
    expect(await once(store, session, "a.1" as Bid, VACANT)).toMatchObject({ code: "STORE_FOREIGN_DATA" });
  });

  it("of two copies of one process the one that was overtaken gives nothing back, at whatever step it is overtaken", async () => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const kept = await store.keep({ nonce: "s", candidate: "a", ttlMs: 9000, beat: "b0" }, [], call);
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const granted = await once(store, kept.session, "a.1" as Bid, VACANT);
    if (granted?.kind !== "granted") throw new Error(granted?.kind);
    const holds = [granted.hold];
    const goesOn = async (beats: readonly string[]): Promise<void> => {
      expect(await store.keep({ ...kept.session, beats }, holds, call)).toMatchObject({ kind: "kept", lost: [] });
    };
    await goesOn(["b0", "b1"]);
    const overtaken = { session: { ...kept.session, beats: ["b0"] }, holds, endSession: true };
    expect((await store.release(overtaken, call)).kind).toBe("released");
    await goesOn(["b0", "b1", "b2"]);
    expect(await store.look([{ name: NAME }], call)).toMatchObject({ seats: [{ state: "held" }] });

    // Overtaken between its look and its write: the session is not ended.
    const swap = port.swap.bind(port);
    port.swap = async (key, over, text, asked) => {
      port.swap = swap;
      await goesOn(["b1", "b2", "b3"]);
      return await swap(key, over, text, asked);
    };
    await store.release({ session: { ...kept.session, beats: ["b2"] }, holds: [], endSession: true }, call);
    await goesOn(["b2", "b3", "b4"]);
  });

  it("a claim over a deleted seat that another claim has overtaken gives back what it made", async () => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const session = await opened(store, "a");
    const swap = port.swap.bind(port);
    // Between this claim's token and its seat, another claim takes a token; its seat is deleted at once.
    port.swap = async (key, over, text, asked) => {
      if (key === SEAT && over === undefined) await swap(`count/${NAME}`, "2", '{"last":"7","ttlMs":1000}', asked);
      return await swap(key, over, text, asked);
    };
    expect(await once(store, session, "a.1" as Bid, VACANT)).toMatchObject({
      kind: "beaten",
      seat: { state: "vacant" },
    });
  });

  it("a claim that has read an old counter is beaten, and no token is granted twice", async () => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const [other, late] = [await opened(store, "a"), await opened(store, "b")];
    const lead = async (bid: string): Promise<void> => {
      await once(store, other, bid as Bid, VACANT);
      await store.release({ session: other, holds: [{ name: NAME, bid: bid as Bid }], endSession: false }, call);
    };
    await lead("a.1");
    const before = await port.read([`count/${NAME}`], call);
    await lead("a.2");
    // Records are read one after the other: the counter before the second term, the seat after it.
    const read = port.read.bind(port);
    port.read = async (keys, asked) => {
      const found = await read(keys, asked);
      if (!keys.includes(`count/${NAME}`) || found.kind !== "found" || before.kind !== "found") return found;
      port.read = read;
      return { ...found, entries: keys.map((key, index) => (key === SEAT ? found.entries[index] : before.entries[0])) };
    };
    expect(await once(store, late, "b.1" as Bid, VACANT)).toMatchObject({ kind: "beaten" });
    expect(await once(store, late, "b.2" as Bid, VACANT)).toMatchObject({ hold: { token: { value: 3n } } });
  });

  it("a release gives back only what its own session holds by its own bid", async () => {
    const store = new SwapStore(new MemoryPort(), guarantee);
    const [held, other] = [await opened(store, "a"), await opened(store, "b")];
    await once(store, held, "a.2" as Bid, VACANT);
    for (const [session, bid] of [
      [held, "a.1"],
      [other, "a.2"],
    ] as const)
      await store.release({ session, holds: [{ name: NAME, bid: bid as Bid }], endSession: false }, call);
    expect(await store.look([{ name: NAME }], call)).toMatchObject({
      seats: [{ state: "held", holder: { bid: "a.2" } }],
    });
  });

  it("the last bid that held a name is not granted again over VACANT: that claim comes late", async () => {
    const store = new SwapStore(new MemoryPort(), guarantee);
    const session = await opened(store, "a");
    const bid = "a.1" as Bid;
    await once(store, session, bid, VACANT);
    await store.release({ session, holds: [{ name: NAME, bid }], endSession: false }, call);
    expect(await once(store, session, bid, VACANT)).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
    expect(await once(store, session, "a.2" as Bid, VACANT)).toMatchObject({ kind: "granted" });
  });

  it.each([SEAT, sessionKey("a")])("what was deleted by hand is waited for as if it were held: %s", async (key) => {
    const port = new MemoryPort();
    const store = new SwapStore(port, guarantee);
    const [held, rival] = [await opened(store, "a"), await opened(store, "b")];
    await once(store, held, "a.1" as Bid, VACANT);
    const read = port.read.bind(port);
    port.read = async (keys, asked) => {
      const found = await read(keys, asked);
      if (found.kind !== "found") return found;
      return { ...found, entries: found.entries.map((entry) => (entry?.key === key ? undefined : entry)) };
    };
    expect(await store.look([{ name: NAME }], call)).toMatchObject({ seats: [{ state: "missing", ttlMs: 1000 }] });
    expect(await once(store, rival, "b.1" as Bid, VACANT)).toMatchObject({
      kind: "beaten",
      seat: { state: "missing" },
    });
  });

  it("a claim one of whose swaps has no answer is unknown: it may have been applied", async () => {
    for (const lost of [SEAT, `count/${NAME}`]) {
      const port = new MemoryPort();
      const store = new SwapStore(port, guarantee);
      const session = await opened(store, "a");
      const swap = port.swap.bind(port);
      port.swap = async (key, ...rest) => {
        const swapped = await swap(key, ...rest);
        return key === lost ? unknown("the answer was lost") : swapped;
      };
      expect(await once(store, session, "a.1" as Bid, VACANT)).toMatchObject({ kind: "unknown" });
    }
  });
});

async function opened(store: SwapStore, id: string): Promise<Session> {
  const kept = await store.keep({ nonce: id, candidate: id, ttlMs: 1_000 }, [], call);
  if (kept.kind !== "kept") throw new Error(kept.kind);
  return kept.session;
}
