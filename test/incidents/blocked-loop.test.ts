// Elsewhere: the event loop was blocked past the deadline, and the awaited continuation ran with `aborted === false` before the timer fired.
// Here: isHeld() reads the clock at the moment of the call, and aborts the signal before it answers. In one process, and in two on a file or a real server: there
// the successor leads already when the blocked one goes on.
// Taken out: test/defences/blocked-loop.patch
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { elect } from "conclave";
import { memory } from "conclave/stores/memory";
import { judgeLog } from "conclave/testing";
import { usePlaces } from "../support/real-stores.ts";
import { nowMs, Stage } from "../support/processes.ts";

const stage = new Stage();
const places = usePlaces(stage);
afterAll(() => stage.end());

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it("blocked-loop: after a blocked loop isHeld() is false and the signal aborted before any timer has fired", async () => {
  await using election = elect("x", { store: memory(), ttlMs: 400, drainMs: 50 });
  const term = await election.campaign();
  const { signal } = term;
  let timers = 0;
  setTimeout(() => timers++, 0);
  block(450);
  expect(signal.aborted).toBe(false); // nobody could have told it yet
  expect(term.isHeld()).toBe(false);
  expect(signal.aborted).toBe(true);
  expect(() => term.throwIfNotLeading()).toThrow(expect.objectContaining({ code: "TERM_LOST" }));
  expect(timers).toBe(0);
});

it.each(places)(
  "blocked-loop: a process that was blocked past its ttl knows at its first question, while its successor leads (%s)",
  { timeout: 30_000 },
  async (name, place) => {
    const shared = {
      ...place(),
      log: stage.file(`${name}.log`),
      ledger: stage.file(`${name}-ledger.db`),
      ttlMs: 2000,
    };
    const holder = await stage.start({ ...shared, id: "holder" });
    await holder.hears("wrote");
    const waiter = await stage.start({ ...shared, id: "waiter" });
    await waiter.hears("leader");
    const blockedAt = nowMs();
    holder.tell("block 6000");
    holder.tell("write"); // decided on while it led, sent when it goes on
    const { at } = await waiter.hears("wrote", blockedAt);
    const unblocked = await holder.hears("unblocked", blockedAt);
    expect(unblocked.at).toBeGreaterThan(at);
    expect(unblocked).toMatchObject({ held: false, aborted: [false, true] });
    expect(await holder.hears("refused", blockedAt)).toMatchObject({ code: "TOKEN_STALE" });
    const verdict = judgeLog(readFileSync(shared.log, "utf8"));
    expect(verdict).toMatchObject({ terms: 2, overlaps: [], regressions: [], unread: [] });
  },
);
