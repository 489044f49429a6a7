// `conclave run` where something around it is not as it should be: a full disk, a slow reader, no descriptors, a locked store, a strange request.
import { spawn } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isGone, kill, type Run, sleep, Stage, until } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage.end());

const sh = (script: string): readonly string[] => ["sh", "-c", script];

/** In a mount namespace without cgroup v2: only group and mark are left. */
const withoutCgroup = ["unshare", "-m", ...sh('umount -l "$(findmnt -n -o TARGET -t cgroup2)"; exec "$@"'), "sh"];

describe("stdio and environment", () => {
  it("a full disk costs events, and nothing else", PATIENT, async () => {
    const flags = ["--events", "/dev/full"];
    const run = await stage.run({ id: "a", election: "full", flags, command: sh("sleep 0.2; echo done; exit 4") });
    expect(await run.exited).toBe(4);
    expect(run.stdout).toBe("done\n");
    expect(run.stderr.match(/events are lost: \/dev\/full: .*ENOSPC/g)).toHaveLength(1);
  });

  it("the command's stderr blocks as it did, also while a keeper is replaced", PATIENT, async () => {
    const under = [...sh('"$@" 2>&1 | cat'), "sh"];
    const flags = "grep flags /proc/self/fdinfo/2";
    const command = sh(`${flags}; pkill -9 -P $PPID -f 'keeper[.]js'; sleep 1; ${flags}; sleep 1; ${flags}`);
    const run = await stage.run({ id: "a", election: "flags", ttl: "5s", under, command });
    await run.exited;
    const found = [...run.stdout.matchAll(/^flags:\s+(\d+)$/gm)].map(([, octal = ""]) => Number.parseInt(octal, 8));
    expect(found).toHaveLength(3);
    expect(found.filter((each) => (each & 0o4000) !== 0)).toEqual([]);
    expect(run.stdout).toContain('"state":"lost"');
  });

  it("a reader of stderr that has stopped costs neither the term nor a good end", PATIENT, async () => {
    const pipe = stage.file("stuck");
    const under = [...sh(`mkfifo ${pipe}; exec 3<>${pipe}; exec "$@" 2>${pipe}`), "sh"];
    const program =
      'console.log(process.pid); setInterval(() => {}, 1000); process.on("SIGTERM", () => process.exit(3))';
    const command = sh(`yes >&2 & exec ${process.execPath} -e '${program}'`);
    const run = await stage.run({ id: "a", election: "stuck", ttl: "4s", under, command });
    await until(() => run.stdout !== "", "it runs");
    await sleep(6500);
    expect(isGone(Number(run.stdout)), run.stdout).toBe(false);
    run.signal("SIGTERM");
    expect(await run.exited).toBe(3);
  });

  it("the command gets its environment as it is, whatever a shell thinks of it", PATIENT, async () => {
    const env = { "discovery.type": "single", "Logging:Level": "a\nb'\"$x", line: "mine", IFS: ":", OPTIND: "9" };
    const command = [process.execPath, "-e", "console.log(JSON.stringify(process.env))"];
    const run = await stage.run({ id: "a", election: "odd", env, command });
    expect(await run.exited).toBe(0);
    const found = JSON.parse(run.stdout) as Record<string, string>;
    expect(found).toMatchObject(env);
    expect(Object.keys(found).filter((name) => /CARRIED|GATE/.test(name))).toEqual([]);
  });

  it("the exit code of what cannot be started is that of env", PATIENT, async () => {
    const cases = [
      ["", 127],
      ["/etc/passwd/x", 126],
      ["/etc", 126],
    ] as const;
    for (const [command, code] of cases)
      expect(await (await stage.run({ id: "a", election: "none", command: [command] })).exited, command).toBe(code);
    const under = ["env", "-u", "PATH"];
    expect(await (await stage.run({ id: "a", election: "none", under, command: ["true"] })).exited).toBe(0);
  });
});

describe("what is asked of it", () => {
  it("a strange request is answered, and ends nothing", PATIENT, async () => {
    const run = await stage.run({ id: "a", election: "ask", flags: ["--http", "0"], command: sh("sleep 100") });
    await run.tells("child", "started");
    const port = Number(/^http 127\.0\.0\.1:(\d+)$/m.exec(run.stderr)?.[1]);
    const status = (path: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request({ port, host: "127.0.0.1", path }, (answer) => resolve(answer.resume().statusCode))
          .on("error", reject)
          .end();
      });
    expect(await status("//")).toBe(404);
    expect(await status("/leading?now")).toBe(200);
    expect(isGone(run.childPid)).toBe(false);
    run.signal("SIGTERM");
    expect(await run.exited).toBe(143);
  });

  it(
    "a candidate that has lost its term and waits says which signal ended it, not how its command ended",
    PATIENT,
    async () => {
      const stubborn = [...stage.actor, "stubborn"];
      const first = await stage.run({ id: "a", election: "later", ttl: "500ms", command: stubborn });
      await first.tells("child", "started");
      const second = await stage.run({ id: "b", election: "later", ttl: "1m", command: sh("sleep 1000") }); // which it does not lose on a busy machine
      await second.tells("session", "opened");
      await first.stop();
      await second.tells("child", "started");
      first.signal("SIGCONT");
      await first.tells("child", "exited");
      first.signal("SIGTERM");
      expect(await first.exited).toBe(143);
      second.signal("SIGTERM");
      await second.exited;
    },
  );
});

describe("the store", () => {
  it("locked when it is started: what waiters watch is held by all of them nevertheless", PATIENT, async () => {
    const own = new Stage();
    onTestFinished(() => own.end());
    const made = await own.run({ id: "z", election: "made", command: ["true"] });
    await made.exited;
    const unlock = await lock(own);
    const run = await own.run({ id: "a", election: "locked", ttl: "1m", command: sh("exec sleep 1000") });
    await run.tells("error");
    unlock();
    await run.tells("child", "started");
    const [ofKeeper, ofChild] = [`/proc/${run.keeperPid}/fd/3`, `/proc/${run.childPid}/fd/4`].map((file) =>
      readlinkSync(file),
    );
    expect(ofChild).toMatch(/^socket:/);
    expect(ofKeeper).toBe(ofChild);
    run.signal("SIGTERM");
    await run.exited;
  });
});

describe("no descriptor is left", () => {
  it("for another keeper: the supervisor goes on, and starts one when it can", PATIENT, async () => {
    const run = await stage.run({ id: "a", election: "few", ttl: "2s", command: sh("exec sleep 1000") });
    await run.tells("child", "started");
    await limit(run.pid, "3:4096");
    kill(run.keeperPid, "SIGKILL");
    await run.tells("keeper", "lost", 3);
    expect(isGone(run.childPid)).toBe(false);
    await limit(run.pid, "4096:4096");
    await run.tells("keeper", "started", 2);
    run.signal("SIGKILL");
    await until(() => isGone(run.childPid), "the new keeper has ended it");
  });

  it("to look for who is left: nothing is released before somebody has looked", PATIENT, async () => {
    const run = await stage.run(escaping("unseen"));
    const escaped = await escapedOf(run);
    await limit(run.pid, "3:4096");
    run.signal("SIGTERM");
    await until(() => isGone(run.childPid), "the command has ended");
    await sleep(500);
    expect(run.told.filter(({ type, state }) => type === "session" && state === "ended")).toEqual([]);
    await limit(run.pid, "4096:4096");
    await run.exited;
    expect(isGone(escaped)).toBe(true);
  });

  it("to the keeper: it does not let go before it has looked", PATIENT, async () => {
    const run = await stage.run(escaping("kept"));
    const escaped = await escapedOf(run);
    const { keeperPid } = run;
    await limit(keeperPid, "0:4096");
    run.signal("SIGKILL");
    await run.exited;
    await sleep(500);
    expect(isGone(keeperPid)).toBe(false);
    await limit(keeperPid, "4096:4096");
    await until(() => isGone(keeperPid), "the keeper has ended");
    expect(isGone(escaped)).toBe(true);
  });
});

describe("processes", () => {
  it("in a pid namespace with the /proc of another one it refuses to run", PATIENT, async () => {
    const under = ["unshare", "--pid", "--fork", "--kill-child"];
    const run = await stage.run({ id: "a", election: "strange", under, command: ["true"] });
    expect(await run.exited).toBe(125);
    expect(run.stderr).toMatch(/another pid namespace.*--mount-proc/);
  });

  it("no cgroup is left of a supervisor that was killed, nor of one inside of it", PATIENT, async () => {
    const inner = ["run", "inner", "--store", stage.store, "--ttl", "2s", "--", "sleep", "1000"];
    const command = [process.execPath, stage.file("modules/cli/main.js"), ...inner];
    const run = await stage.run({ id: "a", election: "outer", ttl: "2s", command });
    await run.tells("child", "started");
    const cgroup = /^0::(\S*conclave-\S+)$/m.exec(readFileSync(`/proc/${run.childPid}/cgroup`, "utf8"))?.[1];
    if (cgroup === undefined) return; // none can be made here
    await until(() => run.stderr.includes('child state="started"'), "the inner one runs");
    const mount = (await output(["findmnt", "-n", "-o", "TARGET", "-t", "cgroup2"])).trim();
    const isThere = async (): Promise<boolean> => (await output(["ls", "-d", `${mount}${cgroup}`])) !== "";
    expect(await isThere()).toBe(true);
    run.signal("SIGKILL");
    await until(() => isGone(run.childPid) && isGone(run.keeperPid), "all are gone");
    expect(await isThere()).toBe(false);
  });
});

/** A command with a grandchild that has left the group, found by its mark alone. */
function escaping(election: string): Parameters<Stage["run"]>[0] {
  const command = sh("setsid sleep 1000 & echo $!; exec sleep 1000");
  return { id: "a", election, ttl: "2s", under: withoutCgroup, command };
}

async function escapedOf(run: Run): Promise<number> {
  await until(() => /^\d+\n/.test(run.stdout), "the grandchild");
  await run.tells("keeper", "started");
  const pid = Number(run.stdout);
  expect(isGone(pid)).toBe(false);
  return pid;
}

async function limit(pid: number, descriptors: string): Promise<void> {
  await output(["prlimit", "--pid", String(pid), `--nofile=${descriptors}`]);
}

function output([program = "", ...args]: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  child.stdout.on("data", (part: Buffer) => (text += part.toString()));
  return new Promise((resolve) => child.once("close", () => resolve(text)));
}

/** Resolves when another program has the lock; call what it resolves to, to end that. */
async function lock(on: Stage): Promise<() => void> {
  const script = fileURLToPath(new URL("lock.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, on.file("elections.db")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return () => child.stdin.end();
}
