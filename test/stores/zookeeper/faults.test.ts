// Three servers of ZooKeeper and six candidates, each on a host of its own, and what can happen to them: three in a line and three in a race, so that every fault is tried on
// both shapes at once. After every fault: no two held at one instant, tokens grew, and somebody leads again without help. Judged from outside by the log of what each did and when
// (src/testing/judge.ts).
import { expect, it, vi } from "vitest";
import type { Call, Kept } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { nowMs, sleep } from "../../support/processes.ts";
import { type Contest, useContests } from "../../support/contest.ts";
import type { ServerNode } from "../../support/servers.ts";
import { leaderOf, urlOf, wordOf } from "./zookeeper.ts";

const TTL_MS = 4000;
/** Declared for a leader of the ensemble that stood still: until the watch has told the holder. */
const OVERLAP_MAX_MS = 1000;

const { contests, servers, placeOf } = useContests(
  server,
  [(all) => urlOf(all, { chroot: "/line" }), (all) => urlOf(all, { chroot: "/race", more: "&shape=race" })],
  { ttlMs: TTL_MS, drainMs: 300 },
);

/** For the line and for the race, at the same time. */
async function inBoth<A>(work: (contest: Contest) => Promise<A>): Promise<readonly A[]> {
  return await Promise.all(contests.map(work));
}

const bothLead = (): Promise<unknown> => inBoth((contest) => contest.leader());

function expectOneLeader(): void {
  for (const contest of contests) {
    const { overlaps, regressions, unread } = contest.verdict();
    expect({ overlaps, regressions, unread }).toEqual({ overlaps: [], regressions: [], unread: [] });
  }
}

it("the leading candidate is stopped and goes on", async () => {
  await inBoth(async (contest) => {
    const leader = await contest.leader();
    const at = nowMs();
    leader.signal("SIGSTOP");
    expect(await contest.elected(at)).not.toBe(leader);
    leader.signal("SIGCONT");
    await leader.hears("resigned", at);
  });
  expectOneLeader();
}, 60_000);

it("the leading candidate is cut off, packets dropped: it stops before another leads", async () => {
  await inBoth(async (contest) => {
    const leader = await contest.leader();
    const at = nowMs();
    placeOf(leader).cut();
    const stopped = await leader.hears("resigned", at);
    const next = await contest.elected(at);
    expect((await next.hears("elected", at)).at).toBeGreaterThan(stopped.at);
  });
  expectOneLeader();
}, 60_000);

it("the leader of the ensemble is killed, and comes back", async () => {
  await bothLead();
  const member = await leaderOf(servers());
  await member.kill();
  await sleep(2 * TTL_MS);
  await bothLead();
  await member.restart();
  await bothLead();
  expectOneLeader();
}, 60_000);

it("the leader of the ensemble is cut off from the other servers, not from the candidates", async () => {
  await bothLead();
  const member = await leaderOf(servers());
  placeOf(member).cut(
    ...servers()
      .nodes.filter((node) => node !== member)
      .map(placeOf),
  );
  await sleep(2 * TTL_MS);
  await bothLead();
  placeOf(member).heal();
  await sleep(TTL_MS);
  await bothLead();
  expectOneLeader();
}, 60_000);

it("ZooKeeper is down as a whole for two ttl: nobody leads, then somebody does, without help", async () => {
  const leaders = await inBoth((contest) => contest.leader());
  const at = nowMs();
  await Promise.all(servers().nodes.map((member) => member.kill()));
  for (const leader of leaders) expect((await leader.hears("resigned", at)).at - at).toBeLessThan(TTL_MS);
  await sleep(2 * TTL_MS - (nowMs() - at));
  const back = nowMs();
  await Promise.all(servers().nodes.map((member) => member.restart()));
  await inBoth((contest) => contest.elected(back));
  expectOneLeader();
}, 90_000);

it("two of three servers are away, and the third serves readers only: old sessions and new ones are refused and told so, until the majority is back", async () => {
  // Beside many other tests a leader may lose its term before the servers are killed, and resigns then.
  const at = nowMs();
  const leaders = await inBoth((contest) => contest.leader());
  const [last, ...others] = servers().nodes as [ServerNode, ...ServerNode[]];
  const store = zookeeper(urlOf(servers(), { only: [last.url] }));
  const call = (): Call => ({ signal: AbortSignal.timeout(8000), sentAtMs: performance.now() });
  const begin = (nonce: string): Promise<Kept> => store.keep({ nonce, candidate: "old", ttlMs: TTL_MS }, [], call());
  const old = await begin("before");
  if (old.kind !== "kept") throw new Error(`no session: ${old.kind}`);
  await Promise.all(others.map((member) => member.kill()));
  await asReader(last);
  expect(await wordOf(last.url, "srvr")).toMatch(/^Mode: read-only$/m);
  const refused = { kind: "refused", code: "STORE_UNREACHABLE", retryable: true };
  const message = expect.stringMatching(/no majority, and is read-only.*It is tried again/) as string;
  expect(await store.keep(old.session, [], call())).toMatchObject({ ...refused, message });
  expect(await begin("meanwhile")).toMatchObject({ ...refused, message });
  for (const leader of leaders) await leader.hears("resigned", at);
  const back = nowMs();
  await Promise.all(servers().nodes.map((member) => member.restart()));
  await inBoth((contest) => contest.elected(back));
  expect((await begin("after")).kind).toBe("kept");
  await store.close();
  expectOneLeader();
}, 90_000);

/** Starts it again as one that goes on without a majority, for those who only read. It is ready when it does. */
async function asReader(member: ServerNode): Promise<void> {
  vi.stubEnv("JAVA_TOOL_OPTIONS", "-Dreadonlymode.enabled=true");
  try {
    await member.restart();
  } finally {
    vi.unstubAllEnvs();
  }
}

it("the leader of the ensemble is stopped for two ttl: an overlap is short, and ordered by the token", async () => {
  await bothLead();
  const member = await leaderOf(servers());
  member.pause();
  await sleep(2 * TTL_MS);
  member.resume();
  await sleep(TTL_MS);
  await bothLead();
  for (const contest of contests) {
    const { overlaps, regressions } = contest.verdict();
    expect(regressions).toEqual([]);
    for (const overlap of overlaps)
      expect(Number(/began ([\d.]+) ms/.exec(overlap)?.[1]), overlap).toBeLessThan(OVERLAP_MAX_MS);
  }
}, 60_000);
