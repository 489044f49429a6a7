// Where nothing shows the kernel's word to others, the keeper executes the will: it opens the store again by its URL. Here a SQLite file whose path is too
// long for a socket; networked stores are the same to the keeper.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { judgeLog } from "conclave/testing";
import { afterAll, expect, it } from "vitest";
import { isGone, nowMs, Stage, until } from "./stage.ts";

const stage = new Stage();
afterAll(() => stage.end());

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
