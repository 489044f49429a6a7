// Elsewhere: renewals ran in a thread of their own, and went on for a process whose main loop hung: nobody worked, and nobody could take over.
// Here: the thread stops once the main loop has not turned for stallAfterMs; a ttl later another leads. What wakes then knows at its first question that it does
// not lead any more, and code that asks for ever without yielding counts as hung.
// Taken out: test/mutants/deputy-never-stops.patch
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { judgeLog } from "conclave/testing";
import { nowMs, Stage } from "../support/processes.ts";

const stage = new Stage();
afterAll(() => stage.end());

it(
  "thread-stall: a leader whose main loop hangs is replaced, though its thread could renew",
  { timeout: 40_000 },
  async () => {
    const shared = { path: stage.file("stall.db"), log: stage.file("log"), ttlMs: 2000 };
    const leader = await stage.start({ ...shared, id: "leader", renewal: "thread", stallAfterMs: 3000 });
    await leader.hears("elected");
    const rival = await stage.start({ ...shared, id: "rival" });
    await rival.hears("leader");
    const from = nowMs();
    leader.tell("block 11000");
    const { at } = await rival.hears("elected", from);
    const woken = await leader.hears("unblocked", from);
    expect(at).toBeLessThan(woken.at);
    expect(woken).toMatchObject({ held: false, aborted: [false, true] });
    const verdict = judgeLog(readFileSync(shared.log, "utf8"));
    expect(verdict).toMatchObject({ terms: 2, overlaps: [], regressions: [], unread: [] });
  },
);
