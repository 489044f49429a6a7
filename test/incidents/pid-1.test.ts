// Elsewhere: a wrapper as process 1 of a container. Orphans become its children, it does not reap them, and their zombies are waited for until ever; or its
// watchdog dies with it, and a promise that rested on the watchdog is not kept.
// Here: a zombie is gone. When process 1 is killed the kernel ends keeper and child with it, and the socket that waiters watch refuses only after the last of them.
// What the keeper does on other stores (releasing at once) is declared not to hold there: docs/RUN.md. Real processes in a pid namespace of their own.
// Taken out: test/defences/pid-1.patch
import { judgeLog } from "conclave/testing";
import { afterAll, expect, it } from "vitest";
import { Stage, until } from "../supervisor/stage.ts";

const stage = new Stage();
afterAll(() => stage.end());

const under = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

it("pid-1: zombies that nobody reaps are not waited for", { timeout: 15_000 }, async () => {
  // Each grandchild is orphaned, ended, and adopted by process 1, which reaps only its own.
  const script = "for i in 1 2 3; do (sh -c 'sleep 1000' &) ; done; sleep 0.2; exit 4";
  const run = await stage.run({ id: "one", election: "zombies", ttl: "2s", command: ["sh", "-c", script], under });
  expect(await run.exited).toBe(4);
});

it("pid-1: killed, it takes keeper and child along, and the next begins after them", { timeout: 60_000 }, async () => {
  const first = await stage.run({ id: "first", ttl: "10m", command: stage.actor, under });
  await first.tells("child", "started");
  const second = await stage.run({ id: "second", ttl: "10m", command: stage.actor });
  await second.tells("session", "opened");
  await until(() => stage.readLog().includes("act"), "the first acts");
  first.signal("SIGKILL"); // unshare, which has its child killed: process 1
  await second.tells("child", "started");
  await until(() => stage.readLog().includes(" second_"), "the second acts");
  expect(judgeLog(stage.readLog())).toMatchObject({ terms: 2, overlaps: [], regressions: [] });
});
