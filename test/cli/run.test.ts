// What `conclave run` promises to its users: exit codes, environment, stdio, signals, events, endpoints.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refuseHere } from "conclave/supervisor";
import { happens, isGone, kill, nowMs, Stage, until } from "../supervisor/stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage.end());

const sh = (script: string): readonly string[] => ["sh", "-c", script];

describe("the exit code", () => {
  it("is the command's own", async () => {
    const run = await stage.run({ id: "a", election: "code", command: sh("exit 7") });
    expect(await run.exited).toBe(7);
    expect(run.told.map(({ type, state }) => `${type} ${state}`)).toContain("session ended");
  });

  it("is 128+n for a command that signal n has ended", async () => {
    const run = await stage.run({ id: "a", election: "signal", command: sh("kill -9 $$") });
    expect(await run.exited).toBe(137);
  });

  it("is 127 for a command that is not there, before anybody campaigns", async () => {
    const run = await stage.run({ id: "a", election: "none", command: ["no-such-command-at-all"] });
    expect(await run.exited).toBe(127);
    expect(run.stderr).toBe("conclave run: no-such-command-at-all: not found\n");
  });

  it("is 126 for one that cannot be executed", async () => {
    const file = stage.file("plain.txt");
    writeFileSync(file, "not a program");
    chmodSync(file, 0o644);
    const run = await stage.run({ id: "a", election: "none", command: [file] });
    expect(await run.exited).toBe(126);
  });

  it("is 125 for what is not understood, and says what", async () => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [[], /NAME is missing/],
      [["x"], /which command/],
      [["x", "y", "--", "true"], /one NAME at a time: x y/],
      [["x", "--ttl", "5", "--", "true"], /--ttl 5: a duration/],
      [["x", "--http", "http", "--", "true"], /--http http: a whole number/],
      [["x", "--nonsense", "--", "true"], /nonsense/],
      [["x", "--store", "gopher://x", "--", "true"], /scheme/],
      [["x", "--store", stage.store, "--ttl", "1ms", "--", "true"], /CONFIG_INVALID: [^]*--ttl 1ms is too short/],
      [
        ["x", "--store", stage.store, "--ttl", "2s", "--drain", "2s", "--", "true"],
        /: --drain 2000ms leaves no time to renew within --ttl 2000ms\. Take at most \d+, or raise --ttl\n/,
      ],
      [["x", "--store", stage.store, "--priority", "5000", "--", "true"], /: --priority 5000 is not a whole number/],
      [["x", "--events", "/none/x", "--", "true"], /conclave run: --events: ENOENT: no such file .*'\/none\/x'/],
      [["x", "--store", "sqlite:/proc/none/x.db", "--", "true"], /STORE_/],
    ];
    for (const [args, problem] of cases) {
      const run = await stage.command(["run", ...args]);
      expect(await run.exited, args.join(" ")).toBe(125);
      expect(run.stderr).toMatch(problem);
    }
  }, 30_000);

  it("is 128+n for a candidate that was asked to stop while it waited", async () => {
    const first = await stage.run({ id: "a", election: "wait", command: sh("sleep 100") });
    await first.tells("child", "started");
    const second = await stage.run({ id: "b", election: "wait", command: sh("sleep 100") });
    await second.tells("session", "opened");
    second.signal("SIGINT");
    expect(await second.exited).toBe(130);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(143);
  });

  it("is 130 after Ctrl-C while it leads, unless the command has a code of its own", async () => {
    const first = await stage.run({ id: "a", election: "interrupted", command: sh("exec sleep 100") });
    await first.tells("child", "started");
    first.signal("SIGINT");
    expect(await first.exited).toBe(130);
    const second = await stage.run({
      id: "b",
      election: "interrupted",
      command: sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done"),
    });
    await expect.poll(() => second.stdout, { timeout: 15_000 }).toContain("ready");
    second.signal("SIGINT");
    expect(await second.exited).toBe(7);
  });
});

describe("the command", () => {
  it("finds election, candidate and token in its environment, and the stdio of conclave run", async () => {
    const script = 'read line; echo "$line"; env | grep ^CONCLAVE_ | sort; echo aside >&2';
    const run = await stage.run({ id: "web", election: "environment", command: sh(script) });
    run.type("from outside\n");
    expect(await run.exited).toBe(0);
    expect(run.stdout).toMatch(
      /^from outside\nCONCLAVE_ELECTION=environment\nCONCLAVE_FENCE=sqlite-[^:]+:1:\S+\nCONCLAVE_ID=web_\S+\nCONCLAVE_MARKS=\S+\nCONCLAVE_TOKEN=1\n$/,
    );
    expect(run.stderr).toContain("aside\n");
    const again = await stage.run({ id: "web", election: "environment", command: sh("echo $CONCLAVE_TOKEN") });
    expect(await again.exited).toBe(0);
    expect(again.stdout).toBe("2\n");
  });

  it("leads a process group of its own", async () => {
    const run = await stage.run({ id: "a", election: "group", command: sh("ps -o pgid= -p $$; echo $$") });
    await run.exited;
    const [group, own] = run.stdout.trim().split(/\s+/);
    expect(group).toBe(own);
  });

  it("gets SIGTERM when conclave run does, and its code is the answer", async () => {
    const run = await stage.run({
      id: "a",
      election: "term",
      command: sh("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done"),
    });
    await until(() => run.stdout.includes("up"), "up");
    run.signal("SIGTERM");
    expect(await run.exited).toBe(3);
  });

  it("is killed if it does not obey within the drain time", async () => {
    const flags = ["--drain", "300ms"];
    const run = await stage.run({
      id: "a",
      election: "stubborn",
      ttl: "2s",
      flags,
      command: sh("trap '' TERM; echo up; while :; do sleep 0.01; done"),
    });
    await until(() => run.stdout.includes("up"), "up");
    const from = nowMs();
    run.signal("SIGTERM");
    expect(await run.exited).toBe(137);
    expect(nowMs() - from).toBeGreaterThan(250);
  });

  it("is handed SIGUSR1 and SIGUSR2", async () => {
    const run = await stage.run({
      id: "a",
      election: "usr",
      command: sh("trap 'exit 5' USR2; echo up; while :; do sleep 0.01; done"),
    });
    await until(() => run.stdout.includes("up"), "up");
    run.signal("SIGUSR2");
    expect(await run.exited).toBe(5);
  });

  it("is started again with --restart, with a greater token", async () => {
    const run = await stage.run({
      id: "a",
      election: "again",
      flags: ["--restart"],
      command: sh("echo $CONCLAVE_TOKEN"),
    });
    await until(() => run.stdout.startsWith("1\n2\n3\n"), "three times");
    run.signal("SIGTERM");
    await run.exited;
  });
});

describe("what the command leaves behind", () => {
  it("is ended with it: in its group, in a session of its own, before the term is released", async () => {
    const script = "sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.2; exit 0";
    const run = await stage.run({ id: "a", election: "behind", ttl: "2s", command: sh(script) });
    expect(await run.exited).toBe(0);
    const pids = run.stdout.trim().split(/\s+/).map(Number);
    expect(pids).toHaveLength(2);
    expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
  });

  it("is caught by its environment where no cgroup can be made", async () => {
    const script = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
    // In its own mount namespace without cgroup v2: neither supervisor nor keeper finds one.
    const under = ["unshare", "-m", "sh", "-c", 'umount -l "$(findmnt -n -o TARGET -t cgroup2)"; exec "$@"', "sh"];
    const run = await stage.run({ id: "a", election: "marked", ttl: "2s", command: sh(script), under });
    await until(() => /\d+\n/.test(run.stdout), "the grandchild");
    const grandchild = Number(run.stdout);
    expect(isGone(grandchild)).toBe(false);
    run.signal("SIGKILL"); // so that it is the keeper's work
    await until(() => isGone(grandchild), "the keeper has ended it");
  });
});

describe("events", () => {
  it("go to a file as JSON lines, and stderr keeps only the store's line", async () => {
    const file = stage.file("events.jsonl");
    const run = await stage.run({ id: "a", election: "events", flags: ["--events", file], command: sh("true") });
    expect(await run.exited).toBe(0);
    const events = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; at: string });
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["session", "elected", "keeper", "child", "released"]),
    );
    expect(events.every(({ at }) => !Number.isNaN(Date.parse(at)))).toBe(true);
    expect(run.stderr).toMatch(/^store sqlite:\S+ — this host only\n$/);
  });
});

describe("--http", () => {
  const ask = async (port: string, page: string): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${page}`);
    return [response.status, await response.text()];
  };

  it("says who leads, whether this one does, whether it is healthy, and counts", async () => {
    const first = await stage.run({ id: "a", election: "http", flags: ["--http", "0"], command: sh("sleep 100") });
    await first.tells("child", "started");
    const second = await stage.run({ id: "b", election: "http", flags: ["--http", "0"], command: sh("sleep 100") });
    await second.tells("session", "opened");
    const [one = "", two = ""] = [first, second].map(
      ({ stderr }) => /^http 127\.0\.0\.1:(\d+)$/m.exec(stderr)?.[1] ?? "",
    );
    expect(await ask(one, "/leading")).toEqual([200, "leading\n"]);
    expect(await ask(two, "/leading")).toEqual([503, "not leading\n"]);
    expect(await ask(one, "/healthz")).toEqual([200, "ok\n"]);
    expect(await ask(two, "/healthz")).toEqual([200, "ok\n"]);
    const [status, body] = await ask(two, "/leader");
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ election: "http", leader: { token: "1" } });
    expect((await ask(one, "/metrics"))[1]).toMatch(/conclave_leading\{election="http"\} 1/);
    expect((await ask(one, "/other"))[0]).toBe(404);
    for (const run of [first, second]) run.signal("SIGTERM");
    await Promise.all([first.exited, second.exited]);
  });

  it("refuses a port that is taken", async () => {
    const first = await stage.run({ id: "a", election: "port", flags: ["--http", "0"], command: sh("sleep 100") });
    await first.tells("child", "started");
    const port = /^http 127\.0\.0\.1:(\d+)$/m.exec(first.stderr)?.[1] ?? "";
    const second = await stage.run({ id: "b", election: "port", flags: ["--http", port], command: sh("true") });
    expect(await second.exited).toBe(125);
    expect(second.stderr).toMatch(/EADDRINUSE/);
    kill(first.pid, "SIGTERM");
    await first.exited;
  });
});

it("refuses to run where there are no process groups", () => {
  expect(refuseHere("win32")?.message).toMatch(/cannot work on win32/);
  expect(refuseHere("linux")).toBeUndefined();
});

describe("--with-parent", () => {
  it("ends it, and its command, when the process that started it has ended", { timeout: 60_000 }, async () => {
    const under = ["sh", "-c", '"$@"; exit $?', "sh"]; // which a signal ends, and not what it has started: as npx
    const flags = ["--with-parent"];
    const run = await stage.run({
      id: "a",
      election: "parent",
      ttl: "1m",
      under,
      flags,
      command: sh("exec sleep 1000"),
    });
    const { pid } = await run.tells("child", "started");
    run.signal("SIGTERM");
    expect(await happens(() => isGone(pid ?? -1))).toBe(true);
    const next = await stage.run({ id: "b", election: "parent", ttl: "1m", command: ["true"] });
    expect(await next.exited).toBe(0);
  });
});

describe("while it waits", () => {
  it("says who leads", { timeout: 60_000 }, async () => {
    const first = await stage.run({ id: "boss", election: "queue", command: sh("sleep 1000") });
    await first.tells("child", "started");
    const second = await stage.command(["run", "queue", "--store", stage.store, "--id", "waiter", "--", "true"]);
    expect(await happens(() => /^waiting election="queue" id="boss_\S+" token=1 /m.test(second.stderr))).toBe(true);
    for (const run of [first, second]) run.signal("SIGTERM");
    await Promise.all([first.exited, second.exited]);
  });
});
