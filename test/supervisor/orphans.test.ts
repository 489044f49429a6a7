// Whom the next leader of a host takes for an orphan of an earlier term: by election and token alone.
import { type ChildProcess, spawn } from "node:child_process";
import { afterEach, expect, it, vi } from "vitest";
import type { FencingToken } from "conclave";
import { findOrphans, makeMark, marked } from "../../src/supervisor/orphans.ts";
import { happens } from "./stage.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

const domain = `orphans-test-${process.pid}`;
const mark = (election: string, value: bigint) =>
  makeMark(election, { domain, value, bid: "b" } as unknown as FencingToken);

function start(marks: Readonly<Record<string, string>>): number {
  const child = spawn("sleep", ["1000"], { stdio: "ignore", env: { ...process.env, ...marks } });
  started.push(child);
  return child.pid ?? -1;
}

it("marks of the same election with a smaller token, and no others", async () => {
  const earlier = start(marked(mark("x", 4n)));
  const inside = start({ CONCLAVE_MARKS: `${mark("x", 3n).text} ${mark("other", 9n).text}` });
  const others = [start(marked(mark("x", 5n))), start(marked(mark("x", 6n))), start(marked(mark("y", 4n)))];
  const found = (): readonly number[] =>
    findOrphans(mark("x", 5n)).filter((pid) => started.some((each) => each.pid === pid));
  expect(await happens(() => found().length >= 2)).toBe(true);
  expect(new Set(found())).toEqual(new Set([earlier, inside]));
  expect(others.filter((pid) => found().includes(pid))).toEqual([]);
});

it("a child has the marks of all that its supervisor runs inside of, and is an orphan of each", async () => {
  vi.stubEnv("CONCLAVE_MARKS", mark("outer", 4n).text);
  const pid = start(marked(mark("inner", 7n)));
  for (const next of [mark("outer", 5n), mark("inner", 8n)])
    expect(await happens(() => findOrphans(next).includes(pid), 5000)).toBe(true);
});

it("a mark of an election of that name at another store is another election's: their numbers do not compare", async () => {
  const elsewhere = { domain: `${domain}-elsewhere`, value: 9n, bid: "b" } as unknown as FencingToken;
  const pid = start(marked(mark("x", 4n)));
  expect(await happens(() => findOrphans(mark("x", 5n)).includes(pid), 5000)).toBe(true);
  expect(findOrphans(makeMark("x", elsewhere))).not.toContain(pid);
});

it("without a token nobody can say which is earlier", () => {
  start(marked(mark("x", 4n)));
  expect(findOrphans(makeMark("x", undefined))).toEqual([]);
});
