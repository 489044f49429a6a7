// Agents under a real keeper: killed in time whatever they and their shooter do, and never started by one who may not.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { nodeClock } from "../../../src/election/clock.ts";
import { later } from "../../../src/supervisor/schedule.ts";
import { root } from "../../support/bundle.ts";
import { nowMs } from "../../support/processes.ts";
import { type AgentsModule, commandLinesWith, isAlive, pidIn, ShootingRange } from "./range.ts";

const range = new ShootingRange();
afterAll(() => range.end());

const soon = (ms: number): (() => { mono: number; boot: number }) => {
  const at = later(nodeClock().now(), ms);
  return () => at;
};
const may = async (): Promise<undefined> => undefined;

describe("an agent", () => {
  it("gets its input, its variables and nothing that is hidden, and answers", async () => {
    process.env["TEST_SECRET_OF_ANOTHER"] = "hidden-from-agents";
    const agents = await range.agents(["TEST_SECRET_OF_ANOTHER"]);
    const program = range.program(
      "echo.sh",
      `#!/bin/sh\ncat; echo "$OWN/$TEST_SECRET_OF_ANOTHER/$LC_ALL"; echo no >&2; exit 7\n`,
    );
    const end = await agents.run(
      { argv: [program], input: "plug=3\n", env: { OWN: "mine" } },
      { killAt: soon(60_000), mayBegin: may },
    );
    expect(end).toEqual({ is: "exited", code: 7, stdout: "plug=3\nmine//C\n", stderr: "no\n" });
    delete process.env["TEST_SECRET_OF_ANOTHER"];
  });

  it("is not started by a shooter that may not act any more, although everything was ready", async () => {
    const agents = await range.agents();
    const program = range.program("touch.sh", `#!/bin/sh\ntouch "${range.file("was-started")}"\n`);
    const end = await agents.run(
      { argv: [program] },
      { killAt: soon(60_000), mayBegin: async () => "the term is lost" },
    );
    expect(end).toEqual({ is: "not-started", why: "the term is lost" });
    expect(existsSync(range.file("was-started"))).toBe(false);
    expect(agents.isGone).toBe(true);
  });

  it("is not started where no keeper could kill it", async () => {
    const modules = range.file("without-keeper");
    cpSync(await range.modules(), modules, { recursive: true });
    rmSync(path.join(modules, "supervisor/keeper.js"));
    const { KeptAgents } = (await import(/* @vite-ignore */ path.join(modules, "agents.js"))) as AgentsModule;
    const agents = new KeptAgents({ name: "alone", clock: nodeClock() });
    const program = range.program("alone.sh", `#!/bin/sh\ntouch "${range.file("was-alone")}"\n`);
    const end = await agents.run({ argv: [program] }, { killAt: soon(60_000), mayBegin: may });
    expect(end).toMatchObject({ is: "not-started" });
    expect(existsSync(range.file("was-alone"))).toBe(false);
  });

  it("that hangs is killed in time, with its children, and is known to be gone", async () => {
    const agents = await range.agents();
    const [own, child] = [range.file("own.pid"), range.file("child.pid")];
    // It refuses to be told, and its child has left the group.
    const program = range.program(
      "hang.sh",
      `#!/bin/sh\ntrap '' TERM INT HUP\nsetsid sh -c 'echo $$ > "${child}"; exec sleep 100000' &\necho $$ > "${own}"\nwhile :; do sleep 100000; done\n`,
    );
    let at = soon(600_000)();
    const running = agents.run({ argv: [program] }, { killAt: () => at, mayBegin: may });
    const pids = [await pidIn(own), await pidIn(child)];
    expect(pids.map(isAlive)).toEqual([true, true]);
    at = soon(500)();
    expect(await running).toMatchObject({ is: "killed" });
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(agents.isGone).toBe(true);
  });

  it("that ends leaves nobody behind", async () => {
    const agents = await range.agents();
    const child = range.file("left.pid");
    const program = range.program("leave.sh", `#!/bin/sh\nsleep 100000 & echo $! > "${child}"\nexit 0\n`);
    const end = await agents.run({ argv: [program] }, { killAt: soon(60_000), mayBegin: may });
    expect(end).toMatchObject({ is: "exited", code: 0 });
    expect(isAlive(await pidIn(child))).toBe(false);
  });

  it("that is not wanted any more is killed at once", async () => {
    const agents = await range.agents();
    const own = range.file("unwanted.pid");
    const program = range.program("unwanted.sh", `#!/bin/sh\necho $$ > "${own}"; exec sleep 100000\n`);
    const abort = new AbortController();
    const running = agents.run({ argv: [program] }, { killAt: soon(600_000), mayBegin: may, signal: abort.signal });
    const pid = await pidIn(own);
    abort.abort();
    expect(await running).toMatchObject({ is: "killed", why: "it was stopped" });
    expect(isAlive(pid)).toBe(false);
  });

  it("that is not there is no answer", async () => {
    const agents = await range.agents();
    const end = await agents.run({ argv: [range.file("nothing")] }, { killAt: soon(60_000), mayBegin: may });
    expect(end.is === "exited" ? end.code : end.is).toBe(127);
  });

  it("shows no secret that it prints, and none on a command line", async () => {
    const agents = await range.agents();
    const secret = "vErY-s3cret-word";
    const program = range.program(
      "blab.sh",
      `#!/bin/sh\nread line\necho "got $line"; echo "and $IPMI_PASSWORD" >&2\nsleep 0.2\n`,
    );
    const seen = await commandLinesWith(secret, async () => {
      const end = await agents.run(
        { argv: [program], input: `passwd=${secret}\n`, env: { IPMI_PASSWORD: secret }, secrets: [secret] },
        { killAt: soon(60_000), mayBegin: may },
      );
      expect(end).toMatchObject({ stdout: "got passwd=[secret]\n", stderr: "and [secret]\n" });
    });
    expect(seen).toEqual([]);
  });
});

describe("a shooter", () => {
  const shooters = new Set<ChildProcess>();
  afterEach(() => {
    for (const shooter of shooters) shooter.kill("SIGKILL");
    shooters.clear();
  });

  /** With an agent that hangs, in a term that lasts so long. */
  async function shooting(
    name: string,
    remainingMs: number,
  ): Promise<{ shooter: ChildProcess; agent: number; deadline: number }> {
    const own = range.file(`${name}.pid`);
    const program = range.program(
      `${name}.sh`,
      `#!/bin/sh\ntrap '' TERM\necho $$ > "${own}"\nwhile :; do sleep 1000; done\n`,
    );
    const modules = path.join(await range.modules(), "agents.js");
    const script = path.join(root, "test/stonith/devices/shooter.mjs");
    const shooter = spawn(process.execPath, [script, modules, `${remainingMs}`, program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    shooters.add(shooter);
    let said = "";
    shooter.stdout.on("data", (text: Buffer) => (said += text.toString()));
    const agent = await pidIn(own);
    return { shooter, agent, deadline: Number(/deadline (\S+)/.exec(said)?.[1]) };
  }

  it("that is stopped shoots no longer than its term: the keeper kills the agent", async () => {
    const { shooter, agent, deadline } = await shooting("paused", 10_000);
    shooter.kill("SIGSTOP");
    expect(isAlive(agent)).toBe(true);
    await expect.poll(() => isAlive(agent), { timeout: 60_000, interval: 10 }).toBe(false);
    // On a busy machine the keeper itself may be late: the exact instant is its own tests' matter.
    expect(nowMs() - deadline).toBeLessThan(10_000);
    expect(isStopped(shooter.pid ?? 0)).toBe(true);
  });

  it("that dies takes its agent with it", async () => {
    const { shooter, agent, deadline } = await shooting("killed", 300_000);
    shooter.kill("SIGKILL");
    await expect.poll(() => isAlive(agent), { timeout: 60_000, interval: 10 }).toBe(false);
    expect(nowMs()).toBeLessThan(deadline);
  });
});

function isStopped(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}
