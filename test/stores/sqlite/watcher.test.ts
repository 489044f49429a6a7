// Hints of `sqlite:`: what a watcher hears, and in which state. They are not needed for safety, but a waiter that hears nothing waits for its next poll.
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { sqlite } from "conclave/stores/sqlite";
import type { Hint, Hold, Session, Store } from "conclave/stores/contract";
import { call, claim, hold, open } from "../moves.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-watcher-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => path.join(folder, `${++files}.db`);

/** Fails by the assertion, and not by the wait for it. */
const soon = (isSo: () => void): Promise<void> => vi.waitFor(isSo, { timeout: 5000, interval: 10 });

/** What comes, until the store is closed. */
function listen(store: Store, name: string): { readonly hints: Hint[]; readonly ended: Promise<void> } {
  const hints: Hint[] = [];
  const watch = async (): Promise<void> => {
    for await (const hint of store.watch?.([{ name }], call()) ?? []) hints.push(hint);
  };
  return { hints, ended: watch() };
}

async function release(store: Store, session: Session, held: Hold): Promise<void> {
  expect(await store.release({ session, holds: [held], endSession: false }, call())).toEqual({ kind: "released" });
}

it("a seat that was given back between the look and the watch is told at once", async () => {
  const file = newFile();
  const [holder, asker] = [sqlite(file), sqlite(file)];
  const session = await open(holder);
  await release(holder, session, await hold(holder, session, "x"));
  const { hints, ended } = listen(asker, "x");
  await soon(() => expect(hints[0]?.seat?.state).toBe("vacant"));
  await Promise.all([holder.close(), asker.close()]);
  await ended;
});

it("a change of a seat that stays held is told as such, and no living holder as abandoned", async () => {
  const file = newFile();
  const [holder, asker] = [sqlite(file), sqlite(file)];
  const session = await open(holder);
  const held = await hold(holder, session, "x");
  const { hints, ended } = listen(asker, "x");
  expect(
    await holder.claim([{ session, name: "x", bid: held.bid, over: undefined, value: "new" }], call()),
  ).toMatchObject([{ kind: "granted" }]);
  await soon(() => expect(hints.at(-1)?.seat?.holder?.value).toBe("new"));
  expect(hints.map(({ seat }) => seat?.state)).not.toContain("abandoned");
  await Promise.all([holder.close(), asker.close()]);
  await ended;
});

it("a file that was replaced is told, and so is everything in the new one, however few its changes are", async () => {
  const file = newFile();
  const [holder, asker] = [sqlite(file), sqlite(file)];
  const session = await open(holder);
  for (let times = 0; times < 3; times++) await release(holder, session, await hold(holder, session, "other"));
  await hold(holder, session, "x");
  const { hints, ended } = listen(asker, "x");
  await holder.close();
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${file}${suffix}`, `${file}.old${suffix}`);
  await soon(() => expect(hints.at(-1)?.seat?.state).toBe("missing"));
  const next = sqlite(file);
  const granted = await claim(next, await open(next), "x");
  expect(granted.kind).toBe("granted");
  // The first call says why, the second opens the new file.
  expect(await asker.look([{ name: "x" }], call())).toMatchObject({ kind: "refused" });
  expect(await asker.look([{ name: "x" }], call())).toMatchObject({ kind: "seen" });
  await soon(() => expect(hints.at(-1)?.seat?.state).toBe("held"));
  await Promise.all([next.close(), asker.close()]);
  await ended;
});

it("a holder that is listened to tells of its changes: nobody waits for the next look, which comes once a second then", async () => {
  const file = newFile();
  const [holder, asker] = [sqlite(file), sqlite(file)];
  const session = await open(holder);
  const { bid } = await hold(holder, session, "x");
  const { hints, ended } = listen(asker, "x");
  const tookMs: number[] = [];
  for (let round = 0; round < 7; round++) {
    const [value, from] = [`${round}`, performance.now()];
    await holder.claim([{ session, name: "x", bid, over: undefined, value }], call());
    await soon(() => expect(hints.at(-1)?.seat?.holder?.value).toBe(value));
    tookMs.push(performance.now() - from);
  }
  // The first may have come by looks every 50 ms, before the holder is connected. After that a look takes a second.
  expect(Math.min(...tookMs.slice(4))).toBeLessThan(500);
  await Promise.all([holder.close(), asker.close()]);
  await ended;
});
