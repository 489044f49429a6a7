// memoryFence, and durableFence, which is the same to operations in flight. What a restart remembers is in durable.test.ts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { FencingToken } from "conclave";
import { durableFence, type Fence, memoryFence } from "conclave/fencing";
import { anyToken, by, codeOf, findDisorder, turn } from "./tokens.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-fence-"));
  folders.push(folder);
  return folder;
}

/** Work that ends when told. */
function task(): {
  readonly work: () => Promise<void>;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
} {
  let end = (): void => {};
  let fail: (error: Error) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { work: () => ended, end, fail };
}

describe.each<[string, () => Fence]>([
  ["memoryFence", () => memoryFence()],
  ["durableFence", () => durableFence(newFolder())],
])("%s", (_, make) => {
  it("runs work with the newest token, gives back its value, and passes on its error", async () => {
    const fence = make();
    expect(await fence.run("ledger", by(1), () => 7)).toBe(7);
    await expect(fence.run("ledger", by(1), () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(await codeOf(fence.run("ledger", by(2), () => {}))).toBe("admitted");
    expect(await codeOf(fence.run("ledger", by(1), () => {}))).toBe("TOKEN_STALE");
  });

  it("law 12: raises at once, and returns when no older operation is in progress", async () => {
    const fence = make();
    const [first, second] = [task(), task()];
    const story: string[] = [];
    const old = [fence.run("ledger", by(1), first.work), fence.run("ledger", by(1), second.work)];
    await turn();
    const raised = fence.raise("ledger", by(2)).then(() => story.push("raised"));
    expect(await codeOf(fence.run("ledger", by(1), () => {}))).toBe("TOKEN_STALE");
    first.end();
    await turn();
    expect(story).toEqual([]);
    second.end();
    await Promise.all([...old, raised]);
    expect(story).toEqual(["raised"]);
  });

  it("counts work that fails as ended, and only then", async () => {
    const fence = make();
    const failing = task();
    const old = codeOf(fence.run("ledger", by(1), failing.work));
    await turn();
    const raised = fence.raise("ledger", by(2));
    failing.fail(new Error("mine"));
    expect(await old).toBe("mine");
    await raised;
  });

  it("refuses who waited, when a still newer token comes meanwhile", async () => {
    const fence = make();
    const oldest = task();
    const running = fence.run("ledger", by(1), oldest.work);
    await turn();
    const waited = codeOf(fence.run("ledger", by(2), () => {}));
    const newest = codeOf(fence.run("ledger", by(3), () => {}));
    expect(await waited).toBe("TOKEN_STALE");
    oldest.end();
    await running;
    expect(await newest).toBe("admitted");
  });

  it("gives up waiting after waitMs, and keeps the newer token installed", async () => {
    const fence = make();
    const stuck = task();
    const running = fence.run("ledger", by(1), stuck.work);
    await turn();
    let begun = false;
    const newer = fence.run("ledger", by(2), () => (begun = true), { waitMs: 20 });
    await expect(newer).rejects.toMatchObject({ code: "FENCE_BUSY", retryable: true });
    expect(await codeOf(fence.run("ledger", by(1), () => {}))).toBe("TOKEN_STALE");
    stuck.end();
    await running;
    await turn();
    expect(begun).toBe(false);
    await fence.raise("ledger", by(2));
  });

  it.each([Infinity, 2 ** 31, 2 ** 40])(
    "waits without end for %d ms: a timer that is too long would fire at once",
    async (waitMs) => {
      const fence = make();
      const stuck = task();
      const running = fence.run("ledger", by(1), stuck.work);
      await turn();
      const newer = fence.run("ledger", by(2), () => "begun", { waitMs });
      const first = await Promise.race([newer, new Promise((resolve) => setTimeout(() => resolve("waits"), 20))]);
      expect(first).toBe("waits");
      stuck.end();
      await running;
      expect(await newer).toBe("begun");
    },
  );

  it.each([Number.NaN, -1, "5"])(
    "refuses to wait for %s ms, and work that is none, before it installs a token",
    async (waitMs) => {
      const fence = make();
      const invalid = { code: "CONFIG_INVALID" };
      await expect(fence.run("ledger", by(2), () => {}, { waitMs: waitMs as number })).rejects.toMatchObject(invalid);
      await expect(fence.run("ledger", by(2), undefined as never)).rejects.toMatchObject(invalid);
      await fence.raise("ledger", by(1));
    },
  );

  it("gives up waiting when its signal aborts, also before the call", async () => {
    const fence = make();
    const stuck = task();
    const running = fence.run("ledger", by(1), stuck.work);
    await turn();
    const stop = new AbortController();
    const newer = fence.raise("ledger", by(2), { signal: stop.signal });
    stop.abort(new Error("told to stop"));
    await expect(newer).rejects.toThrow("told to stop");
    await expect(fence.raise("ledger", by(2), { signal: stop.signal })).rejects.toThrow("told to stop");
    stuck.end();
    await running;
  });

  it("keeps resources apart", async () => {
    const fence = make();
    const stuck = task();
    const running = fence.run("a", by(1), stuck.work);
    await fence.raise("b", by(2));
    await fence.run("b", by(2), () => {});
    stuck.end();
    await running;
  });

  it("waits for operations of the old domain after adopt, and refuses it for ever", async () => {
    const fence = make();
    const old = task();
    const running = fence.run("ledger", by(41), old.work);
    await turn();
    expect(await codeOf(fence.raise("ledger", by(1, "n", "etcd-2")))).toBe("TOKEN_FOREIGN");
    fence.adopt("ledger", { from: "etcd-1", to: "etcd-2" });
    let raised = false;
    const raising = fence.raise("ledger", by(1, "n", "etcd-2")).then(() => (raised = true));
    await turn();
    expect(raised).toBe(false);
    old.end();
    await Promise.all([running, raising]);
    expect(await codeOf(fence.raise("ledger", by(9000)))).toBe("TOKEN_FOREIGN");
  });

  it("never lets operations of two tokens overlap, nor an older one begin after a newer, in any interleaving", async () => {
    const step = fc.record({
      token: anyToken,
      how: fc.constantFrom("raise", "run"),
      turns: fc.nat(3),
      pause: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
        const fence = make();
        const begun: FencingToken[] = [];
        const inside = new Set<FencingToken>();
        const attempts: Promise<unknown>[] = [];
        for (const { token, how, turns, pause } of steps) {
          const work = async (): Promise<void> => {
            begun.push(token);
            for (const other of inside)
              expect(findDisorder([other, token]) ?? findDisorder([token, other])).toBeUndefined();
            inside.add(token);
            for (let left = turns; left > 0; left--) await turn();
            inside.delete(token);
          };
          attempts.push(how === "run" ? codeOf(fence.run("r", { token }, work)) : codeOf(fence.raise("r", { token })));
          for (let left = pause; left > 0; left--) await turn();
        }
        const outcomes = await Promise.all(attempts);
        expect(outcomes.filter((outcome) => !/^(?:admitted|TOKEN_STALE|TOKEN_FOREIGN)$/.test(String(outcome)))).toEqual(
          [],
        );
        expect(findDisorder(begun)).toBeUndefined();
        expect(inside.size).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});
