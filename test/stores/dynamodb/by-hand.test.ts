// What the driver answers when something comes between its requests, or to one of several: with a client in the hand of the test, so that no server is needed.
import { expect, it, vi } from "vitest";
import { type FencedStore, type Hold, type KeepsMemos, keepsMemos } from "conclave/stores/contract";
import { type DynamoClient, dynamodb, lockClient } from "conclave/stores/dynamodb";
import type { DynamoTable, Item } from "../../../src/clients/dynamodb/client.ts";
import { Desk } from "../../../src/stores/dynamodb/desk.ts";
import { call, claim, hold, open } from "../moves.ts";
import { ModelClient } from "./model-client.ts";

const STAMP = "00000000-0000-4000-8000-000000000000";
let drawsOneStamp = false;
vi.mock(import("../../../src/clients/random.ts"), async (original) => {
  const real = await original();
  return { ...real, freshId: () => (drawsOneStamp ? STAMP : real.freshId()) };
});

interface Asked {
  readonly constructor: { readonly name: string };
  readonly input: {
    readonly Key?: Readonly<Record<string, { readonly S: string }>>;
    readonly UpdateExpression?: string;
  };
}

/** `meddle` runs before each request. */
function meddled(inner: DynamoClient, meddle: (asked: Asked) => Promise<void>): DynamoClient {
  return {
    send: async (command, options) => {
      await meddle(command);
      return await inner.send(command, options);
    },
  };
}

const modelled = (client: DynamoClient): FencedStore & KeepsMemos => {
  const store = dynamodb(client, { table: "model" });
  if (!keepsMemos(store)) throw new Error("it keeps memos");
  return store;
};

it("an opening that comes after the end of its session opens nothing", async () => {
  const store = modelled(new ModelClient());
  const spec = { nonce: "n", candidate: "a", ttlMs: 9_000 };
  const session = await open(store);
  await store.release({ session: { ...session, id: "n" }, holds: [], endSession: true }, call());
  expect(await store.keep(spec, [], call())).toEqual({ kind: "session-lost" });
  await store.release({ session, holds: [], endSession: true }, call());
  expect(await store.keep({ ...spec, nonce: session.id }, [], call())).toEqual({ kind: "session-lost" });
});

it("a claim that finds its own seat, and is overtaken by a taker before it has written its value, is not granted", async () => {
  const model = new ModelClient();
  const others = modelled(model);
  let isTaken = false;
  const client = meddled(model, async ({ constructor, input }) => {
    if (isTaken || constructor.name !== "UpdateItemCommand" || input.Key?.["key"]?.S !== "seat/x") return;
    if (!/^SET #value = :set_value, #stamp = :set_stamp$/.test(input.UpdateExpression ?? "")) return;
    isTaken = true;
    expect(await claim(others, await open(others), "x")).toMatchObject({
      kind: "granted",
      hold: { token: { value: 2n } },
    });
  });
  const store = modelled(client);
  const session = await open(store);
  const { bid } = await hold(store, session, "x");
  const looked = await store.look([{ name: "x" }], call());
  const over = looked.kind === "seen" ? looked.seats[0]?.version : undefined;
  const [answer] = await modelled(client).claim([{ session, name: "x", bid, over, value: "here" }], call());
  expect(isTaken).toBe(true);
  expect(answer?.kind).not.toBe("granted");
});

it("a client of our own sends nothing twice: what stands there with the stamp of its write is a copy's, and no success", async () => {
  drawsOneStamp = true;
  const standing: Item = { key: { S: "k" }, stamp: { S: STAMP } };
  const where = { table: "t", isBorrowed: false };
  const swap = { key: "k", condition: "#stamp = :over", values: { ":over": { S: "before" } }, set: {} };
  for (const isOwn of [true, false]) {
    const table = { isOwn, change: async () => ({ kind: "conflict", item: standing }) } as unknown as DynamoTable;
    expect((await new Desk(table, where).swap(swap, call())).kind).toBe(isOwn ? "conflict" : "written");
  }
  drawsOneStamp = false;
});

it("a session that is over writes no memo, although nobody has written over its seat yet", async () => {
  const store = modelled(new ModelClient());
  const session = await open(store);
  const mine = await hold(store, session, "x");
  const write = { session, hold: mine, key: "k", value: "v", n: 1, over: undefined };
  await store.release({ session, holds: [], endSession: true }, call());
  expect(await store.writeMemo(write, call())).toEqual({ kind: "session-lost" });
  expect(await store.readMemos("x", "k", call())).toEqual({ kind: "memos", memos: [] });
});

it("in the layout of the lock client a record whose renewal was not answered is unsure, beside one that was renewed", async () => {
  const client: DynamoClient = {
    send: async (command) => {
      if ((command as unknown as Asked).input.Key?.["key"]?.S === "b") throw new Error("socket hang up");
      return {};
    },
  };
  const store = lockClient(client, { table: "model" });
  const session = { id: "s", candidate: "c", ttlMs: 9_000 };
  const [a, b] = ["a", "b"].map((name) => ({ name, bid: `${name}.1` }) as unknown as Hold) as [Hold, Hold];
  expect(await store.keep(session, [a, b], call())).toMatchObject({ kind: "kept", lost: [], unsure: [b] });
  expect(await store.keep(session, [b], call())).toMatchObject({ kind: "unknown" });
});
