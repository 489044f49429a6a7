// What is said to be gone must be gone: real processes that hide from a single look.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { identify, living, lookAt } from "../../src/keeper/processes.ts";
import { kill, nowMs, until } from "../supervisor/stage.ts";

const LOOK_FOR_MS = 4000;

const folder = mkdtempSync(path.join(tmpdir(), "conclave-processes-"));
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const child = spawn(program, args, { detached: true, stdio: "ignore", env });
  started.push(child);
  return child.pid ?? 0;
}

it("a process that forks and ends, again and again, is found by every look", { timeout: 60_000 }, async () => {
  const mark = randomBytes(16).toString("hex");
  const [hop, stop] = [path.join(folder, "hop.sh"), path.join(folder, "stop")];
  writeFileSync(hop, `#!/bin/sh\n[ -e ${stop} ] && exit 0\nsetsid ${hop} & exit 0\n`);
  chmodSync(hop, 0o755);
  start([hop], { ...process.env, MARK: mark });
  try {
    await until(() => livingWithMark(mark).length > 0, "it hops");
    // As many as fit into a few seconds: without the second listing one look in ten fails.
    const end = nowMs() + LOOK_FOR_MS;
    for (let look = 1; nowMs() < end; look++) expect(livingWithMark(mark), `look ${look}`).not.toEqual([]);
  } finally {
    writeFileSync(stop, "");
  }
  await until(() => livingWithMark(mark).length === 0, "it has stopped");
});

it("a process whose first thread alone has ended is not gone, although the kernel calls it a zombie", async () => {
  // exit(2) of the thread, not exit_group(2) of the process.
  const exit = process.arch === "x64" ? 60 : 93;
  const script = `use threads; threads->create(sub { sleep 1000 }); syscall(${exit}, 0)`;
  const pid = start(["perl", "-e", script]);
  const isZombie = (): boolean => /\) Z /.test(readStat(pid));
  await until(isZombie, "its first thread has ended");
  expect(identify(pid)).toBeDefined();
  expect(living("none").filter(({ group }) => group === pid)).toMatchObject([{ pid }]);
  kill(pid, "SIGKILL");
  await until(() => identify(pid) === undefined, "it is gone");
  expect(living("none").filter(({ group }) => group === pid)).toEqual([]);
});

it("a name of a program that looks like the fields behind it changes nothing of what they say", async () => {
  const program = path.join(folder, "x) Z 1 1");
  copyFileSync("/bin/sleep", program);
  const pid = start([program, "1000"]);
  await until(() => readStat(pid).includes("(x) Z 1 1)"), "it has its name");
  const [state = "", parent = "", group = ""] = readStat(pid).split("(x) Z 1 1) ")[1]?.split(" ") ?? [];
  expect(state).toMatch(/^[RSD]$/);
  expect(lookAt(pid)).toMatchObject({ parent: Number(parent), group: Number(group), isZombie: false });
  expect(lookAt(pid)?.parent).toBe(process.pid);
  expect(identify(pid)).toBeDefined();
});

function livingWithMark(mark: string): readonly number[] {
  return living(mark)
    .filter((each) => each.mark === "marked")
    .map(({ pid }) => pid);
}

function readStat(pid: number): string {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) ? readFileSync(file, "latin1") : "";
}
