// The examples that run today, run. They get `src` as it is, under the names that users import.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

let printed: string[] = [];
beforeEach(() => {
  printed = [];
  vi.spyOn(console, "log").mockImplementation((...words: unknown[]) => void printed.push(words.join(" ")));
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("an example that runs today", () => {
  it("quick-start: three candidates take turns, one at a time, with growing tokens", async () => {
    await import("../examples/quick-start/main.mjs");
    const turns = printed.slice(0, -1);
    expect(turns.map((line) => line.replace(/^web-\S*/, "web"))).toEqual([
      "web leads with token 1; 1 at work",
      "web leads with token 2; 1 at work",
      "web leads with token 3; 1 at work",
    ]);
    expect(new Set(turns.map((line) => line.slice(0, "web-1".length))).size).toBe(3);
  });

  it("lock: no addition is lost under the lock, and nine are without it", async () => {
    await import("../examples/lock/run.mjs");
    expect(printed).toEqual(["with the lock: 10 of 10", "without it:    1 of 10"]);
  });

  it("stale-write: the late write of the old leader is refused", async () => {
    await import("../examples/stale-write/main.mjs");
    expect(printed.map((line) => line.split(" ")[0])).toEqual(["accepted", "accepted", "refused"]);
  });

  it.each([
    ["fenced-memory", "= 150", "= 157; a later deposit of the old leader: TOKEN_STALE"],
    ["fenced-file", "of the old leader", `of the successor, who read "before"; the late write: TOKEN_STALE`],
    ["fenced-http", "the old leader's price", "the new leader's price; a late request: 412"],
    ["fenced-sqlite", "old leader", "successor; the late write: TOKEN_STALE"],
  ])("%s: corrupts without a fence, and not with one", async (name, unfenced, fenced) => {
    await import(`../examples/${name}/main.mjs`);
    expect(printed).toEqual([expect.stringMatching(/^without a fence: /), expect.stringMatching(/^with a fence: /)]);
    expect(printed[0]?.endsWith(unfenced)).toBe(true);
    expect(printed[1]?.endsWith(fenced)).toBe(true);
    expect(process.exitCode ?? 0).toBe(0);
  });

  it("testing: what it asserts holds", async () => {
    await import("../examples/testing/main.ts");
  });

  it("env-store: with no store in the environment, it leads on memory:", async () => {
    vi.stubEnv("CONCLAVE_STORE", undefined);
    vi.stubEnv("CACHE_STORE", undefined);
    await import("../examples/env-store/main.ts");
    vi.unstubAllEnvs();
    expect(printed).toHaveLength(2);
  });
});
