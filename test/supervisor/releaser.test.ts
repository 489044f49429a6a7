// Where nothing shows the kernel's word to others, the keeper executes the will: it opens the store again by its URL. Here a SQLite file whose path is too
// long for a socket; networked stores are the same to the keeper.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { sqlite } from "conclave/stores/sqlite";
import { judgeLog } from "conclave/testing";
import { afterAll, expect, it } from "vitest";
import type { Estate } from "../../src/supervisor/keeper-messages.ts";
import { call, claim, hold, open } from "../stores/moves.ts";
import { isGone, nowMs, Stage, until } from "./stage.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const stage = new Stage();
afterAll(() => stage.end());

it("the session of the dead is ended: a renewal that was under way is refused, and the next need not wait", async () => {
  const store = sqlite(stage.file("will.db"));
  const session = await open(store);
  const { name, bid } = await hold(store, session, "x");
  const estate: Estate = { url: `sqlite:${stage.file("will.db")}`, session, holds: [{ name, bid }] };
  const releaser = spawn(process.execPath, [await stage.program("supervisor/releaser")], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { ...process.env, NODE_PATH: modules },
  });
  releaser.stdin.end(JSON.stringify(estate));
  const code = await new Promise((resolve) => releaser.once("close", resolve));
  expect(code).toBe(0);
  expect(await store.keep(session, [], call())).toMatchObject({ kind: "session-lost" });
  expect(await claim(store, await open(store), "x")).toMatchObject({ kind: "granted" });
  await store.close();
});

it("a killed supervisor's term is given back by the keeper, long before its ttl", { timeout: 60_000 }, async () => {
  const folder = path.join(
    stage.folder,
    "a-name-that-is-much-too-long-for-the-path-of-a-socket",
    "and-one-more-such-name-below-it",
  );
  mkdirSync(folder, { recursive: true });
  const flags = ["--store", `sqlite:${folder}/elections.db`];
  const env = { TMPDIR: folder, XDG_RUNTIME_DIR: folder };
  const first = await stage.run({ id: "first", ttl: "10m", flags, env, command: stage.actor });
  await first.tells("child", "started");
  const second = await stage.run({ id: "second", ttl: "10m", flags, env, command: stage.actor });
  await second.tells("session", "opened");
  await until(() => stage.readLog().includes("act"), "the first acts");
  const killedAt = nowMs();
  first.signal("SIGKILL");
  await second.tells("child", "started");
  expect(nowMs() - killedAt).toBeLessThan(10_000);
  expect(isGone(first.childPid)).toBe(true);
  await until(() => stage.readLog().includes(" second_"), "the second acts");
  expect(judgeLog(stage.readLog())).toMatchObject({ terms: 2, overlaps: [], regressions: [] });
});
