// Every example is run; those that need a server in examples-on-servers.test.ts. Those that only print get `src` as it is, under the names that users import; the others are processes of their own, with the build.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runExample as run } from "./support/example.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
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

  it("semaphore: six replicas call in turns, two at a time and never three", async () => {
    await import("../examples/semaphore/main.mjs");
    expect(printed).toHaveLength(6);
    expect(new Set(printed.map((line) => line.replace(/^.*; /, "")))).toEqual(new Set(["1 at once", "2 at once"]));
    expect(new Set(printed.map((line) => line.split(" ")[0])).size).toBe(6);
  });

  it("lock: no addition is lost under the lock, and nine are without it", async () => {
    await import("../examples/lock/main.mjs");
    expect(printed).toEqual(["with the lock: 10 of 10", "without it:    1 of 10"]);
  });

  it("stale-write: the late write of the old leader is refused", async () => {
    await import("../examples/stale-write/main.mjs");
    expect(printed.map((line) => line.split(" ")[0])).toEqual(["accepted", "accepted", "refused"]);
  });

  it("signed-token: a stranger's huge token locks the leader out without signatures, and not with them", async () => {
    await import("../examples/signed-token/main.mjs");
    expect(process.exitCode ?? 0).toBe(0);
    expect(printed).toEqual([
      "without signatures: a stranger's token 999999: 200, and then the leader: 412 TOKEN_STALE",
      "with signatures:    the leader: 200",
      "  forged by a stranger:                  403 TOKEN_UNTRUSTED",
      "  altered on its way:                    403 TOKEN_UNTRUSTED",
      "  for another resource:                  403 TOKEN_UNTRUSTED",
      "  not signed:                            403 TOKEN_UNTRUSTED",
      "  copied, and sent again too late:       403 TOKEN_EXPIRED",
      "  of a leader that was replaced:         412 TOKEN_STALE",
      "  signed with the next key:              403 TOKEN_UNTRUSTED, and 200 once that key is accepted",
    ]);
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
});

describe("an example that ends by itself", () => {
  it.each([
    ["env-store", 2, /^leading with token 1$/],
    ["migration", 5, /^web-\d: migrated$/],
    ["serverless", 4, /another invocation has it$|: batch a with token 1$/],
    ["testing", 1, /^what is asserted holds$/],
    ["protocol-host", 2, /^3 agree: \d leads in term \d+$/],
  ])("%s", async (name, count, first) => {
    const { code, lines, trouble } = await run(name, { env: { CONCLAVE_STORE: "memory:", CACHE_STORE: "memory:" } });
    expect({ code, trouble }).toEqual({ code: 0, trouble: "" });
    expect(lines).toHaveLength(count);
    expect(lines[0]).toMatch(first);
  });

  it("store-author: every case passes under node:test", async () => {
    const { code, lines } = await run("store-author", { node: ["--test"] });
    expect({ code, failed: lines.filter((line) => /^(?:# fail|ℹ fail) [^0]/.test(line)) }).toEqual({
      code: 0,
      failed: [],
    });
  });
});

describe("an example that goes on until SIGTERM ends by itself then, with everything given back", () => {
  it.each([
    ["many", /leads 1000/, "all are given back"],
    ["observe", /127\.0\.0\.1:3000/, undefined],
    ["operator", /has started/, "the controller has stopped"],
    ["shutdown", /at work/, "the seat is given back"],
    ["cron", /billed \d+\n/, undefined],
    ["partitions", /(?:leads \d\n[\s\S]*){8}took an order/, undefined],
  ])("%s", async (name, stopAt, last) => {
    const folder = mkdtempSync(path.join(tmpdir(), "conclave-example-"));
    const { code, lines, trouble } = await run(name, { stopAt, env: { CONCLAVE_STORE: "memory:", FOLDER: folder } });
    rmSync(folder, { recursive: true });
    expect({ code, trouble }).toEqual({ code: 0, trouble: "" });
    if (last !== undefined) expect(lines.at(-1)).toBe(last);
  });

  it("express: answers probes, metrics and who leads, and reports on the leader", async () => {
    const child = spawn(process.execPath, [path.join(root, "examples/express/main.mjs")], {
      env: { ...process.env, CONCLAVE_STORE: "memory:", PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await expect
      .poll(() => said, { timeout: 45_000 })
      .toMatch(/listening on \d+[\s\S]*report by the leader with token 1/);
    const port = /listening on (\d+)/.exec(said)?.[1];
    const ask = (where: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${where}`);
    expect([(await ask("/healthz")).status, (await ask("/readyz")).status]).toEqual([200, 200]);
    expect(await (await ask("/metrics")).text()).toContain('conclave_leading{election="reports"} 1');
    expect(await (await ask("/leader")).json()).toMatchObject({ leader: { token: "1" } });
    child.kill("SIGTERM");
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  });
});

it("cron: two replicas bill each slot once, also when the leader leaves in the middle", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-example-"));
  const env = { CONCLAVE_STORE: `sqlite:${folder}/cron.db`, FOLDER: folder, EVERY_MS: "400" };
  const replica = (billed: number): ReturnType<typeof run> =>
    run("cron", { env, stopAt: new RegExp(`(?:billed \\d+\\n[\\s\\S]*){${billed}}`) });
  // The one that leads first leaves after three; the other takes over, bills three more, and leaves too.
  const both = await Promise.all([replica(3), replica(3)]);
  rmSync(folder, { recursive: true });
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  const slots = both.flatMap(({ lines }) => lines.filter((line) => line.startsWith("billed")));
  expect(slots.length).toBeGreaterThanOrEqual(6);
  expect(new Set(slots).size).toBe(slots.length);
});
