// Elsewhere: a lock file names a process by its number; that one died, the number went to another program, and the lock was never taken for stale.
// Here: no number is asked. A socket that is bound to a path refuses when its own process is gone, no matter which process has its number now. Real: in a pid namespace
// the number of a killed holder is given to another process before the waiter looks. Needs the right to unshare (root on Linux).
// Taken out: test/defences/pid-reused.patch
import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

it(
  "pid-reused: a holder whose number belongs to another process is dead all the same",
  { timeout: 30_000 },
  async () => {
    const script = fileURLToPath(new URL("../support/pid-namespace.mjs", import.meta.url));
    const options = { modules: await stage.modules(), path: stage.file("x.db"), ttlMs: 60_000 };
    const env = { ...process.env, NODE_PATH: path.resolve("node_modules") };
    const under = ["-p", "--fork", "--mount-proc", "--kill-child=SIGKILL", process.execPath, script];
    const world = spawn("unshare", [...under, JSON.stringify(options)], {
      env,
      timeout: 20_000,
      killSignal: "SIGKILL",
    });
    let said = "";
    let errors = "";
    world.stdout.on("data", (text: Buffer) => (said += text.toString()));
    world.stderr.on("data", (text: Buffer) => (errors += text.toString()));
    await new Promise((resolve) => world.once("close", resolve));
    expect(said, `this test needs the right to unshare namespaces: ${errors}`).not.toBe("");
    const { number, heir, heirLives, tookMs } = JSON.parse(said) as Record<string, number | boolean>;
    expect(heir).toBe(number);
    expect(heirLives).toBe(true);
    expect(tookMs).toBeLessThan(5000); // at a ttl of a minute
  },
);
