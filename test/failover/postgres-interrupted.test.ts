// A server of PostgreSQL that was killed in the middle of its promotion, before its new timeline had a history file: it starts again as a standby, and says that it has what it had before.
import {
  chownSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgresReplication, type Replication, type ServerLink, type ServerSpec } from "conclave/failover";
import { makeCopies, serverCommand } from "../../scripts/servers/postgres.mjs";
import { freePorts, launch, type ServerNode } from "../../scripts/servers/process.mjs";
import { readControl } from "../../src/failover/postgres-control.ts";
import { homeOf, type PostgresHome } from "../../src/failover/postgres-home.ts";
import { standbyName } from "../../src/failover/postgres-view.ts";

let base: string;
let servers: Readonly<Record<string, ServerSpec>>;
let replication: Replication;
const running: ServerNode[] = [];

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), "conclave-interrupted-"));
  await makeCopies(base, ["a", "b"], { fsync: "off" });
  const ports = await freePorts(2);
  servers = Object.fromEntries(["a", "b"].map((name, index) => [name, specOf(name, ports[index] ?? 0)]));
  replication = postgresReplication(servers, { timeoutMs: 5000, promoteWithinMs: 20_000, confirmations: 0 });
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.kill();
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

function specOf(name: string, port: number): ServerSpec {
  return { name, url: `postgres://postgres@127.0.0.1:${port}/postgres`, host: "127.0.0.1", port, priority: 100 };
}

function commandOf(name: string): readonly string[] {
  return serverCommand(path.join(base, name), servers[name]?.port ?? 0);
}

function homeIn(name: string): PostgresHome {
  return homeOf(commandOf(name), {});
}

/** As a guard does before it starts the server. */
async function prepare(name: string, follows?: string, mends = false): Promise<readonly string[]> {
  const server = servers[name] as ServerSpec;
  const primary = follows === undefined ? undefined : servers[follows];
  const { signal } = new AbortController();
  const prepared = await replication.prepare({ server, command: commandOf(name), primary, mends, signal });
  expect(prepared.trouble).toBe(undefined);
  return prepared.command;
}

/** As a guard does. Rejects if the server ends instead. */
async function started(name: string, follows?: string): Promise<ServerNode> {
  const server = servers[name] as ServerSpec;
  const primary = servers[follows ?? ""];
  const [command = "", ...args] = await prepare(name, follows);
  const ready = async (): Promise<boolean> => {
    const link = await replication.connect(server);
    const view = await link.view();
    if (view.is === "up" && primary !== undefined && !view.isLinked) await link.follow(primary);
    link.close();
    return view.is === "up" && (primary === undefined || view.isLinked);
  };
  const node = await launch({ url: server.url, command, args, log: path.join(base, `${name}.log`), ready });
  running.push(node);
  return node;
}

/** A backend lives on for a moment when its postmaster was killed, and PostgreSQL does not start beside it. Each of them works in the data folder. */
async function isDown(name: string): Promise<void> {
  const folder = path.join(base, name);
  const isThere = (pid: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false; // it is gone
    }
  };
  await expect.poll(() => readdirSync("/proc").filter(isThere), { timeout: 30_000 }).toEqual([]);
  expect(homeIn(name).postmaster()).toBe(undefined);
}

async function linkTo(name: string): Promise<ServerLink> {
  return await replication.connect(servers[name] as ServerSpec);
}

/** What XLogInitNewTimeline of PostgreSQL leaves: the last file of the log once more, under the number of the new timeline. */
function beginTimeline(name: string, number: number): void {
  const log = path.join(base, name, "pg_wal");
  const last =
    readdirSync(log)
      .filter((file) => /^[0-9A-F]{24}$/.test(file))
      .toSorted()
      .at(-1) ?? "";
  copyFileSync(path.join(log, last), path.join(log, `0000000${number}${last.slice(8)}`));
}

describe("a server of PostgreSQL that was killed in the middle of its promotion", () => {
  it("starts as a standby, when its number was reserved and it had not begun", async () => {
    homeIn("a").reserveTimelines(4);
    await prepare("a");
    // With one of them PostgreSQL would wait for that timeline for ever.
    expect(readdirSync(path.join(base, "a", "pg_wal")).filter((file) => file.endsWith(".history"))).toEqual([]);
    await started("a");
    const link = await linkTo("a");
    expect(await link.view()).toMatchObject({ is: "up", role: "replica", generation: 1 });
    link.close();
  }, 120_000);

  it("starts as a standby on its old timeline, when the new one had a file of the log and no history", async () => {
    homeIn("a").reserveTimelines(4);
    beginTimeline("a", 4);
    await started("a");
    const link = await linkTo("a");
    expect(await link.view()).toMatchObject({ is: "up", role: "replica", generation: 1 });
    expect(await link.promote({ generation: 5, standbys: undefined })).toBe("done");
    expect(await link.view()).toMatchObject({
      role: "primary",
      generation: 5,
      ancestors: [expect.stringMatching(/\/1$/)],
    });
    expect(readFileSync(path.join(base, "a", "pg_wal", "00000005.history"), "utf8")).toMatch(/^1\s/);
    link.close();
  }, 120_000);
});

describe("a standby of PostgreSQL that could not be started", () => {
  it("is left as it is if it has not parted: to end its recovery would part it", async () => {
    await started("a");
    const primary = await linkTo("a");
    expect(await primary.promote({ generation: 2, standbys: undefined })).toBe("done");
    primary.close();
    const standby = await started("b", "a");
    await standby.kill();
    const before = await readControl(homeIn("b"));
    expect(before?.state).toBe("in archive recovery");
    await isDown("b");
    await prepare("b", "a", true);
    expect(await readControl(homeIn("b"))).toEqual(before);
    await started("b", "a");
  }, 120_000);
});

/** Every commit of the server waits for `standby`. */
async function promoteWaitingFor(name: string, standby: string, generation: number): Promise<void> {
  const link = await linkTo(name);
  const standbys = { primary: name, confirmations: 1, promotable: [standby] };
  expect(await link.promote({ generation, standbys })).toBe("done");
  link.close();
}

/** The standby has everything that the primary has. */
async function isLevel(primary: string, standby: string): Promise<void> {
  const [first, second] = [await linkTo(primary), await linkTo(standby)];
  const positions = async (): Promise<readonly unknown[]> =>
    (await Promise.all([first.view(), second.view()])).map((view) => (view.is === "up" ? view.position : view));
  await expect.poll(async () => new Set(await positions()).size, { timeout: 30_000 }).toBe(1);
  first.close();
  second.close();
}

/** The first column of the first row. */
async function ask(name: string, text: string): Promise<string> {
  const client = new pg.Client({ connectionString: servers[name]?.url });
  client.on("error", () => {});
  await client.connect();
  const answers = [await client.query(text)].flat();
  await client.end();
  return String(Object.values((answers.at(-1)?.rows[0] ?? {}) as object)[0]);
}

/** a was the primary; b is, on timeline 3, which it has begun before the last `writes` of a. */
async function twoPrimaries(end: "stop" | "kill", writes = "SELECT"): Promise<void> {
  const old = await started("a");
  await promoteWaitingFor("a", "b", 2);
  const standby = await started("b", "a");
  await ask("a", "CREATE TABLE rows (id int, text text); CHECKPOINT");
  await isLevel("a", "b");
  await standby.stop();
  await isDown("b");
  await ask("a", `SET synchronous_commit = local; ${writes}`);
  await old[end]();
  await isDown("a");
  await started("b");
  await promoteWaitingFor("b", "a", 3);
}

/** a has fetched the history of b's timeline, and was killed before anybody has taken it back. */
function hears(): void {
  const [from, to] = ["b", "a"].map((name) => path.join(base, name, "pg_wal", "00000003.history"));
  copyFileSync(from ?? "", to ?? "");
}

/** b was told to become the primary, on timeline 3, and was killed. a has been the primary before, and is again, on timeline 4. */
async function chosenInVain(dies: (b: ServerNode) => Promise<void>): Promise<void> {
  const old = await started("a");
  await promoted("a", 2);
  const standby = await started("b", "a");
  await ask("a", "CREATE TABLE rows (id int, text text); CHECKPOINT");
  await isLevel("a", "b");
  await standby.stop();
  await isDown("b");
  await dies(await started("b"));
  for (const server of [old, ...running.slice(-1)]) await server.kill();
  await Promise.all([isDown("a"), isDown("b")]);
  await started("a");
  await promoted("a", 4);
}

/** Its commits wait for nobody. */
async function promoted(name: string, generation: number): Promise<void> {
  const link = await linkTo(name);
  expect(await link.promote({ generation, standbys: undefined })).toBe("done");
  link.close();
}

/** Its guard starts it, hears that it has parted, stops it, takes it back, and starts it again. */
async function isTakenBack(name: string, primary: string): Promise<void> {
  const follows = async (): Promise<unknown> => {
    await started(name);
    const link = await linkTo(name);
    const outcome = await link.follow(servers[primary] as ServerSpec);
    link.close();
    return outcome;
  };
  expect(await follows()).toBe("parted");
  await running.at(-1)?.stop();
  await isDown(name);
  await prepare(name, primary, true);
  expect(await follows()).toBe("done");
}

async function startsOrNot(name: string): Promise<"starts" | "ends"> {
  return await started(name).then(
    () => "starts",
    () => "ends",
  );
}

const SURPLUS = "INSERT INTO rows SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) AS i";

describe("a server of PostgreSQL that has parted from its primary", () => {
  it("confirms no commit of that primary, although it says that it has come further", async () => {
    await twoPrimaries("kill", SURPLUS);
    let isAcknowledged = false;
    void ask("b", "CREATE TABLE next (id int)").then(
      () => (isAcknowledged = true),
      () => {},
    );
    await started("a");
    const link = await linkTo("a");
    // As often as a guard would try.
    for (let round = 0; round < 5; round++) expect(await link.follow(servers["b"] as ServerSpec)).toBe("parted");
    expect(isAcknowledged).toBe(false);
    link.close();
  }, 120_000);

  it("counts for nothing where it connects by itself, under the name for an earlier timeline", async () => {
    await twoPrimaries("kill", SURPLUS);
    let isAcknowledged = false;
    void ask("b", "CREATE TABLE next (id int)").then(
      () => (isAcknowledged = true),
      () => {},
    );
    await started("a");
    const { port } = servers["b"] as ServerSpec;
    await ask(
      "a",
      `ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres application_name=${standbyName("a", 2)}'`,
    );
    await ask("a", "SELECT pg_reload_conf()");
    await expect
      .poll(() => readFileSync(path.join(base, "a.log"), "utf8"), { timeout: 30_000 })
      .toMatch(/(forked off[\s\S]*){5}/);
    expect(isAcknowledged).toBe(false);
  }, 120_000);

  it("starts although it has the history of that primary: somebody may have to ask how much it has", async () => {
    await twoPrimaries("kill", SURPLUS);
    await started("a");
    await running.at(-1)?.stop();
    hears();
    expect((await readControl(homeIn("a")))?.state).toBe("shut down in recovery");
    expect(await startsOrNot("a")).toBe("starts");
    const link = await linkTo("a");
    expect(await link.view()).toMatchObject({ is: "up", role: "replica", generation: 2 });
    link.close();
  }, 120_000);

  it("has parted, too, if its last checkpoint begins at the very place at which its primary has left the timeline", async () => {
    await twoPrimaries("stop");
    const left = (await readControl(homeIn("a")))?.checkpoint ?? 0;
    const history = readFileSync(path.join(base, "b", "pg_wal", "00000003.history"), "utf8");
    expect(history).toContain(`2\t0/${left.toString(16).toUpperCase()}\t`);
    hears();
    expect(await startsOrNot("a")).toBe("starts");
    const link = await linkTo("a");
    expect(await link.follow(servers["b"] as ServerSpec)).toBe("parted");
    link.close();
    await running.at(-1)?.kill();
    await isDown("a");
    await prepare("a", "b", true);
    await started("a", "b");
  }, 120_000);
});

describe("a server of PostgreSQL whose promotion nobody has confirmed is taken back", () => {
  it("when it was killed between the history of its timeline and the first write on it", async () => {
    await chosenInVain(async (b) => {
      const at = await ask("b", "SELECT pg_last_wal_replay_lsn()");
      await b.kill();
      const log = path.join(base, "b", "pg_wal");
      const before = readFileSync(path.join(log, "00000002.history"), "utf8").trimEnd();
      beginTimeline("b", 3);
      writeFileSync(path.join(log, "00000003.history"), `${before}\n\n2\t${at}\tno recovery target specified\n`);
      const { uid, gid } = statSync(log);
      for (const file of readdirSync(log)) chownSync(path.join(log, file), uid, gid);
    });
    await isTakenBack("b", "a");
    const link = await linkTo("b");
    const followed = { is: "up", role: "replica", generation: 4, isLinked: true };
    await expect.poll(() => link.view(), { timeout: 30_000 }).toMatchObject(followed);
    link.close();
  }, 120_000);

  it("when it was killed with writes of its own, before its first checkpoint", async () => {
    await chosenInVain(async (b) => {
      const checkpointer = await ask("b", "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
      process.kill(Number(checkpointer), "SIGSTOP");
      await promoted("b", 3);
      await ask("b", SURPLUS);
      process.kill(Number(checkpointer), "SIGKILL");
      await b.kill();
      expect((await readControl(homeIn("b")))?.reached).toMatchObject([{ timeline: 2 }, { timeline: 3 }]);
    });
    await isTakenBack("b", "a");
    await ask("a", "INSERT INTO rows VALUES (1, 'of a')");
    const texts = (): Promise<string> => ask("b", "SELECT string_agg(text, ',') FROM rows");
    await expect.poll(texts, { timeout: 30_000 }).toBe("of a");
  }, 120_000);
});
