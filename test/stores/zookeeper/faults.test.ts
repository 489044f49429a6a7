// Three servers of ZooKeeper and three candidates, each on a host of its own, and what can happen to them. After every fault: no two held at one instant, tokens grew,
// and somebody leads again without help. Judged from outside by the log of what each did and when (src/testing/judge.ts).
import { expect, it } from "vitest";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { nowMs, sleep } from "../../support/processes.ts";
import { useEnsemble } from "../../support/contest.ts";
import { leaderOf, urlOf } from "./zookeeper.ts";

const TTL_MS = 4000;
/** Declared for a leader of the ensemble that stood still: until the watch has told the holder. */
const OVERLAP_MAX_MS = 1000;

const { contest, servers, placeOf } = useEnsemble(server, urlOf, { ttlMs: TTL_MS, drainMs: 300 });

function expectOneLeader(): void {
  const { overlaps, regressions, unread } = contest.verdict();
  expect({ overlaps, regressions, unread }).toEqual({ overlaps: [], regressions: [], unread: [] });
}

it("the leading candidate is stopped and goes on", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  leader.signal("SIGSTOP");
  expect(await contest.elected(at)).not.toBe(leader);
  leader.signal("SIGCONT");
  await leader.hears("resigned", at);
  expectOneLeader();
}, 60_000);

it("the leading candidate is cut off, packets dropped: it stops before another leads", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  placeOf(leader).cut();
  const stopped = await leader.hears("resigned", at);
  const next = await contest.elected(at);
  expect((await next.hears("elected", at)).at).toBeGreaterThan(stopped.at);
  expectOneLeader();
}, 60_000);

it("the leader of the ensemble is killed, and comes back", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  await member.kill();
  await sleep(2 * TTL_MS);
  await contest.leader();
  await member.restart();
  await contest.leader();
  expectOneLeader();
}, 60_000);

it("the leader of the ensemble is cut off from the other servers, not from the candidates", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  placeOf(member).cut(
    ...servers()
      .nodes.filter((node) => node !== member)
      .map(placeOf),
  );
  await sleep(2 * TTL_MS);
  await contest.leader();
  placeOf(member).heal();
  await sleep(TTL_MS);
  await contest.leader();
  expectOneLeader();
}, 60_000);

it("ZooKeeper is down as a whole for two ttl: nobody leads, then somebody does, without help", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  await Promise.all(servers().nodes.map((member) => member.kill()));
  const stopped = await leader.hears("resigned", at);
  expect(stopped.at - at).toBeLessThan(TTL_MS);
  await sleep(2 * TTL_MS - (nowMs() - at));
  const back = nowMs();
  await Promise.all(servers().nodes.map((member) => member.restart()));
  await contest.elected(back);
  expectOneLeader();
}, 90_000);

it("the leader of the ensemble is stopped for two ttl: an overlap is short, and ordered by the token", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  member.pause();
  await sleep(2 * TTL_MS);
  member.resume();
  await sleep(TTL_MS);
  await contest.leader();
  const { overlaps, regressions } = contest.verdict();
  expect(regressions).toEqual([]);
  for (const overlap of overlaps)
    expect(Number(/began ([\d.]+) ms/.exec(overlap)?.[1]), overlap).toBeLessThan(OVERLAP_MAX_MS);
}, 60_000);
