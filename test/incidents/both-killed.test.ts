// Elsewhere: wrapper and watchdog are killed together (a script that kills by name, the kernel's memory killer); the work goes on, and a second one begins.
// Here: the child itself holds what waiters watch, so it is not taken for dead: the ttl is waited for. And the next leader on that host ends what carries
// the mark of an earlier term before its own child begins. Real processes, SIGKILL.
// Taken out: test/defences/both-killed.patch
import { judgeLog } from "conclave/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useStoreUrls } from "../support/real-stores.ts";
import { isGone, kill, nowMs, Stage, until } from "../supervisor/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());
const stores = useStoreUrls();

it.each(stores)(
  "both-killed: the ttl is waited for, and the orphan is ended before the next child begins (%s)",
  { timeout: 60_000 },
  async (_, url) => {
    const store = url();
    const ttlMs = 3000;
    const first = await stage.run({ store, id: "first", ttl: `${ttlMs}ms`, command: stage.actor });
    await first.tells("child", "started");
    const second = await stage.run({ store, id: "second", ttl: `${ttlMs}ms`, command: stage.actor });
    await second.tells("session", "opened");
    await until(() => stage.readLog().includes("act"), "the first acts");
    const at = nowMs();
    kill(first.keeperPid, "SIGKILL");
    first.signal("SIGKILL");
    await second.tells("elected");
    expect(nowMs() - at).toBeGreaterThan(ttlMs / 3);
    await second.tells("child", "started");
    expect((await second.tells("orphans")).pids).toEqual([first.childPid]);
    expect(isGone(first.childPid)).toBe(true);
    await until(() => stage.readLog().includes(" second_"), "the second acts");
    expect(judgeLog(stage.readLog())).toMatchObject({ terms: 2, overlaps: [], regressions: [] });
  },
);
