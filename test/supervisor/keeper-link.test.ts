// Who waits until a keeper knows the cell, when that is said twice of one cell before the keeper has answered: a guard gives a lost seat back while it starts its service again.
// And which answers of which keeper count: the keepers below answer when the test says so.
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { kill, until } from "./stage.ts";
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

const told = path.join(folder, "told");
const allowed = path.join(folder, "allowed");
/**
 * Notes what it is told, as its process id and the word. It answers the words up to the number in `allowed`, after it has said what else stands there. If `allowed` says so, it ends, and leaves behind a
 * process that says the rest of it.
 */
const BY_HAND = `
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const waiting = [];
let said = "";
createInterface({ input: process.stdin }).on("line", (line) => {
  appendFileSync(${JSON.stringify(told)}, JSON.stringify({ pid: process.pid, ...JSON.parse(line) }) + "\\n");
  const { word, number } = JSON.parse(line);
  if (word === "farewell") process.exit(0);
  waiting.push(number);
});
setInterval(() => {
  const { upTo, say, leaves } = JSON.parse(readFileSync(${JSON.stringify(allowed)}, "utf8"));
  if (say !== undefined && said !== say) process.stdout.write(say + "\\n");
  said = say ?? said;
  while (waiting[0] <= upTo) {
    const number = waiting.shift();
    process.stdout.write(JSON.stringify({ word: "heard", number }) + "\\n");
    appendFileSync(${JSON.stringify(told)}, JSON.stringify({ pid: process.pid, word: "answered", number }) + "\\n");
  }
  if (leaves !== undefined) {
    spawn("sh", ["-c", "sleep 0.1; cat <<'END'\\n" + leaves + "\\nEND"], { stdio: ["ignore", "inherit", "ignore"] }).unref();
    process.exit(0);
  }
}, 2);`;

interface Told {
  readonly pid: number;
  readonly word: string;
  readonly number: number;
  readonly hasLife?: boolean;
}

function allow(word: { readonly upTo: number; readonly say?: string; readonly leaves?: string }): void {
  writeFileSync(`${allowed}.new`, JSON.stringify(word));
  renameSync(`${allowed}.new`, allowed);
}

const heard = (): readonly Told[] =>
  (existsSync(told) ? readFileSync(told, "utf8") : "")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Told);

/** The `nth` such word that a keeper has heard. */
async function tells(word: string, nth = 1): Promise<Told> {
  await until(() => heard().filter((each) => each.word === word).length >= nth, `${word} ${nth}`);
  return heard().filter((each) => each.word === word)[nth - 1] as Told;
}

function openedByHand(): KeeperLink {
  rmSync(told, { force: true });
  writeFileSync(program, BY_HAND);
  allow({ upTo: 0 });
  return opened();
}

/** It has answered up to this word. */
async function answers(number: number): Promise<void> {
  allow({ upTo: number });
  const isOne = (each: Told): boolean => each.word === "answered" && each.number === number;
  await until(() => heard().some(isOne), `an answer to ${number}`);
}

/** Whether it has resolved, once the answers that are on their way have come. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let is = false;
  void promise.then(() => (is = true));
  await sleep(150);
  return is;
}

beforeEach(() => writeFileSync(program, KEEPER));
afterEach(async () => {
  allow({ upTo: 1e9 });
  await link.end();
});
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

it("an answer to what was said before does not say that the cell is known", async () => {
  const keeper = openedByHand();
  const known = keeper.guard(cellOf(1), INSTANTS);
  const { number } = await tells("guard");
  await answers(number - 1);
  expect(await settled(known)).toBe(false);
  await answers(number);
  await known;
});

it("a keeper that takes another's place has to say itself that it knows the cell", async () => {
  const keeper = openedByHand();
  const known = keeper.guard(cellOf(1), INSTANTS);
  kill((await tells("guard")).pid, "SIGKILL");
  const { number } = await tells("guard", 2);
  await answers(number - 1);
  expect(await settled(known)).toBe(false);
  await answers(number);
  await known;
});

it("an answer of a keeper that has ended counts for nothing", async () => {
  const keeper = openedByHand();
  const known = keeper.guard(cellOf(1), INSTANTS);
  const { number } = await tells("guard");
  allow({ upTo: 0, leaves: JSON.stringify({ word: "heard", number }) });
  await until(() => readFileSync(allowed, "utf8").includes("leaves"), "it ends");
  expect(await settled(known)).toBe(false);
  await sleep(100);
  expect(await settled(known)).toBe(false);
});

it("whether a keeper has ended the command is known only when it has answered the question", async () => {
  const keeper = openedByHand();
  const known = keeper.guard(cellOf(1), INSTANTS);
  allow({ upTo: (await tells("guard")).number });
  await known;
  keeper.extend(INSTANTS, false);
  const verdict = keeper.leave();
  const { number } = await tells("leave");
  await answers(number - 1);
  expect(await settled(verdict)).toBe(false);
  allow({ upTo: number, say: JSON.stringify({ word: "killed", child: 1, ran: true }) });
  expect(await verdict).toBe(true);
});

it("a keeper that takes another's place for the sake of what waiters watch holds that, and says so", async () => {
  const life = openSync(path.join(folder, "life"), "w");
  try {
    const keeper = openedByHand();
    const before = await tells("hello");
    expect(before.hasLife).toBe(false);
    keeper.share(life);
    const { pid, hasLife } = await tells("hello", 2);
    expect(hasLife).toBe(true);
    expect(pid).not.toBe(before.pid);
    expect(readlinkSync(`/proc/${pid}/fd/3`)).toBe(path.join(folder, "life"));
  } finally {
    closeSync(life);
  }
});
