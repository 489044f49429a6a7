// Memos in etcd beside Go's candidates, and what only etcd can show: where they lie, and what a missing right does.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
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
