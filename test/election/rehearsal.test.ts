// What a change of leaders needs is compiled before it is needed (src/election/rehearsal.ts).
import { channel } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createCandidate, type Store } from "conclave";
import { memory } from "conclave/stores/memory";
import { sqlite } from "conclave/stores/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { nodeClock } from "../../src/election/clock.ts";
import { PlayedStore } from "../../src/election/played-store.ts";
import { rehearse } from "../../src/election/rehearsal.ts";
import type { Guarantee } from "conclave/stores/contract";
import { resolveSettings, type Settings } from "../../src/lease/settings.ts";
import { promised } from "../support/promised.ts";

const settingsFor = (guarantee: Guarantee, more: object = {}): Settings =>
  resolveSettings({ id: "a", ttlMs: 60_000, ...more }, guarantee, nodeClock().grain, "rehearsal.test");
const watched = promised.filter(({ guarantee }) => guarantee.wakes === "watch");

/** Resolves when one candidate leads and another one waits. */
async function leaderAndWaiter(name: string, store: Store<"fenced">): Promise<void> {
  await standing(name, store, "elected");
  await standing(name, store, "waiting");
}

async function standing(name: string, store: Store<"fenced">, until: string): Promise<void> {
  const candidate = createCandidate({ store });
  onTestFinished(() => candidate.close());
  const reached = new Promise<void>((resolve) =>
    candidate.subscribe(({ type }) => (type === until ? resolve() : undefined)),
  );
  candidate.election(name).start();
  await reached;
}

describe("a rehearsal", () => {
  it.each(watched)("leads one term by the rules of $title and gives it back", async ({ guarantee }) => {
    const from = performance.now();
    const term = await rehearse(settingsFor(guarantee));
    expect(term).toMatchObject({
      election: "rehearsal",
      candidate: expect.stringMatching(/^rehearsal_/),
      reason: "resigned",
    });
    expect(term?.isHeld()).toBe(false);
    // Nothing of it waits for a timer.
    expect(performance.now() - from).toBeLessThan(1_000);
  });

  it("tells nobody", async () => {
    const heard: unknown[] = [];
    const hear = (message: unknown): void => void heard.push(message);
    channel("conclave").subscribe(hear);
    process.on("warning", hear);
    try {
      for (const { guarantee } of watched) await rehearse(settingsFor(guarantee));
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      channel("conclave").unsubscribe(hear);
      process.off("warning", hear);
    }
    expect(heard).toEqual([]);
  });

  it("starts no thread, speaks for no node and hands nothing over", async () => {
    const [{ guarantee }] = watched.filter(({ driver }) => driver === "postgres") as [(typeof watched)[0]];
    const node = { name: "n1", machine: "m1" };
    const term = await rehearse(settingsFor(guarantee, { node, renewal: "thread", priority: 5 }));
    expect(term?.reason).toBe("resigned");
  });

  it("leaves nothing that keeps the process alive", async () => {
    const before = process.getActiveResourcesInfo();
    for (const { guarantee } of watched) await rehearse(settingsFor(guarantee));
    expect(process.getActiveResourcesInfo()).toEqual(before);
  });
});

describe("a process", () => {
  it("rehearses once, soon after one of its candidates has begun to wait or to lead, unless the store is inside the process", async () => {
    const closed = vi.spyOn(PlayedStore.prototype, "release");
    onTestFinished(() => closed.mockRestore());
    await leaderAndWaiter("inside", memory());
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(closed).not.toHaveBeenCalled();

    const folder = mkdtempSync(path.join(tmpdir(), "conclave-rehearsal-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await leaderAndWaiter("first", sqlite(path.join(folder, "first.db")));
    await new Promise((resolve) => setTimeout(resolve, 700));
    // One release gives the term back, and one ends the session.
    expect(closed).toHaveBeenCalledTimes(2);
    await leaderAndWaiter("second", sqlite(path.join(folder, "second.db")));
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(closed).toHaveBeenCalledTimes(2);
  });
});
