// `conclave run` under real faults, again and again, judged from outside by what the commands themselves have written. CONCLAVE_ROUNDS=100 for more rounds.
import { existsSync, readFileSync } from "node:fs";
import { judgeLog } from "conclave/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isGone, kill, nowMs, type Run, sleep, Stage, until } from "./stage.ts";

const ROUNDS = Number(process.env["CONCLAVE_ROUNDS"] ?? 6);
const TTL_MS = 500;
const PATIENT = { timeout: 60_000 + ROUNDS * 10_000 };

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());

const fresh = (round: number, command: readonly string[], ttlMs: number): Promise<Run> =>
  stage.run({ id: `r${round}`, ttl: `${ttlMs}ms`, command });

function expectNoOverlap(terms: number): void {
  const verdict = judgeLog(stage.readLog());
  expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  expect(verdict.terms).toBeGreaterThanOrEqual(terms);
}

it(
  "SIGKILL of the leading supervisor: its child is gone before the successor's begins, long before the ttl",
  PATIENT,
  async () => {
    const ttlMs = 10_000;
    let leader = await fresh(0, stage.actor, ttlMs);
    await leader.tells("child", "started");
    for (let round = 1; round <= ROUNDS; round++) {
      const next = await fresh(round, stage.actor, ttlMs);
      await next.tells("keeper", "started");
      await next.tells("session", "opened");
      const child = leader.childPid;
      leader.signal("SIGKILL");
      await next.tells("child", "started");
      expect(isGone(child), `round ${round}`).toBe(true);
      await until(() => stage.readLog().includes(` r${round}_`), "the new child acts");
      leader = next;
    }
    expectNoOverlap(ROUNDS + 1);
  },
);

it(
  "SIGSTOP of the leading supervisor for 3 ttl: its child is dead before the successor's begins",
  PATIENT,
  async () => {
    let leader = await fresh(0, stage.actor, TTL_MS);
    await leader.tells("child", "started");
    for (let round = 1; round <= ROUNDS; round++) {
      const next = await fresh(round, stage.actor, TTL_MS);
      await next.tells("session", "opened");
      const child = leader.childPid;
      await leader.stop();
      const stoppedAt = nowMs();
      await next.tells("child", "started");
      expect(isGone(child), `round ${round}`).toBe(true);
      await sleep(Math.max(0, stoppedAt + 3 * TTL_MS - nowMs()));
      leader.signal("SIGCONT");
      await leader.tells("lost");
      leader.signal("SIGTERM");
      await leader.exited;
      leader = next;
    }
    expectNoOverlap(ROUNDS + 1);
  },
);

it(
  "SIGSTOP of supervisor, keeper and child for 3 ttl: after SIGCONT the child dies, and what it writes is refused",
  PATIENT,
  async () => {
    const [modules, ledger, refusals] = [stage.file("modules"), stage.file("ledger.db"), stage.file("refused.log")];
    const command = [...stage.ledgerActor, modules, ledger, refusals];
    const deaths: number[] = [];
    let leader = await fresh(0, command, TTL_MS);
    await leader.tells("child", "started");
    for (let round = 1; round <= ROUNDS; round++) {
      await until(() => stage.readLog().includes(` r${round - 1}_`), "the leader acts");
      const next = await fresh(round, command, TTL_MS);
      await next.tells("session", "opened");
      const child = leader.childPid;
      const tree = [leader.pid, leader.keeperPid, child];
      await leader.stop();
      for (const pid of tree) kill(pid, "SIGSTOP");
      const stoppedAt = nowMs();
      await next.tells("child", "started");
      await sleep(Math.max(0, stoppedAt + 3 * TTL_MS - nowMs()));
      for (const pid of tree) kill(pid, "SIGCONT");
      const continuedAt = nowMs();
      await until(() => isGone(child), "the old child is dead");
      deaths.push(nowMs() - continuedAt);
      leader.signal("SIGTERM");
      await leader.exited;
      leader = next;
    }
    await until(() => stage.readLog().includes(` r${ROUNDS}_`), "the last one acts");
    expectNoOverlap(ROUNDS + 1);
    if (existsSync(refusals)) expect(readFileSync(refusals, "utf8")).not.toMatch(/refused \d+ (?!TOKEN_STALE)/);
    // 50 ms on a machine that is not busy; here others may be, and then the processes get their core late.
    expect(Math.max(...deaths), deaths.join(" ")).toBeLessThan(5000);
  },
);
