// Who waits until a keeper knows the cell, when that is said twice of one cell before the keeper has answered: a guard gives a lost seat back while it starts its service again.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import type { Cell } from "../../src/supervisor/cell.ts";
import { KeeperLink } from "../../src/supervisor/keeper-link.ts";
import { sleep } from "../support/processes.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-keeper-link-"));
const program = path.join(folder, "keeper.mjs");
vi.mock("../../src/election/helper-path.ts", () => ({ helperPath: () => program }));

/** Answers each word as the real one does, but not at once. */
const KEEPER = `
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { word, number } = JSON.parse(line);
  if (word === "farewell") process.exit(0);
  setTimeout(() => process.stdout.write(JSON.stringify({ word: "heard", number }) + "\\n"), 100);
});`;

const FAR = { mono: Infinity, boot: Infinity };
const INSTANTS = { termAt: FAR, killAt: FAR, deadline: FAR };
let link: KeeperLink;

beforeAll(() => writeFileSync(program, KEEPER));
afterEach(() => link.end());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function opened(): KeeperLink {
  link = new KeeperLink({ election: "test", life: undefined, patienceMs: 60_000, tell: () => {} });
  link.start();
  return link;
}

function cellOf(pid: number): Cell {
  return { child: { pid, startedAt: "1" }, mark: "test:1", cgroup: undefined, known: [] };
}

it("who has said it of a cell first hears of it too, when it is said again before the keeper has answered", async () => {
  const cell = cellOf(1);
  const keeper = opened();
  const heard: string[] = [];
  void keeper.guard(cell, INSTANTS).then(() => heard.push("first"));
  await keeper.guard(cell, INSTANTS);
  await sleep(0);
  expect(heard).toEqual(["first"]);
});

it("who has said it of another cell before does not: a keeper knows one cell", async () => {
  const keeper = opened();
  let hasHeard = false;
  void keeper.guard(cellOf(1), INSTANTS).then(() => (hasHeard = true));
  await keeper.guard(cellOf(2), INSTANTS);
  await sleep(0);
  expect(hasHeard).toBe(false);
});
