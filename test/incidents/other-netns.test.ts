// Elsewhere: a lock by a loopback port or an abstract socket; a process in another container has a network of its own, finds nobody there, and leads too.
// Here: life is a socket that is bound to a path, which is the same in every network and pid namespace. Needs the right to unshare (root on Linux).
// Taken out: test/defences/other-netns.patch
import { spawnSync } from "node:child_process";
import { afterAll, expect, it } from "vitest";
import { sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());
const under = ["unshare", "-n", "-p", "--fork", "--mount-proc", "--kill-child=SIGKILL"];

it("other-netns: a holder in other network and pid namespaces is alive", { timeout: 30_000 }, async () => {
  const { status, stderr } = spawnSync(under[0] ?? "", [...under.slice(1), "true"], { encoding: "utf8" });
  expect(status, `this test needs the right to unshare namespaces: ${stderr}`).toBe(0);
  const path = stage.file("netns.db");
  const holder = await stage.start({ path, id: "inside", ttlMs: 5000, under });
  await holder.hears("elected");
  const waiter = await stage.start({ path, id: "outside", ttlMs: 5000 });
  await waiter.hears("leader");
  await sleep(2000);
  expect(waiter.heard.filter(({ event }) => event === "elected")).toEqual([]);
  expect(holder.heard.filter(({ event }) => event === "lost")).toEqual([]);
});
