// `sqlite:` between real processes of this host: killed, stopped, resigning, racing, in other namespaces. Times are measured on the clock that all of
// them read; the numbers are printed.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import { judgeLog } from "conclave/testing";
import { nextKeep, nowMs, percentile, type Player, sleep, Stage } from "../../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

function report(what: string, times: readonly number[]): void {
  const [p50, p90, p99, most] = [0.5, 0.9, 0.99, 1].map((share) => percentile(times, share).toFixed(1));
  process.stdout.write(
    `${what}: ${times.length} rounds, p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, most ${most} ms\n`,
  );
}

/** Two candidates of one file, of which the first leads. */
async function pair(name: string, ttlMs: number): Promise<{ file: string; leader: Player; waiter: Player }> {
  const file = stage.file(name);
  const leader = await stage.start({ path: file, id: "a", ttlMs });
  await leader.hears("elected");
  const waiter = await stage.start({ path: file, id: "b", ttlMs });
  await waiter.hears("leader");
  return { file, leader, waiter };
}

describe("a takeover", () => {
  it(
    "comes within 250 ms of a kill as a rule, and long before the ttl of 10 s always",
    { timeout: 60_000 },
    async () => {
      const file = stage.file("kill.db");
      const rounds = 30;
      const times: number[] = [];
      let leader = await stage.start({ path: file, id: "k0", ttlMs: 10_000 });
      await leader.hears("elected");
      let next = stage.start({ path: file, id: "k1", ttlMs: 10_000 });
      for (let round = 0; round < rounds; round++) {
        const waiter = await next;
        await waiter.hears("leader");
        next = round === rounds - 1 ? next : stage.start({ path: file, id: `k${round + 2}`, ttlMs: 10_000 });
        if (round < rounds - 1) await (await next).hears("leader");
        await sleep(30);
        const killedAt = nowMs();
        await leader.kill();
        const elected = await Promise.any(
          [waiter, await next].map(async (each) => ({ each, at: (await each.hears("elected", killedAt)).at })),
        );
        times.push(elected.at - killedAt);
        leader = elected.each;
        if (elected.each !== waiter) next = Promise.resolve(waiter);
      }
      await leader.kill();
      const last = await stage.start({ path: file, id: "last", ttlMs: 10_000 });
      await last.hears("elected");
      await expect.poll(() => readdirSync(`${file}-life`).length, { timeout: 5000 }).toBeLessThanOrEqual(3);
      await last.kill();
      report("killed", times);
      expect(times).toHaveLength(rounds);
      // On an idle machine p99 is 15 ms (bench/takeover.mjs); this one may be busy.
      expect(percentile(times, 0.5)).toBeLessThanOrEqual(250);
      expect(Math.max(...times)).toBeLessThanOrEqual(2500);
    },
  );

  it("from a stopped process comes not before its ttl, and soon after", { timeout: 60_000 }, async () => {
    const late = (await Promise.all([0, 1].map((each) => stopInTurn(`stop-${each}.db`, 5)))).flat();
    report("stopped, after the ttl", late);
    expect(late).toHaveLength(10);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(percentile(late, 0.5)).toBeLessThanOrEqual(150);
  });

  async function stopInTurn(name: string, rounds: number): Promise<readonly number[]> {
    const { file, leader, waiter } = await pair(name, 1000);
    const late: number[] = [];
    let [holder, rival] = [leader, waiter];
    for (let round = 0; round < rounds; round++) {
      const untilMs = await nextKeep(file);
      const stoppedAt = nowMs();
      holder.signal("SIGSTOP");
      const { at } = await rival.hears("elected", stoppedAt);
      expect(at).toBeLessThanOrEqual(stoppedAt + 1000 + 1000);
      late.push(at - untilMs);
      holder.signal("SIGCONT");
      await holder.hears("lost", at);
      await holder.hears("leader", at);
      await sleep(50);
      [holder, rival] = [rival, holder];
    }
    return late;
  }

  it("after a resignation is quick", { timeout: 30_000 }, async () => {
    const { leader, waiter } = await pair("resign.db", 10_000);
    const times: number[] = [];
    let [holder, rival] = [leader, waiter];
    for (let round = 0; round < 60; round++) {
      const askedAt = nowMs();
      holder.tell("resign");
      const { at } = await rival.hears("elected", askedAt);
      times.push(at - (await holder.hears("resigned", askedAt)).at);
      holder.tell("stand");
      await holder.hears("leader", at);
      await sleep(20);
      [holder, rival] = [rival, holder];
    }
    report("resigned", times);
    // On an idle machine p99 is below 10 ms; this one may be busy.
    expect(percentile(times, 0.5)).toBeLessThanOrEqual(50);
  });
});

it("a takeover is as quick in a file that was made anew, after everything beside the path was removed", async () => {
  const { file, leader, waiter } = await pair("removed.db", 10_000);
  const removedAt = nowMs();
  // The file last: what is made anew must not be removed, too.
  for (const suffix of ["-life", "-wal", "-shm", ""]) rmSync(`${file}${suffix}`, { recursive: true, force: true });
  await leader.hears("lost", removedAt);
  const both = [leader, waiter];
  const holder = await Promise.any(
    both.map(async (each) => {
      await each.hears("elected", removedAt);
      return each;
    }),
  );
  const [rival = waiter] = both.filter((each) => each !== holder);
  // The rival may see the record before the holder is told that it was elected.
  await rival.hears("leader", removedAt);
  const killedAt = nowMs();
  await holder.kill();
  const elected = await rival.hears("elected", killedAt);
  report("killed in a new file", [elected.at - killedAt]);
  expect(elected.at - killedAt).toBeLessThanOrEqual(2500);
  await rival.kill();
});

it("of twenty processes that race for one name no two ever hold it", { timeout: 120_000 }, async () => {
  const log = stage.file("race-log");
  const file = stage.file("race.db");
  const players = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      stage.start({ path: file, id: `r${index}`, ttlMs: 2000, holdMs: 10 + index, log }),
    ),
  );
  await Promise.all(
    players.map((player) => Promise.any(["leader", "elected"].map((event) => player.hears(event, 0, 60_000)))),
  );
  const terms = (): number => players.flatMap(({ heard }) => heard.filter(({ event }) => event === "elected")).length;
  await vi.waitFor(() => expect(terms()).toBeGreaterThan(30), { timeout: 60_000, interval: 50 });
  await Promise.all(players.map((player) => player.kill()));
  const verdict = judgeLog(readFileSync(log, "utf8"));
  const leaders = players.filter(({ heard }) => heard.some(({ event }) => event === "elected")).length;
  process.stdout.write(`raced: ${verdict.terms} terms of ${leaders} processes\n`);
  expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  expect(verdict.terms).toBeGreaterThan(20);
  const failures = players.flatMap(({ heard }) => heard.filter(({ event }) => event === "failed"));
  expect(failures).toEqual([]);
});

it(
  "a holder whose file is deleted stops within moments, and the new file has a new token domain",
  { timeout: 30_000 },
  async () => {
    const file = stage.file("deleted.db");
    const holder = await stage.start({ path: file, id: "old", ttlMs: 10_000 });
    const first = await holder.hears("elected");
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix);
    const deletedAt = nowMs();
    const { at, reason } = await holder.hears("lost", deletedAt);
    report("deleted file", [at - deletedAt]);
    expect(reason).toBe("session-lost");
    expect(at - deletedAt).toBeLessThanOrEqual(1000);
    expect((await holder.hears("error", deletedAt)).message).toMatch(/is not the file that was opened/);
    const newcomer = await stage.start({ path: file, id: "new", ttlMs: 10_000 });
    const next = await Promise.any([holder, newcomer].map((player) => player.hears("elected", at)));
    expect(next.domain).not.toBe(first.domain);
    await Promise.all([holder.kill(), newcomer.kill()]);
  },
);

describe("a holder in other network and pid namespaces", () => {
  const under = ["unshare", "-n", "-p", "--fork", "--mount-proc", "--kill-child=SIGKILL"];

  it("is alive to a waiter outside, and its kill is noticed at once", { timeout: 30_000 }, async () => {
    const tried = spawnSync(under[0] ?? "", [...under.slice(1), "true"], { encoding: "utf8" });
    expect(tried.status, `this test needs the right to unshare namespaces (root on Linux): ${tried.stderr}`).toBe(0);
    const file = stage.file("namespaces.db");
    const holder = await stage.start({ path: file, id: "inside", ttlMs: 10_000, under });
    await holder.hears("elected");
    const waiter = await stage.start({ path: file, id: "outside", ttlMs: 10_000 });
    await waiter.hears("leader");
    await sleep(500);
    expect(waiter.heard.filter(({ event }) => event === "elected")).toEqual([]);
    const killedAt = nowMs();
    holder.signal("SIGKILL");
    const { at } = await waiter.hears("elected", killedAt);
    report("killed in other namespaces", [at - killedAt]);
    expect(at - killedAt).toBeLessThanOrEqual(500);
    await waiter.kill();
  });
});
