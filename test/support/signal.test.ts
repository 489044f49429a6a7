// No signal goes to more than one process: 0 would be the whole test run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it, vi } from "vitest";
import { signalTo } from "../../scripts/servers/signal.mjs";

afterEach(() => vi.restoreAllMocks());

it("throws for every number that is no process of its own, and sends nothing", () => {
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  for (const pid of [0, -0, 1, -1, -process.pid, NaN, Infinity, 1.5, Number(""), Number("x")])
    expect(() => signalTo(pid, "SIGKILL")).toThrow(/not known/);
  expect(kill).not.toHaveBeenCalled();
});

it("reaches a process", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  signalTo(child.pid ?? 0, "SIGKILL");
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
});
