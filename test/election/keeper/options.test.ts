// What `keeper` refuses, before anything is sent or started: each with what is wrong and what to do.
import { expect, it, vi } from "vitest";
import { createCandidate, type KeeperOptions } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { memory } from "conclave/stores/memory";
import { postgres } from "conclave/stores/postgres";
import { sqlite } from "conclave/stores/sqlite";
import { problemsOfKeeper } from "../../../src/election/keeper-options.ts";

// Not built: there is no such file beside src. What runs is tested in killed.test.ts.
vi.mock("../../../src/election/helper-path.ts", () => ({
  helperPath: (folder: string, name: string) => `${folder}/${name}.js`,
}));

const FENCED = { effectsAreFenced: true } as const;
const store = etcd("etcd://nowhere:1");

function refusalOf(given: FencedStore, keeper: unknown): string {
  try {
    createCandidate({ store: given, keeper: keeper as KeeperOptions });
    return "";
  } catch (error) {
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    return (error as Error).message;
  }
}

it("takes each of the two ways to speak for what is still on its way", () => {
  expect(refusalOf(store, FENCED)).toBe("");
  expect(refusalOf(store, { quietMs: 0 })).toBe("");
  expect(refusalOf(store, { quietMs: 8000, noChildren: true })).toBe("");
});

it.each([
  ["nothing said", {}, "Say effectsAreFenced: true if all that it and its children write to compares tokens"],
  ["false is nothing said", { effectsAreFenced: false }, "Say effectsAreFenced: true"],
  ["both said", { ...FENCED, quietMs: 1 }, "keeper has both"],
  ["too long a silence", { quietMs: 8001 }, "from 0 to 8000"],
  ["no number", { quietMs: "3s" }, "from 0 to 8000"],
  ["a word that is none", { ...FENCED, quiet: 1 }, "keeper.quiet is not an option"],
  ["no object", true, "is not { effectsAreFenced: true } or { quietMs: … }"],
])("refuses: %s", (_what, keeper, message) => {
  expect(refusalOf(store, keeper)).toContain(message);
});

it("refuses a store that no other process can open again", () => {
  const pool = postgres({ query: async () => ({ rows: [] }), connect: async () => {}, end: async () => {} } as never);
  expect(refusalOf(pool, FENCED)).toContain("a client that you made");
  expect(refusalOf(memory(), FENCED)).toContain("is inside this process");
  expect(refusalOf(sqlite(":memory:"), FENCED)).toContain("is inside this process");
  const borrowed = { ...around(store), isBorrowed: true };
  expect(refusalOf(borrowed, FENCED)).toContain("a database that you opened");
});

it("refuses effects that cannot be fenced, and takes a silence instead", () => {
  const unfenced = { ...around(store), guarantee: { ...store.guarantee, fencing: "unfenced" as const } };
  expect(problemsOfKeeper(FENCED, unfenced)).toEqual([expect.stringContaining("gives no tokens")]);
  expect(problemsOfKeeper({ quietMs: 1000 }, unfenced)).toEqual([]);
});

it("refuses a system that does not show children, unless there are none; and one that shows no start times", () => {
  expect(problemsOfKeeper(FENCED, store, "darwin")).toEqual([expect.stringContaining("Say noChildren: true")]);
  expect(problemsOfKeeper({ ...FENCED, noChildren: true }, store, "darwin")).toEqual([]);
  expect(problemsOfKeeper(FENCED, store, "win32")).toEqual([expect.stringContaining("Windows")]);
});

it("marks what this process starts, once", () => {
  expect(process.env["CONCLAVE_MARKS"]?.match(/app:-:[0-9a-f]{16}/g)).toHaveLength(1);
});

function around(given: FencedStore): FencedStore & { readonly url: string } {
  const methods = ["keep", "claim", "release", "look", "watch", "close"] as const;
  const bound = Object.fromEntries(methods.map((name) => [name, given[name].bind(given)]));
  return { guarantee: given.guarantee, url: "etcd://nowhere:1", ...bound } as unknown as FencedStore & { url: string };
}
