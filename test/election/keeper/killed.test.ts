// An app with a keeper, as real processes on every store: killed, stopped, with children and without. The ttl is a minute, so that a leader that is
// elected before that was not elected by the ttl. How quick it is, is measured by bench/keeper.mjs.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { sqlite } from "conclave/stores/sqlite";
import { root } from "../../support/bundle.ts";
import { nowMs, type Player, sleep, Stage } from "../../support/processes.ts";
import { useDynamoDB, usePlaces, useRealStores, useZooKeeper } from "../../support/real-stores.ts";
import { happens, isGone, kill, until } from "../../supervisor/stage.ts";

const TTL_MS = 60_000;
/** Far below the ttl, and enough for a busy machine. */
const SOON_MS = 10_000;
const A_WHILE_MS = 400;
const FENCED = { effectsAreFenced: true } as const;

const stage = new Stage();
const places = usePlaces(stage, [...useRealStores(), ["zookeeper", useZooKeeper()], ["dynamodb", useDynamoDB()]]);
afterAll(() => stage.end());

/** What a candidate has started to keep it, as the kernel lists it. */
function keepersOf(player: { readonly pid: number }): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/cmdline`).endsWith(`app-keeper.js\0of ${player.pid}\0`) && !isGone(Number(pid)))
    .map(Number);
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

async function keeperOf(player: Player): Promise<number> {
  await until(() => keepersOf(player).length === 1, "it has a keeper");
  return keepersOf(player)[0] ?? -1;
}

describe.each(places)("on %s", { timeout: 90_000 }, (_name, place) => {
  it("the next one leads at once, and no keeper is left", async () => {
    const shared = { ...place(), ttlMs: TTL_MS, keeper: FENCED };
    const first = await stage.start({ ...shared, id: "first" });
    await first.hears("elected");
    const keeper = await keeperOf(first);
    const second = await stage.start({ ...shared, id: "second" });
    await second.hears("leader");
    const from = nowMs();
    await first.kill();
    const { at } = await second.hears("elected", from, SOON_MS);
    expect(at - from).toBeLessThan(SOON_MS);
    await until(() => isGone(keeper), "the keeper of the dead has ended");
    await second.kill();
  });

  it("not while a child of the dead one goes on writing; then at once", async () => {
    const file = stage.file(`writes-${_name}`);
    const shared = { ...place(), ttlMs: TTL_MS, keeper: FENCED };
    const first = await stage.start({ ...shared, id: "first", child: file });
    const { pid = -1 } = await first.hears("child");
    await until(() => existsSync(file), "the child writes");
    const second = await stage.start({ ...shared, id: "second" });
    await second.hears("leader");
    const from = nowMs();
    await first.kill();
    await sleep(A_WHILE_MS);
    expect(second.heard.some(({ event }) => event === "elected")).toBe(false);
    kill(pid, "SIGKILL");
    const { at } = await second.hears("elected", from, SOON_MS);
    const last = readFileSync(file, "utf8").trim().split("\n").map(Number).at(-1) ?? Infinity;
    expect(last - from, "it has written after the death").toBeGreaterThan(0);
    expect(at).toBeGreaterThan(last);
    await second.kill();
  });

  it("a stopped app is not dead: it goes on leading when it is continued", async () => {
    const shared = { ...place(), ttlMs: TTL_MS, keeper: FENCED };
    const first = await stage.start({ ...shared, id: "first" });
    await first.hears("elected");
    await keeperOf(first);
    const second = await stage.start({ ...shared, id: "second" });
    await second.hears("leader");
    first.signal("SIGSTOP");
    await sleep(A_WHILE_MS);
    expect(second.heard.some(({ event }) => event === "elected")).toBe(false);
    first.signal("SIGCONT");
    first.tell("block 1");
    expect(await first.hears("unblocked")).toMatchObject({ held: true });
    await Promise.all([first.kill(), second.kill()]);
  });
});

it("a keeper that is killed is replaced, and the next one does its work", { timeout: 60_000 }, async () => {
  const shared = { path: stage.file("replaced.db"), ttlMs: TTL_MS, keeper: FENCED };
  const first = await stage.start({ ...shared, id: "first", child: stage.file("replaced-writes") });
  const { pid = -1 } = await first.hears("child");
  const keeper = await keeperOf(first);
  kill(keeper, "SIGKILL");
  expect(await first.hears("error")).toMatchObject({ code: "KEEPER_LOST" });
  await until(() => keepersOf(first).some((other) => other !== keeper), "another keeper");
  await sleep(A_WHILE_MS); // it holds what rivals watch once it runs
  const second = await stage.start({ ...shared, id: "second" });
  await second.hears("leader");
  await first.kill();
  expect(await happens(() => second.heard.some(({ event }) => event === "elected"), A_WHILE_MS)).toBe(false);
  kill(pid, "SIGKILL");
  await second.hears("elected", 0, SOON_MS);
  await second.kill();
});

it("with quietMs the seat is given back so much later", { timeout: 60_000 }, async () => {
  const shared = { path: stage.file("quiet.db"), ttlMs: TTL_MS, keeper: { quietMs: 1500 } };
  const first = await stage.start({ ...shared, id: "first" });
  await first.hears("elected");
  const second = await stage.start({ ...shared, id: "second" });
  await second.hears("leader");
  const from = nowMs();
  await first.kill();
  const { at } = await second.hears("elected", from, SOON_MS);
  expect(at - from).toBeGreaterThan(1500);
  await second.kill();
});

it("one that is closed leaves no seat to give back, and a keeper only for a while", { timeout: 60_000 }, async () => {
  const first = await stage.start({ path: stage.file("closed.db"), ttlMs: TTL_MS, keeper: FENCED, id: "first" });
  await first.hears("elected");
  const keeper = await keeperOf(first);
  first.tell("close");
  expect(await first.exited()).toBe(0);
  await until(() => isGone(keeper), "it has ended with its app");
});

it("one keeper serves all candidates and stores of a process", { timeout: 60_000 }, async () => {
  const [one, two] = [stage.file("one.db"), stage.file("two.db")];
  const script = `
    import { createCandidate, openStore } from "./index.js";
    const keeper = { effectsAreFenced: true };
    const stores = await Promise.all([${JSON.stringify([one, two, two])}].flat().map((file) => openStore("sqlite:" + file)));
    for (const [n, store] of stores.entries())
      await createCandidate({ store, ttlMs: ${TTL_MS}, keeper }).election("x" + n).campaign();
    console.log("leads");`;
  const program = path.join(await stage.modules(), "several.mjs");
  writeFileSync(program, script);
  const env = { ...process.env, NODE_PATH: path.join(root, "node_modules") };
  const app = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"], env });
  await new Promise((resolve) => app.stdout.once("data", resolve));
  await until(() => keepersOf({ pid: app.pid ?? -1 }).length === 1, "those before the last have left");
  app.kill("SIGKILL");
  for (const [n, file] of [one, two, two].entries()) {
    const candidate = createCandidate({ store: sqlite(file), ttlMs: TTL_MS });
    await candidate.election(`x${n}`).campaign({ signal: AbortSignal.timeout(SOON_MS) });
    await candidate.close();
  }
});

const postgresPlace = places.find(([name]) => name === "postgres")?.[1];
it("renewed by a thread: the keeper knows the beats that the thread leaves", { timeout: 60_000 }, async () => {
  const ttlMs = 9000;
  const shared = { ...postgresPlace?.(), ttlMs, keeper: FENCED };
  const first = await stage.start({ ...shared, id: "first", renewal: "thread", holdMs: TTL_MS });
  await first.hears("elected");
  await sleep(0.9 * ttlMs); // three renewals
  const second = await stage.start({ ...shared, id: "second" });
  await second.hears("leader");
  const from = nowMs();
  await first.kill();
  const { at } = await second.hears("elected", from, SOON_MS);
  expect(at - from).toBeLessThan(ttlMs / 3);
  await second.kill();
});
