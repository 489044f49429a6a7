// Memos in etcd beside Go's candidates, and what only etcd can show: where they lie, and what a missing right does.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { createCandidate } from "conclave";
import {
  type FencedStore,
  type KeepsMemos,
  keepsMemos,
  type MemoWritten,
  type Version,
} from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { urlOf } from "./etcd.ts";
import { GoCandidate, queued } from "./etcdctl.ts";

const servers = useServers(etcdServer);
const running = new Set<GoCandidate>();
afterEach(async () => {
  await Promise.all([...running].map((each) => each.kill()));
  running.clear();
});

async function etcdctl(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: "3" };
  return (await promisify(execFile)("etcdctl", [`--endpoints=${servers().urls[0]}`, ...args], { env })).stdout;
}

it("etcdctl elect leads an election that has memos, and ours reads them all the while", async () => {
  await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
  const election = ours.election("mixed");
  const term = await election.campaign();
  await term.memo("step", "one");
  const theirs = new GoCandidate(servers().urls[0] ?? "", "elect", "mixed");
  running.add(theirs);
  await queued(servers().urls[0] ?? "", "mixed", 2);
  await term.memo("step", "two");
  await term.resign();
  await theirs.won();
  expect((await election.leader())?.id).toBe("go-1");
  expect(await election.memo("step")).toMatchObject({ value: "two", n: 2, token: term.token });
  const again = election.campaign();
  await queued(servers().urls[0] ?? "", "mixed", 2);
  await theirs.leave();
  const next = await again;
  await next.memo("step", "three");
  expect(await election.memo("step")).toMatchObject({ value: "three", n: 1, token: next.token });
});

it("a memo has no lease and lies below no election's name", async () => {
  await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
  const term = await ours.election("a/b").campaign();
  await term.memo("k/1", "v");
  const keys = (await etcdctl("get", "--prefix", ".conclave/", "--keys-only")).split("\n").filter((key) => key !== "");
  expect(keys).toContain(".conclave/memo/a%2Fb/k%2F1");
  expect((await etcdctl("get", "--prefix", "a/b/", "--keys-only")).trim().split("\n")).toHaveLength(1);
});

it.each([".conclave", "a/.conclave", ".conclave/memo"])("%s is no name for an election", async (name) => {
  await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
  await expect(ours.election(name).tryCampaign()).rejects.toThrow(/kept for conclave itself/);
});

it("a memo that somebody has written over by hand is refused, and the term goes on", async () => {
  await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
  const election = ours.election("by-hand");
  const term = await election.campaign();
  await term.memo("k", "v");
  await etcdctl("put", ".conclave/memo/by-hand/k", "not ours");
  await expect(term.memo("k", "w")).rejects.toMatchObject({ code: "STORE_FOREIGN_DATA" });
  await expect(election.memo("k")).rejects.toMatchObject({ code: "STORE_FOREIGN_DATA" });
  expect(term.isHeld()).toBe(true);
});

it("a key of somebody else among the memos is named, and not taken for a store that does not answer", async () => {
  const store = etcd(urlOf(servers())) as FencedStore as FencedStore & KeepsMemos;
  await etcdctl("put", ".conclave/memo/among/%zz", "not ours");
  expect(await store.readMemos("among", undefined, call())).toMatchObject({
    kind: "refused",
    code: "STORE_FOREIGN_DATA",
    message: expect.stringMatching(/memo\/among\/%zz is no memo/),
  });
  await store.close();
});

/** A store, a term in it, and a writer of its memos. */
async function desk(store: FencedStore & KeepsMemos, name: string) {
  const session = await open(store);
  const held = await hold(store, session, name);
  const write = (over: Version | undefined, n: number, value: string, key = "k"): Promise<MemoWritten> =>
    store.writeMemo({ session, hold: held, key, value, n, over }, call());
  const values = async (): Promise<readonly string[]> => {
    const read = await store.readMemos(name, undefined, call());
    return read.kind === "memos" ? read.memos.map(({ value }) => value) : [read.kind];
  };
  return { session, held, write, values };
}

function opened(): FencedStore & KeepsMemos {
  const store = etcd(urlOf(servers()));
  if (!keepsMemos(store)) throw new Error("etcd keeps memos");
  return store;
}

it("a memo of a term whose entry is gone is not written, nor one whose session has an entry anew", async () => {
  const store = opened();
  const { session, held, write, values } = await desk(store, "gone");
  const first = await write(undefined, 1, "a");
  if (first.kind !== "written") throw new Error(first.kind);
  await store.release({ session, holds: [held], endSession: false }, call());
  expect(await write(first.version, 2, "stale")).toEqual({ kind: "seat-lost" });
  await hold(store, session, "gone"); // the same key below the name, with another create revision
  expect(await write(first.version, 2, "stale")).toEqual({ kind: "seat-lost" });
  expect(await values()).toEqual(["a"]);
  await store.close();
});

it("a memo that comes late finds another revision, and changes nothing", async () => {
  const store = opened();
  const { write, values } = await desk(store, "late");
  const first = await write(undefined, 1, "a");
  if (first.kind !== "written") throw new Error(first.kind);
  expect((await write(first.version, 2, "b")).kind).toBe("written");
  expect((await write(first.version, 3, "c")).kind).toBe("conflict");
  expect((await write(undefined, 1, "a")).kind).toBe("conflict");
  expect(await values()).toEqual(["b"]);
  await store.close();
});

it("as many keys are kept as the guarantee says, and none more", async () => {
  const store = opened();
  const { write, values } = await desk(store, "many");
  const { keys = 0 } = store.guarantee.memos ?? {};
  for (let key = 0; key < keys; key++) expect((await write(undefined, 1, "v", `${key}`)).kind).toBe("written");
  expect(await write(undefined, 1, "v", "more")).toMatchObject({ kind: "refused", code: "STORE_FULL" });
  expect(await values()).toHaveLength(keys);
  await store.close();
});
