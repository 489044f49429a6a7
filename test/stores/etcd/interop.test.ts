// One election, two implementations: Go's `concurrency.Election` (`etcdctl elect`) and `Mutex` (`etcdctl lock`) wait for ours, and ours for them, in one line.
import { afterEach, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import type { ShowsNodeless } from "conclave/stores/contract";
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

function go(kind: "elect" | "lock", name: string, value?: string): GoCandidate {
  const candidate = new GoCandidate(servers().urls[0] ?? "", kind, name, value);
  running.add(candidate);
  return candidate;
}

/** Long enough for one that wrongly thinks that it leads to say so. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 400));
const standing = (name: string, count: number): Promise<void> => queued(servers().urls[0] ?? "", name, count);

describe.each(["elect", "lock"] as const)("etcdctl %s", (kind) => {
  it("waits for our leader, and leads when ours resigns", async () => {
    await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
    const term = await ours.election(`turns-a-${kind}`).campaign();
    const theirs = go(kind, `turns-a-${kind}`);
    await standing(`turns-a-${kind}`, 2);
    await settle();
    expect(theirs.hasWon).toBe(false);
    expect(term.isHeld()).toBe(true);
    await term.resign();
    await theirs.won();
    expect(term.isHeld()).toBe(false);
  });

  it("is waited for by ours, which leads when it leaves, with a greater token", async () => {
    const name = `turns-b/${kind}`;
    const theirs = go(kind, name);
    await theirs.won();
    await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
    const campaign = ours.election(name).campaign();
    await standing(name, 2);
    const shown = await ours.election(name).leader();
    expect(shown?.id).toBe(kind === "elect" ? "go-1" : theirs.key.slice(`${name}/`.length));
    await theirs.leave();
    const term = await campaign;
    expect(term.token.value).toBeGreaterThan(shown?.token ?? 0n);
  });
});

it("an etcdctl that is killed is waited for until its lease has run out", async () => {
  const theirs = go("lock", "killed");
  await theirs.won();
  await using ours = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000 });
  const campaign = ours.election("killed").campaign();
  await theirs.kill();
  expect((await campaign).isHeld()).toBe(true);
});

it("a line of four, theirs and ours mixed, is served in the order of joining", async () => {
  const name = "mixed";
  const store = etcd(urlOf(servers()));
  await using first = createCandidate({ store, id: "ours-1", ttlMs: 5000 });
  await using third = createCandidate({ store, id: "ours-3", ttlMs: 5000 });
  const order: string[] = [];
  const term1 = await first.election(name).campaign();
  const second = go("elect", name, "go-2");
  await standing(name, 2);
  const waiting3 = third
    .election(name)
    .campaign()
    .then((term) => {
      order.push("ours-3");
      return term;
    });
  await standing(name, 3);
  const fourth = go("lock", name);
  await standing(name, 4);
  await settle();
  expect([second.hasWon, order, fourth.hasWon]).toEqual([false, [], false]);
  await term1.resign();
  await second.won();
  await settle();
  expect([order, fourth.hasWon]).toEqual([[], false]);
  await second.leave();
  const term3 = await waiting3;
  await settle();
  expect(fourth.hasWon).toBe(false);
  await term3.resign();
  await fourth.won();
});

it("names that are prefixes of each other are elections of their own", async () => {
  const store = etcd(urlOf(servers()));
  await using candidate = createCandidate({ store, ttlMs: 5000 });
  await using other = createCandidate({ store, ttlMs: 5000 });
  const longer = await candidate.election("nested/a").campaign();
  const deepest = await candidate.election("nested/a/b").campaign();
  const shorter = await other.election("nested").campaign();
  const middle = other.election("nested/a").campaign();
  expect([longer, deepest, shorter].map((term) => term.isHeld())).toEqual([true, true, true]);
  await longer.resign();
  expect((await middle).isHeld()).toBe(true);
  expect((await candidate.election("nested").leader())?.id).toBe(shorter.candidate);
});

it("one that waits behind ours is shown as one that obeys no ban, and so is one of ours without a node", async () => {
  const store = etcd(urlOf(servers())) as ReturnType<typeof etcd> & ShowsNodeless;
  await using ours = createCandidate({ store, ttlMs: 5000, node: "db-1" });
  await using nodeless = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 5000, id: "nodeless" });
  const shown = (name: string): Promise<unknown> =>
    store.showNodeless(name, { signal: AbortSignal.timeout(10_000), sentAtMs: 0 });
  await ours.election("shown").campaign();
  expect(await shown("shown")).toEqual({ kind: "nodeless", candidates: [] });
  go("elect", "shown", "go-7");
  await standing("shown", 2);
  expect(await shown("shown")).toEqual({ kind: "nodeless", candidates: ["go-7"] });
  const waiting = new AbortController();
  const campaign = nodeless.election("shown").campaign({ signal: waiting.signal });
  await standing("shown", 3);
  expect(await shown("shown")).toEqual({ kind: "nodeless", candidates: ["go-7", expect.stringContaining("nodeless")] });
  expect(await shown("shown/longer")).toEqual({ kind: "nodeless", candidates: [] });
  waiting.abort();
  await campaign.catch(() => {});
});
