// One child behind its gate, in this process: who counts as its own, when it is killed, and when it counts as gone. Real processes.
import fs, { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { discard } from "../../src/supervisor/cgroup.ts";
import { Child } from "../../src/supervisor/child.ts";
import { happens, isGone, kill, until } from "./stage.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-child-"));
const started: Child[] = [];
const strays: number[] = [];
let count = 0;
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill();
    await child.exited;
  }
  for (const pid of strays.splice(0)) kill(pid, "SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const never = (): boolean => false;
const always = (): boolean => true;

async function start(script: string, cgroups: "with a cgroup" | "without"): Promise<Child> {
  const mark = `child-test-${process.pid}:${++count}`;
  const child = await Child.start(["sh", "-c", script], { ...process.env, CONCLAVE_MARKS: mark }, mark, undefined);
  started.push(child);
  const { cgroup } = child.cell;
  if (cgroups === "without" && cgroup !== undefined) {
    // As where none can be made: nobody asks it any more.
    Object.assign(child.cell, { cgroup: undefined });
    void child.exited.then(() => discard(cgroup));
  }
  return child;
}

/** A script that leaves group, session and mark, and writes its pid to a file. `middle`: what its parent does, which has left them, too. */
function escaping(file: string, middle: string): string {
  const inner = path.join(folder, `inner-${count}.sh`);
  writeFileSync(inner, `echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 1000\n`);
  return `setsid env -i /bin/sh -c "/bin/sh ${inner} & ${middle}" & exec sleep 1000`;
}

async function pidIn(file: string): Promise<number> {
  await until(() => existsSync(file), "it has escaped");
  const pid = Number(readFileSync(file, "utf8"));
  strays.push(pid);
  return pid;
}

it("nobody leaves a cgroup: who has no parent, group or mark of ours is ended, and waited for", async () => {
  const file = path.join(folder, "in-cgroup");
  const child = await start(escaping(file, "exit"), "with a cgroup");
  if (child.cell.cgroup === undefined) return; // none can be made here
  child.begin();
  const escaped = await pidIn(file);
  kill(child.pid, "SIGKILL");
  await child.exited;
  expect(child.lives()).toEqual({ is: "occupied" });
  let isDue = false;
  let isOver = false;
  const gone = child.gone(() => isDue, never).then(() => (isOver = true));
  await happens(() => isOver, 100);
  expect([isOver, isGone(escaped)]).toEqual([false, false]);
  isDue = true;
  expect(await happens(() => isOver, 5000)).toBe(true);
  await gone;
  expect(isGone(escaped)).toBe(true);
  expect(existsSync(child.cell.cgroup)).toBe(false);
});

it("who was seen below it is remembered when its parents have ended, where there is no cgroup", async () => {
  const [file, go] = [path.join(folder, "followed"), path.join(folder, "followed.go")];
  const child = await start(escaping(file, `until [ -e ${go} ]; do sleep 0.01; done`), "without");
  child.begin();
  const escaped = await pidIn(file);
  expect(await happens(() => child.cell.known.some(({ pid }) => pid === escaped), 5000)).toBe(true);
  const parent = parentOf(escaped);
  writeFileSync(go, "");
  await until(() => isGone(parent), "its parent has ended");
  kill(child.pid, "SIGKILL");
  await child.exited;
  expect(child.lives()).toEqual({ is: "occupied" });
  await child.gone(always, never);
  expect(isGone(escaped)).toBe(true);
});

it("what had ended by itself was not ended by a signal that came later, although nobody has heard of its end yet", async () => {
  const child = await start("exit 3", "with a cgroup");
  child.begin();
  // The gate is told at once; from here on this process hears nothing until it has signalled.
  const end = Date.now() + 20_000;
  while (!isGone(child.pid) && Date.now() < end) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  expect(child.hasExited).toBe(false);
  child.terminate();
  child.kill();
  expect(child.wasEnded).toBe(false);
  expect(await child.exited).toEqual({ code: 3 });
});

it("one that ran was ended by the signal", async () => {
  const child = await start("exec sleep 1000", "with a cgroup");
  child.begin();
  child.kill();
  expect(child.wasEnded).toBe(true);
  expect(await child.exited).toEqual({ signal: "SIGKILL" });
});

it("one that was told to stop, and then exits with 0, did not finish by itself", async () => {
  const file = path.join(folder, "obedient");
  const child = await start(`trap 'exit 0' TERM; echo up > ${file}; while :; do sleep 0.01; done`, "with a cgroup");
  child.begin();
  await until(() => existsSync(file), "it runs");
  child.terminate();
  expect(await child.exited).toEqual({ code: 0 });
  expect(child.wasEnded).toBe(true);
});

it("one that could not be looked at when it was told to stop is taken for one that ran", async () => {
  const child = await start("exec sleep 1000", "without");
  child.begin();
  const { readFileSync: read, readdirSync: list } = fs;
  const fail = (): never => {
    throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
  };
  Object.assign(fs, { readFileSync: fail, readdirSync: fail });
  syncBuiltinESMExports();
  try {
    child.terminate();
    expect(child.lives()).toEqual({ is: "occupied" });
  } finally {
    Object.assign(fs, { readFileSync: read, readdirSync: list });
    syncBuiltinESMExports();
  }
  expect(await child.exited).toEqual({ signal: "SIGTERM" });
  expect(child.wasEnded).toBe(true);
});

it("a child that does not obey is killed when it is due, and not before", async () => {
  const file = path.join(folder, "stubborn");
  const child = await start(`trap '' TERM; echo up > ${file}; while :; do sleep 0.01; done`, "with a cgroup");
  child.begin();
  await until(() => existsSync(file), "it runs");
  child.terminate();
  let asked = 0;
  const gone = child.gone(() => ++asked > 5, never);
  await until(() => asked >= 3, "it has been asked");
  if (asked <= 5) expect(isGone(child.pid)).toBe(false);
  expect(await Promise.race([gone.then(() => "gone"), happens(never, 5000)])).toBe("gone");
  expect(await child.exited).toEqual({ signal: "SIGKILL" });
});

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}
