// What passes between a candidate and its store when there is a keeper: what the keeper is told, and in which order with what is sent.
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, it, vi } from "vitest";
import {
  asBid,
  type Call,
  type Claim,
  type Kept,
  type Released,
  type Session,
  type Store,
} from "conclave/stores/contract";
import { keptStore } from "../../../src/election/kept-store.ts";

const { done, link } = vi.hoisted(() => {
  const done: string[] = [];
  let keys = 0;
  const note =
    (what: string) =>
    (...args: readonly unknown[]): void =>
      void done.push(`${what} ${args.map((each) => JSON.stringify(each)).join(" ")}`);
  const link = {
    release: undefined as (() => void) | undefined,
    attach: () => () => void done.push("detach"),
    begin: () => done.push("begin"),
    open: ({ session, life, quietMs }: { session: Session; life?: { file: string }; quietMs: number }) => {
      done.push(`open ${session.id} ${life?.file.split("/").at(-1) ?? "-"} ${quietMs}`);
      return ++keys;
    },
    holds: () => new Promise<void>((resolve) => (link.release = resolve)),
    beats: note("beats"),
    claimed: note("claimed"),
    returned: note("returned"),
    over: note("over"),
    reset: () => void (keys = 0),
  };
  return { done, link };
});
vi.mock("../../../src/keeper/link.ts", async (original) => ({
  ...(await original<object>()),
  AppKeeperLink: function AppKeeperLink() {
    return link;
  },
}));
vi.mock("../../../src/election/helper-path.ts", () => ({ helperPath: () => "keeper.js" }));

const folder = mkdtempSync(path.join(tmpdir(), "conclave-kept-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  done.length = 0;
  link.reset();
  link.release = undefined;
});

const session = (id: string, beats?: readonly string[]): Session => ({ id, candidate: "c", ttlMs: 1000, beats });
const call = (signal = new AbortController().signal): Call => ({ signal, sentAtMs: 0 });
const claims: readonly Claim[] = [{ session: session("1"), name: "a", bid: asBid("1.1"), value: "" }];

/** Answers a keep with what `keeps` has next. */
function storeWith(keeps: Kept[], life?: string): Store {
  const descriptor = life === undefined ? undefined : fileAt(life);
  const store = {
    guarantee: { fencing: "fenced" },
    url: "x:",
    keep: async () => keeps.shift() ?? { kind: "session-lost" },
    claim: async () => (done.push("sent: claim"), [{ kind: "session-lost" }]),
    release: async () => ({ kind: "released" }),
    other() {
      return this.url;
    },
    ...(life === undefined ? {} : { lifeDescriptor: async () => descriptor, lifeFile: () => life }),
  };
  return store as unknown as Store;
}

function fileAt(name: string): number {
  const file = path.join(folder, name);
  writeFileSync(file, "");
  return openSync(file, "r");
}

const opened = (id: string, beats?: readonly string[]): Kept => ({
  kind: "kept",
  session: session(id, beats),
  lost: [],
  unsure: [],
  strays: [],
});
const spec = { nonce: "n", candidate: "c", ttlMs: 1000 };

it("tells of a session when it is opened, of a claim before it is sent, and of what was given back after that", async () => {
  const kept = keptStore(storeWith([opened("1"), opened("2")]), 500, () => {});
  const { store } = kept;
  await store.keep(spec, [], call());
  await store.claim(claims, call());
  await store.release({ session: session("1"), holds: [{ name: "a", bid: asBid("1.1") }], endSession: false }, call());
  await store.keep(spec, [], call());
  await store.release({ session: session("1"), holds: [], endSession: true }, call());
  await store.release({ session: session("2"), holds: [], endSession: true }, call());
  kept.end();
  const hold = '[{"name":"a","bid":"1.1"}]';
  expect(done).toEqual([
    "begin",
    "open 1 - 500",
    `claimed 1 ${hold}`,
    "sent: claim",
    `returned 1 ${hold}`,
    "over 1",
    "open 2 - 500",
    "over 2",
    "detach",
  ]);
});

it("what the store has not said to be given back stays with the keeper, and so does what another session gave back", async () => {
  const answering = storeWith([opened("1")]);
  const answers: Released[] = [{ kind: "unknown", cause: new Error("no answer") }, { kind: "released" }];
  const { store } = keptStore({ ...answering, release: async () => answers.shift() as Released }, 0, () => {});
  await store.keep(spec, [], call());
  const holds = [{ name: "a", bid: asBid("1.1") }];
  await store.release({ session: session("1"), holds, endSession: false }, call());
  await store.release({ session: session("another"), holds, endSession: true }, call());
  expect(done).toEqual(["begin", "open 1 - 0"]);
});

it("sends no claim before the keeper holds what rivals watch", async () => {
  const { store } = keptStore(storeWith([opened("1")], "life"), 0, () => {});
  await store.keep(spec, [], call());
  const claimed = store.claim(claims, call());
  await new Promise(setImmediate);
  expect(done).toEqual(["open 1 life 0", 'claimed 1 [{"name":"a","bid":"1.1"}]']);
  link.release?.();
  expect(await claimed).toEqual([{ kind: "session-lost" }]);
  expect(done.at(-1)).toBe("sent: claim");
});

it("a claim that was given up before that is not sent any more", async () => {
  const { store } = keptStore(storeWith([opened("1")], "life"), 0, () => {});
  await store.keep(spec, [], call());
  const gone = new AbortController();
  const claimed = store.claim(claims, call(gone.signal));
  gone.abort();
  expect(await claimed).toMatchObject([{ kind: "unknown", cause: { code: "KEEPER_LOST" } }]);
  link.release?.();
  await new Promise(setImmediate);
  expect(done).not.toContain("sent: claim");
});

it("tells the beats of a keep before it is sent, and those of a thread; a lost session is over", async () => {
  const { store, beats } = keptStore(storeWith([opened("1", ["a"]), opened("1")]), 0, () => {});
  await store.keep(spec, [], call());
  await store.keep(session("1", ["a", "b"]), [], call());
  beats.sending(["b", "c"]);
  beats.told("d");
  await store.keep(session("1"), [], call());
  beats.told("e");
  expect(done.slice(1)).toEqual([
    "open 1 - 0",
    'beats 1 ["a","b"]',
    'beats 1 ["b","c"]',
    'beats 1 ["b","c","d"]',
    "over 1",
  ]);
});

it("a late answer to a keep of an older session does not bring that back", async () => {
  const { store } = keptStore(storeWith([opened("1"), opened("2"), opened("1")]), 0, () => {});
  await store.keep(spec, [], call());
  await store.keep(spec, [], call());
  await store.keep(session("1"), [], call());
  await store.claim(claims, call());
  expect(done.slice(1)).toEqual([
    "open 1 - 0",
    "over 1",
    "open 2 - 0",
    'claimed 2 [{"name":"a","bid":"1.1"}]',
    "sent: claim",
  ]);
});

it("leaves alone what else the store can do", () => {
  const { store } = keptStore(storeWith([]), 0, () => {});
  expect((store as unknown as { other(): string }).other()).toBe("x:");
});
