// What a handle remembers of a table between two calls, and what it leaves for others to remove: requests are saved by it, and nothing is decided by it alone. Several handles on
// one table of the model, each as a process of its own has it.
import { beforeEach, describe, expect, it } from "vitest";
import { type Bid, type Claimed, type FencedStore, type Session, VACANT } from "conclave/stores/contract";
import { dynamodb, type DynamoClient } from "conclave/stores/dynamodb";
import { call, claim, hold, open } from "../moves.ts";
import { ModelClient } from "./model-client.ts";

const NAME = "billing";
const SEAT = `seat/${NAME}`;

class CountingClient implements DynamoClient {
  readonly #inner: ModelClient;
  #verbs: string[] = [];

  constructor(inner: ModelClient) {
    this.#inner = inner;
  }

  send(command: never): Promise<unknown> {
    this.#verbs.push((command as object).constructor.name.replace("Command", ""));
    return this.#inner.send(command);
  }

  /** What was asked since the last time. */
  verbs(): readonly string[] {
    return this.#verbs.splice(0);
  }
}

let table: ModelClient;
let client: CountingClient;
let store: FencedStore;
beforeEach(() => {
  table = new ModelClient();
  client = new CountingClient(table);
  store = dynamodb(client, { table: "model" });
});

const another = (): FencedStore => dynamodb(table, { table: "model" });
const vacant = async (session: Session, bid: string): Promise<Claimed | undefined> =>
  (await store.claim([{ session, name: NAME, bid: bid as Bid, over: VACANT, value: "" }], call()))[0];
const give = async (at: FencedStore, session: Session, bid: string, endSession = false): Promise<void> => {
  const holds = [{ name: NAME, bid: bid as Bid }];
  expect(await at.release({ session, holds, endSession }, call())).toEqual({ kind: "released" });
};

describe("a seat that this process has given back", () => {
  it("is taken again by one write, with the next token", async () => {
    const session = await open(store);
    for (let n = 1; n <= 3; n++) {
      client.verbs();
      expect(await vacant(session, `b.${n}`)).toMatchObject({ kind: "granted", hold: { token: { value: BigInt(n) } } });
      if (n > 1) expect(client.verbs()).toEqual(["UpdateItem"]);
      await give(store, session, `b.${n}`);
    }
    expect(await store.look([{ name: NAME }], call())).toMatchObject({ seats: [{ state: "vacant" }] });
  });

  it("and that another holds by now is not taken", async () => {
    const [session, rival] = [await open(store), another()];
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    const theirs = await hold(rival, await open(rival), NAME);
    expect(await vacant(session, "b.2")).toMatchObject({ kind: "beaten", seat: { holder: { bid: theirs.bid } } });
  });

  it("and that another has held meanwhile is taken with a token above theirs", async () => {
    const [session, rival] = [await open(store), another()];
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    const theirSession = await open(rival);
    const theirs = await hold(rival, theirSession, NAME);
    await rival.release({ session: theirSession, holds: [theirs], endSession: false }, call());
    expect(theirs.token?.value).toBe(2n);
    expect(await vacant(session, "b.2")).toMatchObject({ kind: "granted", hold: { token: { value: 3n } } });
  });

  it("and that was deleted since is waited for, as if it were held", async () => {
    const session = await open(store);
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    table.items.delete(SEAT);
    expect(await vacant(session, "b.2")).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
  });

  it("is not granted to the bid that gave it back: that claim comes late", async () => {
    const session = await open(store);
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    expect(await vacant(session, "b.1")).toMatchObject({ kind: "beaten", seat: { state: "vacant" } });
  });

  it("is not taken by a session that was ended here, or found to be over", async () => {
    const ended = await open(store);
    await vacant(ended, "b.1");
    await give(store, ended, "b.1");
    await store.release({ session: ended, holds: [], endSession: true }, call());
    expect(await vacant(ended, "b.2")).toEqual({ kind: "session-lost" });
    const over = await open(store);
    expect(await vacant(over, "b.3")).toMatchObject({ kind: "granted" });
    await give(store, over, "b.3");
    await another().release({ session: over, holds: [], endSession: true }, call());
    expect(await store.keep(over, [], call())).toEqual({ kind: "session-lost" });
    expect(await vacant(over, "b.4")).toEqual({ kind: "session-lost" });
    expect(table.items.get(SEAT)?.["vacant"]).toEqual({ BOOL: true });
  });

  it("is read by another session of the same process: its name remembers the longer ttl", async () => {
    const [short, long] = [await open(store, 5_000), await open(store, 60_000)];
    await vacant(short, "b.1");
    await give(store, short, "b.1");
    expect(await vacant(long, "b.2")).toMatchObject({ kind: "granted" });
    table.items.delete(SEAT);
    expect(await store.look([{ name: NAME }], call())).toMatchObject({ seats: [{ state: "missing", ttlMs: 60_000 }] });
  });

  it("is taken over a version that a look has shown, and over no other", async () => {
    const session = await open(store);
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    const [stale] = await store.claim(
      [{ session, name: NAME, bid: "b.2" as Bid, over: "free:other" as never, value: "" }],
      call(),
    );
    expect(stale).toMatchObject({ kind: "beaten" });
    expect(await claim(store, session, NAME)).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
  });

  it("is one of many that are claimed together, and each claim gets its own answer", async () => {
    const session = await open(store);
    await vacant(session, "b.1");
    await give(store, session, "b.1");
    const names = ["a", NAME, "c"];
    const claims = names.map((name) => ({ session, name, bid: `all.${name}` as Bid, over: VACANT, value: "" }));
    const claimed = await store.claim(claims, call());
    expect(claimed.map((each) => (each.kind === "granted" ? each.hold.name : each.kind))).toEqual(names);
  });
});

describe("a look", () => {
  it("reads seat and session by one request once it knows whose session it is, also when that changes", async () => {
    const rival = another();
    const [first, second] = [await open(rival), await open(rival)];
    const mine = await hold(rival, first, NAME);
    await store.look([{ name: NAME }], call());
    client.verbs();
    expect(await store.look([{ name: NAME }], call())).toMatchObject({ seats: [{ state: "held" }] });
    expect(client.verbs()).toEqual(["BatchGetItem"]);
    await rival.release({ session: first, holds: [mine], endSession: false }, call());
    const theirs = await hold(rival, second, NAME);
    const shown = await store.look([{ name: NAME }], call());
    expect(shown).toMatchObject({ seats: [{ state: "held", holder: { bid: theirs.bid } }] });
    await rival.release({ session: second, holds: [], endSession: true }, call());
    expect(await store.look([{ name: NAME }], call())).toMatchObject({ seats: [{ state: "vacant" }] });
  });
});

describe("the item of a session", () => {
  const goneAt = (key: string): number => Number(table.items.get(key)?.["goneAt"]?.N);
  const DAY = 86_400;

  it("may be removed a day after its ttl has run out, and each renewal puts that off; no seat and no name may be", async () => {
    const from = Date.now() / 1000;
    const session = await open(store, 30_000);
    const key = `session/${session.id}`;
    expect(goneAt(key)).toBeGreaterThanOrEqual(from + 30 + DAY);
    table.items.set(key, { ...table.items.get(key), goneAt: { N: "1" } });
    const mine = await hold(store, session, NAME);
    await store.keep(session, [mine], call());
    expect(goneAt(key)).toBeGreaterThanOrEqual(from + 30 + DAY);
    table.items.set(key, { ...table.items.get(key), goneAt: { N: "1" } });
    await give(store, session, mine.bid, true);
    expect(goneAt(key)).toBeGreaterThanOrEqual(from + 30 + DAY);
    expect(goneAt(key)).toBeLessThan(from + 2 * DAY);
    const others = [...table.items].filter(([each]) => !each.startsWith("session/"));
    expect(others.map(([each]) => each).toSorted()).toEqual([`name/${NAME}`, SEAT]);
    for (const [, item] of others) expect(item).not.toHaveProperty("goneAt");
  });

  it("has that also where a taker has ended it, or where it was ended before it was opened", async () => {
    const [silent, taker] = [await open(store), await open(store)];
    await hold(store, silent, NAME);
    table.items.set(`session/${silent.id}`, { ...table.items.get(`session/${silent.id}`), goneAt: { N: "1" } });
    expect((await claim(store, taker, NAME)).kind).toBe("granted");
    expect(goneAt(`session/${silent.id}`)).toBeGreaterThan(Date.now() / 1000 + DAY);
    const never = { id: "never", candidate: "web", ttlMs: 9_000 };
    await store.release({ session: never, holds: [], endSession: true }, call());
    expect(goneAt("session/never")).toBeGreaterThan(Date.now() / 1000 + DAY);
  });

  it("is gone, and its holder has lost the term; rivals wait for its ttl, and the token grows", async () => {
    const [holder, rival] = [await open(store, 7_000), await open(store)];
    const mine = await hold(store, holder, NAME);
    table.items.delete(`session/${holder.id}`);
    expect(await store.keep(holder, [mine], call())).toEqual({ kind: "session-lost" });
    const [seat] = await store.look([{ name: NAME }], call()).then((seen) => (seen.kind === "seen" ? seen.seats : []));
    expect(seat).toMatchObject({ state: "missing", ttlMs: 7_000 });
    expect(await vacant(rival, "b.9")).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
    expect(await claim(store, rival, NAME)).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
  });
});
