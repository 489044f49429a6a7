// Three members of etcd and three candidates, each on a host of its own, and what can happen to them. After every fault: no two held at one instant, tokens grew,
// and somebody leads again without help. Judged from outside by the log of what each did and when (src/testing/judge.ts).
// A paused member, and a stalled disk (test/incidents/stalled-disk.test.ts), are what etcd before 3.4.31 is declared to get wrong: there the overlap is bounded
// by how fast the holder's watch tells it, and the token orders it.
import { expect, it } from "vitest";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { nowMs, type Player, sleep } from "../../support/processes.ts";
import { useEnsemble } from "../../support/contest.ts";
import { leaderOf, urlOf } from "./etcd.ts";

const TTL_MS = 3000;
/** Declared for etcd 3.4.23: until the watch has told the holder. Much more than seen (a few ms), because machines are busy. */
const OVERLAP_MAX_MS = 1000;

const { contest, servers, placeOf, join } = useEnsemble(etcdServer, urlOf, { ttlMs: TTL_MS, drainMs: 300 });

/** Overlaps of the log that a test has found to be within what is declared. */
let declared = 0;

/** What holds after every fault. */
function expectOneLeader(): void {
  const { overlaps, regressions, unread } = contest.verdict();
  expect({ overlaps: overlaps.slice(declared), regressions, unread }).toEqual({
    overlaps: [],
    regressions: [],
    unread: [],
  });
}

function expectBounded(): void {
  const { overlaps, regressions } = contest.verdict();
  expect(regressions).toEqual([]);
  for (const overlap of overlaps)
    expect(Number(/began ([\d.]+) ms/.exec(overlap)?.[1]), overlap).toBeLessThan(OVERLAP_MAX_MS);
}

it("the leading candidate is killed", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  await leader.kill();
  await contest.elected(at);
  expectOneLeader();
  contest.players.splice(contest.players.indexOf(leader), 1, await again(leader));
}, 60_000);

async function again(player: Player): Promise<Player> {
  const joined = await join(`${player.id}b`, placeOf(player));
  contest.players.pop();
  return joined;
}

it("the leading candidate is stopped and goes on", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  leader.signal("SIGSTOP");
  const next = await contest.elected(at);
  expect(next).not.toBe(leader);
  leader.signal("SIGCONT");
  await leader.hears("resigned", at);
  await sleep(500);
  expectOneLeader();
}, 60_000);

it("the leading candidate is cut off, packets dropped: it stops at its deadline, and stands again when the network is back", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  placeOf(leader).cut();
  const stopped = await leader.hears("resigned", at);
  const next = await contest.elected(at);
  const elected = await next.hears("elected", at);
  expect(elected.at).toBeGreaterThan(stopped.at);
  placeOf(leader).heal();
  const healed = nowMs();
  next.tell("resign");
  await contest.elected(healed);
  next.tell("stand");
  expectOneLeader();
}, 60_000);

it("etcd's leader is killed, and comes back", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  await member.kill();
  await sleep(2 * TTL_MS);
  await contest.leader();
  await member.restart();
  await contest.leader();
  expectOneLeader();
}, 60_000);

it("etcd's leader is paused for two ttl", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  member.pause();
  await sleep(2 * TTL_MS);
  member.resume();
  await sleep(TTL_MS);
  await contest.leader();
  expectBounded();
  declared = contest.verdict().overlaps.length;
}, 60_000);

it("etcd's leader is cut off from the other members, not from the candidates", async () => {
  await contest.leader();
  const member = await leaderOf(servers());
  const others = servers()
    .nodes.filter((node) => node !== member)
    .map(placeOf);
  placeOf(member).cut(...others);
  await sleep(2 * TTL_MS);
  await contest.leader();
  placeOf(member).heal();
  await sleep(TTL_MS);
  await contest.leader();
  expectOneLeader();
}, 60_000);

it("every member is started again", async () => {
  await contest.leader();
  for (const member of servers().nodes) await member.restart();
  await contest.leader();
  expectOneLeader();
}, 60_000);

it("etcd is down as a whole for three ttl: nobody leads, then somebody does, without help", async () => {
  const leader = await contest.leader();
  const at = nowMs();
  await Promise.all(servers().nodes.map((member) => member.kill()));
  const stopped = await leader.hears("resigned", at);
  expect(stopped.at - at).toBeLessThan(TTL_MS);
  await sleep(3 * TTL_MS - (nowMs() - at));
  const back = nowMs();
  await Promise.all(servers().nodes.map((member) => member.restart()));
  await contest.elected(back);
  expectOneLeader();
}, 60_000);
