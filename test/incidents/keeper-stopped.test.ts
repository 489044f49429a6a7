// Elsewhere: a watchdog hangs; it is there, so nobody starts another, and it does nothing.
// Here: a keeper that does not answer is killed and replaced; meanwhile the supervisor keeps the schedule itself. Real processes, SIGSTOP.
// Taken out: test/defences/keeper-stopped.patch
import { afterEach, beforeEach, expect, it } from "vitest";
import { useStoreUrls } from "../support/real-stores.ts";
import { isGone, kill, Stage, until } from "../supervisor/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());
const stores = useStoreUrls();

it.each(stores)(
  "keeper-stopped: it is replaced, and the next one ends the child of a dead supervisor (%s)",
  { timeout: 60_000 },
  async (_, url) => {
    const store = url();
    const run = await stage.run({ store, id: "first", ttl: "3s", command: stage.actor });
    await run.tells("child", "started");
    const stopped = run.keeperPid;
    kill(stopped, "SIGSTOP");
    await run.tells("keeper", "started", 2);
    expect(isGone(stopped)).toBe(true);
    expect(isGone(run.childPid)).toBe(false);
    run.signal("SIGKILL");
    await until(() => isGone(run.childPid), "the child is ended");
  },
);

it.each(stores)(
  "keeper-stopped: told to stop, the supervisor ends the child without it (%s)",
  { timeout: 60_000 },
  async (_, url) => {
    const store = url();
    const run = await stage.run({
      store,
      id: "alone",
      election: "y",
      ttl: "3s",
      command: [...stage.actor, "stubborn"],
    });
    await run.tells("child", "started");
    await until(() => stage.readLog().includes(" alone_"), "the child acts");
    kill(run.keeperPid, "SIGSTOP");
    run.signal("SIGTERM");
    expect(await run.exited).toBe(137);
    expect(isGone(run.childPid)).toBe(true);
  },
);
