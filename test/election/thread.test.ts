// Renewal by a thread, between real processes on a file: the main loop is blocked, spins, hangs; the process is stopped; the thread is killed; the store goes
// away. Whatever happens, two never lead at once: the judge reads what they have noted.
import { readFileSync, renameSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { judgeLog } from "conclave/testing";
import { nowMs, type Player, sleep, Stage } from "../sqlite/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

const TTL_MS = 1000;
let files = 0;

interface Pair {
  readonly file: string;
  readonly log: string;
  readonly leader: Player;
  readonly rival: Player;
}

/** A leader, and a rival with a loop of its own, on one file. */
async function pair(options: { renewal: "loop" | "thread"; stallAfterMs?: number }): Promise<Pair> {
  const file = stage.file(`thread-${++files}.db`);
  const log = stage.file(`thread-${files}.log`);
  const leader = await stage.start({ path: file, log, id: "leader", ttlMs: TTL_MS, ...options });
  await leader.hears("elected");
  const rival = await stage.start({ path: file, log, id: "rival", ttlMs: TTL_MS });
  await rival.hears("leader");
  await sleep(300);
  return { file, log, leader, rival };
}

function expectNoOverlap(log: string, terms: number): void {
  expect(judgeLog(readFileSync(log, "utf8"))).toMatchObject({ terms, overlaps: [], regressions: [], unread: [] });
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
