// Who belongs to a cell, and who does not: real processes without a cgroup and without a mark, so that only group, session, parents and start times speak.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { type Cell, followCell, isEmpty, killCell, livesIn, terminateCell } from "../../src/supervisor/cell.ts";
import { findKin } from "../../src/keeper/kin.ts";
import { identify, isGone as isGoneForCertain, type ProcessId } from "../../src/keeper/processes.ts";
import { happens, isGone, kill, until } from "../supervisor/stage.ts";

const started: ChildProcess[] = [];
const strays: number[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  for (const pid of strays.splice(0)) kill(pid, "SIGKILL");
});

async function start(script: string): Promise<{ readonly id: ProcessId; readonly said: () => readonly number[] }> {
  const child = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  started.push(child);
  let text = "";
  child.stdout.on("data", (part: Buffer) => (text += part.toString()));
  const id = identify(child.pid ?? -1);
  if (id === undefined) throw new Error("it was not started");
  const said = (): readonly number[] => text.split("\n").slice(0, -1).map(Number);
  await until(() => said().length > 0, "it runs");
  strays.push(...said().slice(0, 1));
  return { id, said };
}

const cellOf = (child: ProcessId, known: ProcessId[] = []): Cell => ({
  child,
  mark: "a mark that nobody carries",
  cgroup: undefined,
  known,
});

it("a number that another process has by now is nobody of ours", async () => {
  const { id } = await start("echo $$; exec sleep 1000");
  const before = { pid: id.pid, startedAt: "1" };
  const nobody = { pid: 2 ** 22 + 1, startedAt: "1" };
  for (const cell of [cellOf(before), cellOf(nobody, [before])]) {
    expect(livesIn(cell)).toEqual({ is: "empty" });
    terminateCell(cell, "SIGTERM");
    killCell(cell);
    followCell(cell);
    expect(cell.known).toEqual([]);
  }
  expect(isGoneForCertain(before)).toBe(true);
  expect(await happens(() => isGone(id.pid), 200)).toBe(false);
  expect(isEmpty(cellOf(id))).toBe(false);
});

it("a number in the list of those that were seen is not signalled once another process has it", async () => {
  const { id } = await start("echo $$; exec sleep 1000");
  const nobody = { pid: 2 ** 22 + 1, startedAt: "1" };
  // With a cgroup the list is not looked through before the signals are sent.
  killCell({ ...cellOf(nobody, [{ pid: id.pid, startedAt: "1" }]), cgroup: "/proc/none" });
  expect(await happens(() => isGone(id.pid), 300)).toBe(false);
  killCell({ ...cellOf(nobody, [id]), cgroup: "/proc/none" });
  expect(await happens(() => isGone(id.pid))).toBe(true);
});

it("who was seen below the child is known when its parents have ended", async () => {
  const { id, said } = await start("setsid sh -c 'echo $$; exec sleep 1000' & wait");
  const [escaped = 0] = said();
  const cell = cellOf(id);
  followCell(cell);
  expect(cell.known.map(({ pid }) => pid)).toContain(escaped);
  kill(id.pid, "SIGKILL");
  await until(() => isGone(id.pid), "its parent has ended");
  expect(livesIn(cell)).toEqual({ is: "occupied" });
  expect(livesIn(cellOf(id))).toEqual({ is: "empty" }); // to one that has not looked before
  killCell(cell);
  await until(() => isGone(escaped), "it is ended");
  expect(isEmpty(cell)).toBe(true);
});

it("who lives below the child is found before the child is killed, by one that has not looked before", async () => {
  const { id, said } = await start("setsid sh -c 'echo $$; exec sleep 1000' & wait");
  const [escaped = 0] = said();
  killCell(cellOf(id));
  await until(() => isGone(id.pid), "the child is ended");
  const isEnded = await until(() => isGone(escaped), "its descendant, too", 2000).then(
    () => true,
    () => false,
  );
  expect(isEnded).toBe(true);
});

it("who is in the child's session, in a group of its own, is ours", async () => {
  const { id, said } = await start(`perl -e 'setpgrp(0, 0); $| = 1; print "$$\\n"; sleep 1000' & wait`);
  const [other = 0] = said();
  const [, , group = "", session = ""] = readFileSync(`/proc/${other}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  expect([group, session]).toEqual([String(other), String(id.pid)]);
  kill(id.pid, "SIGKILL");
  await until(() => isGone(id.pid), "the child has ended");
  const cell = cellOf(id);
  expect(livesIn(cell)).toEqual({ is: "occupied" });
  killCell(cell);
  await until(() => isGone(other), "it is ended");
});

it("who descends from one of ours is ours, wherever it went, also to one that has not followed", async () => {
  const { id, said } = await start("setsid sh -c 'echo $$; exec sleep 1000' & wait");
  const [escaped = 0] = said();
  expect(findKin(cellOf(id)).ours.map(({ pid }) => pid)).toContain(escaped);
});

it("a cell that cannot be looked at is not taken for empty", () => {
  const nobody = { pid: 2 ** 22 + 1, startedAt: "1" };
  const cgroup = `${import.meta.filename}/is-no-folder`;
  expect(livesIn({ ...cellOf(nobody), cgroup })).toEqual({ is: "occupied" });
  expect(isEmpty({ ...cellOf(nobody), cgroup })).toBe(false);
  expect(isEmpty({ ...cellOf(nobody), cgroup: "/proc/none" })).toBe(true); // removed, which only an empty one can be
});
