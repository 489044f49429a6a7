// Elsewhere: ten thousand candidates wake at once when the leader leaves, and the store is busy with nothing but their questions.
// Here: a hundred and sixty threads in eight processes wait on one file. A few of them listen to the leader, the others ask now and then; when it leaves, one swap
// wins, and those that were beaten find out by a read. First the leader resigns, then the process of the next is killed, with all who wait in it.
// Taken out: test/defences/herd.patch
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { judgeLog } from "conclave/testing";
import { killLeaders } from "../support/crowd.ts";
import { type Heard, nowMs, type Player, sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

async function countAll(herd: readonly Player[]): Promise<{ cpuMs: number; heard: Record<string, number> }> {
  const askedAt = nowMs();
  for (const player of herd) player.tell("count");
  const counts = await Promise.all(herd.map((player) => player.hears("counted", askedAt, 30_000)));
  const heard: Record<string, number> = {};
  for (const count of counts)
    for (const [event, times] of Object.entries(count.heard ?? {})) heard[event] = (heard[event] ?? 0) + times;
  return { cpuMs: counts.reduce((sum, { cpuMs = 0 }) => sum + cpuMs, 0), heard };
}

/** The first of them that leads from `fromMs` on. */
async function firstElected(herd: readonly Player[], fromMs: number): Promise<{ player: Player; elected: Heard }> {
  return await Promise.any(
    herd.map(async (player) => ({ player, elected: await player.hears("elected", fromMs, 30_000) })),
  );
}

/** Until all have settled: nobody hears anything new any more. */
async function settled(herd: readonly Player[]): Promise<{ cpuMs: number; heard: Record<string, number> }> {
  for (let before = await countAll(herd); ;) {
    await sleep(1000);
    const now = await countAll(herd);
    if (JSON.stringify(now.heard) === JSON.stringify(before.heard)) return now;
    before = now;
  }
}

// The small one first: most of what can be wrong shows in it too, and sooner.
it.each([
  [3, 10],
  [8, 20],
])("herd: of %d × %d that wait, exactly one leads next", { timeout: 480_000 }, async (processes, threads) => {
  const shared = { path: stage.file(`${processes}.db`), log: stage.file(`${processes}.log`), ttlMs: 15_000 };
  const leader = await stage.start({ ...shared, id: "leader" });
  await leader.hears("elected");
  const herd: Player[] = [];
  for (let index = 0; index < processes; index++) herd.push(await stage.start({ ...shared, id: `h${index}`, threads }));
  await Promise.all(herd.map((player) => player.hears("ready", 0, 300_000)));

  const waiting = await settled(herd);
  expect(waiting.heard["elected"]).toBe(0);
  const idleSince = nowMs();
  await sleep(4000);
  const idle = await countAll(herd);
  const share = (idle.cpuMs - waiting.cpuMs) / (nowMs() - idleSince);

  leader.tell("resign");
  const { at: resignedAt } = await leader.hears("resigned");
  const first = await firstElected(herd, resignedAt);
  const afterFirst = await settled(herd);
  expect(afterFirst.heard).toMatchObject({ elected: 1, lost: 0, failed: 0 });

  const rest = herd.filter((player) => player !== first.player);
  const beforeKill = await countAll(rest);
  const killedAt = nowMs();
  await first.player.kill();
  const goneAt = nowMs();
  const second = await firstElected(rest, killedAt);
  // Told by the kernel, and not by the ttl.
  expect(second.elected.at - killedAt).toBeLessThan(shared.ttlMs / 3);
  const afterSecond = await settled(rest);
  expect(afterSecond.heard).toMatchObject({ elected: 1, lost: 0, failed: 0 });

  process.stdout.write(
    `herd of ${processes * threads}: waiting ${(share * 100).toFixed(0)} % of a core; resigned → next ${(first.elected.at - resignedAt).toFixed(0)} ms, ${(afterFirst.cpuMs - idle.cpuMs).toFixed(0)} ms of CPU; killed → next ${(second.elected.at - killedAt).toFixed(0)} ms (its ${threads} threads were gone after ${(goneAt - killedAt).toFixed(0)}), ${(afterSecond.cpuMs - beforeKill.cpuMs).toFixed(0)} ms of CPU; errors ${JSON.stringify([waiting, afterFirst, afterSecond].map(({ heard }) => heard["error"]))}\n`,
  );
  await Promise.all(herd.map((player) => player.kill()));
  const verdict = judgeLog(readFileSync(shared.log, "utf8"));
  expect(verdict).toMatchObject({ terms: 3, overlaps: [], regressions: [], unread: [] });
});

it(
  "herd: a leader that is killed with all who wait beside it is followed long before its ttl",
  { timeout: 120_000 },
  async () => {
    const { killedMs, verdict } = await killLeaders({ processes: 3, candidates: 12, rounds: 2 });
    expect(Math.max(...killedMs)).toBeLessThan(5000);
    expect(verdict).toMatchObject({ terms: 3, overlaps: [], regressions: [], unread: [] });
  },
);
