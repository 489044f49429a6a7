// Renewal by a thread, between real processes on a file: the main loop is blocked, spins, hangs; the process is stopped; the thread is killed; the store goes
// away. Whatever happens, two never lead at once: the judge reads what they have noted.
import { readFileSync, renameSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { judgeLog } from "conclave/testing";
import { Database } from "../stores/sqlite/by-hand.ts";
import { nextKeep, nowMs, type Player, sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

/** Long enough for a machine that others keep busy as well. */
const TTL_MS = 2000;
let files = 0;

interface Pair {
  readonly file: string;
  readonly log: string;
  readonly leader: Player;
  readonly rival: Player;
}

/** A leader, and a rival with a loop of its own, on one file. */
async function pair(options: { renewal: "loop" | "thread"; ttlMs?: number; stallAfterMs?: number }): Promise<Pair> {
  const file = stage.file(`thread-${++files}.db`);
  const log = stage.file(`thread-${files}.log`);
  const leader = await stage.start({ path: file, log, id: "leader", ttlMs: TTL_MS, ...options });
  await leader.hears("elected");
  const rival = await stage.start({ path: file, log, id: "rival", ttlMs: TTL_MS });
  await rival.hears("leader");
  await sleep(300);
  return { file, log, leader, rival };
}

function expectNoOverlap(log: string, terms?: number): void {
  const verdict = judgeLog(readFileSync(log, "utf8"));
  expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  expect(verdict.terms).toBe(terms ?? verdict.terms);
}

describe("a main loop that is busy for two ttls", () => {
  it("goes on leading with a renewal thread", { timeout: 30_000 }, async () => {
    const { log, leader, rival } = await pair({ renewal: "thread", stallAfterMs: 4 * TTL_MS });
    leader.tell(`block ${2 * TTL_MS}`);
    expect(await leader.hears("unblocked")).toMatchObject({ held: true, aborted: [false, false] });
    leader.tell(`spin ${2 * TTL_MS}`);
    expect(await leader.hears("spun")).toMatchObject({ held: true });
    await sleep(TTL_MS);
    expect(rival.heard.some(({ event }) => event === "elected")).toBe(false);
    expect(leader.heard.filter(({ event }) => event === "error" || event === "lost")).toEqual([]);
    leader.tell("resign");
    await rival.hears("elected");
    expectNoOverlap(log, 2);
  });

  it("loses with a loop, as ever", { timeout: 30_000 }, async () => {
    const { log, leader, rival } = await pair({ renewal: "loop" });
    const from = nowMs();
    leader.tell(`block ${2 * TTL_MS}`);
    expect(await leader.hears("unblocked")).toMatchObject({ held: false, aborted: [false, true], reason: "expired" });
    await rival.hears("elected", from);
    expectNoOverlap(log, 2);
  });
});

it("a main loop that is busy from the first instant of its term on goes on leading", { timeout: 30_000 }, async () => {
  const [file, log] = [stage.file("at-once.db"), stage.file("at-once.log")];
  const options = { ttlMs: TTL_MS, renewal: "thread", stallAfterMs: 5 * TTL_MS, busyMs: 2 * TTL_MS } as const;
  const leader = await stage.start({ path: file, log, id: "leader", ...options });
  const rival = await stage.start({ path: file, log, id: "rival", ...options });
  const first = await Promise.any([leader, rival].map(async (each) => (await each.hears("unblocked"), each)));
  expect(await first.hears("unblocked")).toMatchObject({ held: true });
  first.tell("resign");
  await (first === leader ? rival : leader).hears("unblocked");
  expectNoOverlap(log, 2);
});

describe("a main loop that hangs", () => {
  it.each(["block", "spin"] as const)("loses after stallAfterMs and a ttl: %s", { timeout: 40_000 }, async (how) => {
    const stallAfterMs = 2 * TTL_MS;
    const { log, leader, rival } = await pair({ renewal: "thread", stallAfterMs });
    const from = nowMs();
    leader.tell(`${how} ${6 * TTL_MS}`);
    const { at } = await rival.hears("elected", from);
    expect(at - from).toBeGreaterThan(stallAfterMs); // the thread has worked
    const over = await leader.hears(how === "block" ? "unblocked" : "spun", from);
    expect(over.at).toBeGreaterThan(at);
    expect(over).toMatchObject({ held: false, reason: "stalled" });
    expectNoOverlap(log, 2);
  });
});

it("a process that is stopped past its ttl loses, thread and all", { timeout: 30_000 }, async () => {
  const { file, log, leader, rival } = await pair({ renewal: "thread", stallAfterMs: 10 * TTL_MS });
  await nextKeep(file); // not in the middle of a commit, where it would keep SQLite's lock
  const from = nowMs();
  leader.signal("SIGSTOP");
  await rival.hears("elected", from);
  await sleep(TTL_MS);
  leader.signal("SIGCONT");
  await leader.hears("lost", from);
  expectNoOverlap(log, 2);
});

describe("while the main loop spins", () => {
  it("a session that was ended at the store ends the term at the next question", { timeout: 30_000 }, async () => {
    const { file, log, leader, rival } = await pair({ renewal: "thread", stallAfterMs: 10 * TTL_MS });
    const from = nowMs();
    leader.tell(`spin ${2 * TTL_MS}`);
    await sleep(200);
    byHand(file, "UPDATE conclave_session SET ended = 1 WHERE candidate LIKE 'leader%'")();
    const endedAt = nowMs();
    expect(await leader.hears("spun", from)).toMatchObject({ held: false, reason: "session-lost" });
    await rival.hears("elected", from);
    // No renewal was answered after that.
    expect(lastAct(log, "leader")).toBeLessThan(endedAt + TTL_MS);
  });

  it("a file that was replaced ends the term at the next question", { timeout: 30_000 }, async () => {
    const { file, log, leader } = await pair({ renewal: "thread", stallAfterMs: 10 * TTL_MS });
    await nextKeep(file); // from its first renewal on the thread has the file open, and can tell that another is at its path
    const from = nowMs();
    leader.tell(`spin ${2 * TTL_MS}`);
    await sleep(200);
    renameSync(file, `${file}.old`);
    const replacedAt = nowMs();
    expect(await leader.hears("spun", from)).toMatchObject({ held: false, reason: "session-lost" });
    expect(lastAct(log, "leader")).toBeLessThan(replacedAt + TTL_MS);
  });

  it("a store that does not answer costs the term at its deadline, and no more", { timeout: 30_000 }, async () => {
    const { file, log, leader, rival } = await pair({ renewal: "thread", stallAfterMs: 10 * TTL_MS });
    const from = nowMs();
    leader.tell(`spin ${2 * TTL_MS}`);
    await sleep(200);
    const unlock = byHand(file, "BEGIN EXCLUSIVE");
    expect(await leader.hears("spun", from)).toMatchObject({ held: false, reason: "expired" });
    unlock();
    const unlockedAt = nowMs();
    await Promise.any([leader, rival].map((each) => each.hears("elected", unlockedAt)));
    expectNoOverlap(log);
  });
});

/** As an operator would. Returns how to close the connection. */
function byHand(file: string, sql: string): () => void {
  const database = new Database(file);
  database.exec("PRAGMA busy_timeout = 5000");
  database.exec(sql);
  return () => database.close();
}

function lastAct(log: string, who: string): number {
  const lines = readFileSync(log, "utf8").split("\n");
  return Math.max(...lines.filter((line) => line.includes(` ${who}/`)).map((line) => Number(line.split(" ")[0])));
}
