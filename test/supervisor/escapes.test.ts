// What leaves the process group and hides its environment, where no cgroup can be made: it is followed by its parents, or waited for. Real processes, and a
// real PostgreSQL as the command.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isGone, kill, nowMs, Stage, until } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
const NOBODY = "65534";
const unmount = 'umount -l "$(findmnt -n -o TARGET -t cgroup2)"; exec "$@"';
const withoutCgroup = ["unshare", "-m", "sh", "-c", unmount, "sh"];
const as = (user: string): readonly string[] => ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"];
const asNobody = [...withoutCgroup, ...as(NOBODY)];

let stage: Stage;
let strays: number[];
beforeEach(() => {
  stage = new Stage();
  strays = [];
  chmodSync(stage.folder, 0o777);
});
afterEach(async () => {
  for (const pid of strays) kill(pid, "SIGKILL");
  await stage.end();
});

/**
 * prctl(PR_SET_DUMPABLE, 0) in a session of its own: nobody but root can read its environment. It closes the descriptor by which waiters would know that it
 * lives, and writes its pid to `file`. `how`: before that.
 */
function hidden(file: string, how: string): string {
  const prctl = process.arch === "x64" ? 157 : 167;
  const write = `open(F, ">", "${file}.part"); print F $$; close F; rename("${file}.part", "${file}")`;
  return `perl -e 'use POSIX; ${how} POSIX::setsid(); POSIX::close(4); syscall(${prctl}, 4, 0); ${write}; sleep 1000'`;
}

async function pidIn(file: string): Promise<number> {
  await until(() => existsSync(file), "it hides");
  const pid = Number(readFileSync(file, "utf8"));
  strays.push(pid);
  return pid;
}

it("who cannot be read, and descends from the command, is ended before the next begins", PATIENT, async () => {
  const file = stage.file("hidden.pid");
  const command = ["sh", "-c", `${hidden(file, "")} & exec sleep 1000`];
  const first = await stage.run({ id: "first", ttl: "1m", under: asNobody, command });
  await first.tells("child", "started");
  const escaped = await pidIn(file);
  const second = await stage.run({ id: "second", ttl: "1m", under: asNobody, command: ["true"] });
  await second.tells("session", "opened");
  first.signal("SIGKILL");
  await second.tells("child", "started");
  expect(isGone(escaped)).toBe(true);
});

it("who might be the command's and cannot be read is waited for, not killed: the term ends late", PATIENT, async () => {
  const file = stage.file("hidden.pid");
  const ttlMs = 2000;
  const command = ["sh", "-c", `${hidden(file, "exit if fork;")}; until [ -e ${file} ]; do sleep 0.01; done; exit 3`];
  const run = await stage.run({ id: "a", ttl: `${ttlMs}ms`, under: asNobody, command });
  await run.tells("child", "started");
  const escaped = await pidIn(file);
  const from = nowMs();
  expect(await run.exited).toBe(3);
  expect(run.told.filter(({ state }) => state === "unsure")).toMatchObject([
    // A process of another test that cannot be read either may be among them: nobody can tell.
    { type: "child", pids: expect.arrayContaining([escaped]) as number[] },
  ]);
  expect(nowMs() - from).toBeGreaterThan(ttlMs * 0.9);
  expect(isGone(escaped)).toBe(false);
});

it("and the keeper of a dead supervisor lets the ttl decide, too", PATIENT, async () => {
  const file = stage.file("hidden.pid");
  const ttlMs = 4000;
  const command = ["sh", "-c", `${hidden(file, "exit if fork;")}; exec sleep 1000`];
  const first = await stage.run({ id: "first", ttl: `${ttlMs}ms`, under: asNobody, command });
  await first.tells("child", "started");
  const escaped = await pidIn(file);
  const second = await stage.run({ id: "second", ttl: `${ttlMs}ms`, under: asNobody, command: ["true"] });
  await second.tells("session", "opened");
  const at = nowMs();
  first.signal("SIGKILL");
  await second.tells("elected");
  expect(nowMs() - at).toBeGreaterThan(ttlMs / 4);
  expect(isGone(first.childPid)).toBe(true);
  expect(isGone(escaped)).toBe(false);
  await until(() => first.stderr.includes(`process ${escaped} cannot be looked at`), "the keeper says why");
});

it("PostgreSQL as the command: a backend that is busy does not outlive its postmaster", PATIENT, async () => {
  const [data, fifo] = [stage.file("data"), stage.file("fifo")];
  const bin = "/usr/lib/postgresql";
  const postgres = `${bin}/${readdirSync(bin)[0]}/bin`;
  mkdirSync(data);
  const asPostgres = as("postgres");
  const [program = "", ...args] = asPostgres;
  spawnSync("chown", ["postgres", data]);
  spawnSync("mkfifo", ["-m", "666", fifo]);
  expect(spawnSync(program, [...args, `${postgres}/initdb`, "-A", "trust", "-N", "-D", data]).status).toBe(0);
  const flags = ["-D", data, "-k", data, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off"];
  const command = [...asPostgres, `${postgres}/postgres`, ...flags];
  const first = await stage.run({ id: "first", ttl: "2s", under: withoutCgroup, command });
  await first.tells("child", "started");
  await until(() => spawnSync(`${postgres}/pg_isready`, ["-h", data]).status === 0, "PostgreSQL answers");
  // It waits for a writer, inside a system call, and asks nobody whether its postmaster lives.
  const select = ["-h", data, "-U", "postgres", "-c", `select pg_read_file('${fifo}')`];
  const client = spawn(program, [...args, `${postgres}/psql`, ...select], { stdio: "ignore" });
  if (client.pid !== undefined) strays.push(client.pid);
  const backends = (): readonly number[] =>
    childrenOf(first.childPid).filter((pid) => /SELECT/.test(readCommandLine(pid)));
  await until(() => backends().length === 1, "a backend is busy");
  strays.push(...childrenOf(first.childPid));
  const [backend = 0] = backends();
  const second = await stage.run({ id: "second", ttl: "2s", under: withoutCgroup, command: ["true"] });
  await second.tells("session", "opened");
  first.signal("SIGKILL");
  await second.tells("child", "started");
  expect(isGone(backend)).toBe(true);
});

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
