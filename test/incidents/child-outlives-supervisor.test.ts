// Elsewhere: a wrapper holds the lock, its child does the work; the wrapper is killed, the lock is free at once, and two children work.
// Here: the keeper ends the child of a dead supervisor, and only then lets go of what waiters watch. Real processes, SIGKILL, a ttl that nobody waits for.
// Taken out: test/defences/child-outlives-supervisor.patch
import { judgeLog } from "conclave/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useStoreUrls } from "../support/real-stores.ts";
import { isGone, Stage, until } from "../supervisor/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());
const stores = useStoreUrls();

it.each(stores)(
  "child-outlives-supervisor: the child is gone before the next one begins (%s)",
  { timeout: 60_000 },
  async (_, url) => {
    const store = url();
    const first = await stage.run({ store, id: "first", ttl: "10m", command: [...stage.actor, "stubborn"] });
    await first.tells("child", "started");
    const second = await stage.run({ store, id: "second", ttl: "10m", command: stage.actor });
    await second.tells("session", "opened");
    await until(() => stage.readLog().includes("act"), "the first acts");
    first.signal("SIGKILL");
    await second.tells("child", "started");
    expect(isGone(first.childPid)).toBe(true);
    await until(() => stage.readLog().includes(" second_"), "the second acts");
    expect(judgeLog(stage.readLog())).toMatchObject({ terms: 2, overlaps: [], regressions: [] });
  },
);
