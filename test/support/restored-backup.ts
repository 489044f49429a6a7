// The incident of a restored backup, as it is tried on every store whose server can be put back to what it was: test/incidents/restored-backup.test.ts.
import { cpSync, rmSync } from "node:fs";
import type { ExpectStatic } from "vitest";
import { elect } from "conclave";
import { memoryFence } from "conclave/fencing";
import type { FencedStore } from "conclave/stores/contract";
import type { ServerNode } from "./servers.ts";

export interface Restorable {
  open(): FencedStore | Promise<FencedStore>;
  backUp(): Promise<void>;
  restore(): Promise<void>;
}

/** A server whose data are put back to what they were. */
export async function restoredBackup(place: Restorable, expect: ExpectStatic): Promise<void> {
  const ledger = memoryFence();
  // A candidate of its own each time: one that had seen the greater number would refuse by itself.
  const leadOnce = async (): Promise<{ value: bigint; fate: string }> => {
    const store = await place.open();
    const led = await elect("x", { store, ttlMs: 2000 }).lead(async (term) => {
      const fate = await ledger.raise("ledger", term).then(
        () => "written",
        ({ code }: { readonly code: string }) => code,
      );
      return { value: term.token.value, fate };
    });
    await store.close();
    return led ?? { value: 0n, fate: "never led" };
  };
  expect((await leadOnce()).fate).toBe("written");
  await place.backUp();
  const last = await leadOnce();
  expect(last.fate).toBe("written");
  await place.restore();
  const again = await leadOnce();
  expect(again.fate).toBe("TOKEN_STALE");
  expect(again.value).toBeLessThanOrEqual(last.value);
  await expect.poll(async () => (await leadOnce()).fate).toBe("written");
}

/** Copies what a server has on its disk while it is down, and puts it back. */
export function inFolder(node: () => ServerNode, data: string, open: () => FencedStore): Restorable {
  const backup = `${data}-backup`;
  const whileDown = async (work: () => void): Promise<void> => {
    await node().stop();
    work();
    await node().restart();
  };
  return {
    open,
    backUp: () => whileDown(() => cpSync(data, backup, { recursive: true })),
    restore: () =>
      whileDown(() => {
        rmSync(data, { recursive: true });
        cpSync(backup, data, { recursive: true });
      }),
  };
}
