// Elsewhere: the lock was released before the work had ended, and two were active (client-go, nestjs locks).
// Here: drain, then release: the store is told when the work has settled, and not before.
// Taken out: test/defences/early-release.patch
import { expect, it } from "vitest";
import { createCandidate } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { useRealStores } from "../support/real-stores.ts";

const stores: readonly (readonly [name: string, open: () => FencedStore])[] = [
  ["memory", () => memory()],
  ...useRealStores().map(([name, store]) => [name, () => store.open()] as const),
];

it.each(stores)(
  "early-release: nobody else begins before the work of a resigning leader has settled (%s)",
  async (_, open) => {
    const store = open();
    await using first = createCandidate({ store, id: "first", ttlMs: 2000 });
    await using second = createCandidate({ store, id: "second", ttlMs: 2000 });
    const story: string[] = [];
    const stop = new AbortController();
    const leading = first.election("x").lead(
      async (term) => {
        story.push("first begins");
        void second.election("x").lead(async () => void story.push("second begins"));
        setTimeout(() => stop.abort(), 50);
        await term.ended;
        await new Promise((resolve) => setTimeout(resolve, 250)); // slow to stop, but within the ttl
        story.push("first has ended");
      },
      { signal: stop.signal },
    );
    await leading;
    await expect.poll(() => story, { timeout: 5000 }).toEqual(["first begins", "first has ended", "second begins"]);
  },
);
