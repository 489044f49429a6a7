// Elsewhere: a watchdog dies, nobody notices, and the day it is needed there is none.
// Here: the supervisor starts another keeper at once and tells it everything; that one then does what the first should have done. Real processes, SIGKILL.
// Taken out: test/defences/keeper-killed.patch
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
  "keeper-killed: another keeper ends the child of a supervisor that dies later (%s)",
  { timeout: 60_000 },
  async (_, url) => {
    const store = url();
    const first = await stage.run({ store, id: "first", ttl: "10m", command: stage.actor });
    await first.tells("child", "started");
    kill(first.keeperPid, "SIGKILL");
    await first.tells("keeper", "lost");
    expect(isGone(first.childPid)).toBe(false);
    await first.tells("keeper", "started", 2);
    const second = await stage.run({ store, id: "second", ttl: "10m", command: stage.actor });
    await second.tells("session", "opened");
    first.signal("SIGKILL");
    await until(() => isGone(first.childPid), "the child is ended");
    await second.tells("child", "started");
  },
);
