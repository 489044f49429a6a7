// Elsewhere: a wrapper holds the lock, its child does the work; the wrapper is killed, the lock is free at once, and two children work.
// Here: the keeper ends the child of a dead supervisor, and only then lets go of what waiters watch. Real processes, SIGKILL, a ttl that nobody waits for.
// Taken out: test/defences/child-outlives-supervisor.patch
import { judgeLog } from "conclave/testing";
import { afterAll, expect, it } from "vitest";
import { isGone, Stage, until } from "../supervisor/stage.ts";

const stage = new Stage();
afterAll(() => stage.end());

it("child-outlives-supervisor: the child is gone before the next one begins", { timeout: 60_000 }, async () => {
  const first = await stage.run({ id: "first", ttl: "10m", command: [...stage.actor, "stubborn"] });
  await first.tells("child", "started");
  const second = await stage.run({ id: "second", ttl: "10m", command: stage.actor });
  await second.tells("session", "opened");
  await until(() => stage.readLog().includes("act"), "the first acts");
  first.signal("SIGKILL");
  await second.tells("child", "started");
  expect(isGone(first.childPid)).toBe(true);
  await until(() => stage.readLog().includes(" second_"), "the second acts");
  expect(judgeLog(stage.readLog())).toMatchObject({ terms: 2, overlaps: [], regressions: [] });
});
