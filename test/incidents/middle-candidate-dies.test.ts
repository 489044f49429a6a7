// Elsewhere: A led, B and C waited, B died; C took the end of the one it waited behind for the end of the leader, and led too (etcd3#176, Netflix curator#115).
// Here: whose death frees a seat is the holder of that seat and nobody else. Real processes: B is killed, and later A; C leads after A, and not before.
// Taken out: test/defences/middle-candidate-dies.patch
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { judgeLog } from "conclave/testing";
import { usePlaces } from "../support/real-stores.ts";
import { nowMs, sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
const places = usePlaces(stage);
afterAll(() => stage.end());

it.each(places)(
  "middle-candidate-dies: those who wait behind it go on waiting for the leader (%s)",
  { timeout: 30_000 },
  async (name, place) => {
    const shared = { ...place(), log: stage.file(`${name}.log`), ttlMs: 2000 };
    const a = await stage.start({ ...shared, id: "a" });
    await a.hears("elected");
    const b = await stage.start({ ...shared, id: "b" });
    await b.hears("leader");
    const c = await stage.start({ ...shared, id: "c" });
    await c.hears("leader");
    await b.kill();
    await sleep(3000); // longer than any of them could wait for silence
    expect(c.heard.filter(({ event }) => event === "elected")).toEqual([]);
    expect(a.heard.filter(({ event }) => event === "lost")).toEqual([]);
    const killedAt = nowMs();
    await a.kill();
    await c.hears("elected", killedAt);
    await sleep(100);
    await c.kill();
    const verdict = judgeLog(readFileSync(shared.log, "utf8"));
    expect(verdict).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  },
);
