// `conclave failover`, as far as it refuses: what it does is in test/failover.
import { chmodSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "./command.ts";

const cli = new CommandLine();
afterAll(() => cli.end());
const PATIENT = { timeout: 60_000 };

const GOOD = {
  name: "orders",
  kind: "redis",
  store: "memory:",
  monitors: ["m1", "m2", "m3"],
  servers: { a: "redis://127.0.0.1:1111", b: "redis://127.0.0.1:1112" },
};

function config(settings: object, mode = 0o600): string {
  const file = cli.file("failover.json");
  writeFileSync(file, JSON.stringify({ ...GOOD, ...settings }));
  chmodSync(file, mode);
  return file;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const run = (...args: readonly string[]): ReturnType<CommandLine["run"]> => cli.run(["failover", ...args]);

describe("conclave failover", () => {
  it("says every problem of its configuration at once", PATIENT, async () => {
    const file = config({ quorum: 9, ttlMs: 1, colour: "red", servers: { a: "http://x", b: "redis://h:1" } });
    const { code, stderr } = await run("status", "--config", file);
    expect(code).toBe(2);
    const problems = stderr.split("\n").filter((line) => line.startsWith("  - "));
    for (const word of ["colour", "quorum", "servers.a", "ttlMs"])
      expect(problems).toContainEqual(expect.stringContaining(word));
  });

  it("refuses a file with a password that others may read", PATIENT, async () => {
    const servers = { a: "redis://u:secret@127.0.0.1:1111", b: "redis://127.0.0.1:1112" };
    const { code, stderr } = await run("status", "--config", config({ servers }, 0o644));
    expect(code).toBe(2);
    expect(stderr).toContain("chmod 600");
    expect(stderr).not.toContain("secret");
  });

  it("asks which monitor and which server this is, and for the command of the service", PATIENT, async () => {
    const file = config({});
    expect((await run("monitor", "--config", file, "--as", "m9")).stderr).toContain("one of m1, m2, m3");
    expect((await run("guard", "--config", file, "--server", "z", "--", "true")).stderr).toContain("one of a, b");
    expect((await run("guard", "--config", file, "--server", "a")).stderr).toContain(
      "the command that starts the service",
    );
    expect((await run("promote")).stderr).toContain("monitor, guard, status");
  });

  it("refuses at once to hand over to a server that is not configured", PATIENT, async () => {
    const { code, stderr } = await run("switchover", "--config", config({}), "--to", "z");
    expect(code).toBe(2);
    expect(stderr).toContain("--to z: the configured servers are a, b");
  });

  it(
    "refuses --dry-run where there is nothing to choose: a pause with it would be taken for one",
    PATIENT,
    async () => {
      const { code, stderr } = await run("pause", "--config", config({}), "--dry-run");
      expect([code, stderr]).toEqual([2, expect.stringContaining("--dry-run: only for switchover")]);
    },
  );

  it("says of a file that is not JSON how to find the mistake, and shows nothing of it", PATIENT, async () => {
    const file = config({});
    writeFileSync(file, `{ "servers": { "a": "redis://u:secret@h:1",, } }`);
    const { code, stderr } = await run("status", "--config", file);
    expect(code).toBe(2);
    expect(stderr).toContain("not valid JSON; jq . FILE says in which line");
    expect(stderr).not.toContain("secret");
  });

  describe("with devices", () => {
    const places = { servers: { a: "db-1", b: "db-2" }, monitors: { m1: "db-1", m2: "db-2", m3: null } };
    const devices = (nodes: object): string => {
      writeFileSync(cli.file("stonith.json"), JSON.stringify({ election: "machines", nodes }), { mode: 0o600 });
      return "stonith.json";
    };
    const command = { kind: "command", status: ["/bin/true"], off: ["/bin/true"] };
    const level = { levels: [[command]] };

    it("says every problem of what it needs to know of them at once", PATIENT, async () => {
      const stonith = { servers: { a: "db-1", z: "db-2" }, monitors: { m1: "db-1" }, required: "yes", colour: "red" };
      const { code, stderr } = await run("monitor", "--config", config({ stonith, guards: 1 }), "--as", "m1");
      expect(code).toBe(2);
      for (const word of ["guards", "colour", "config", "required", "servers.b", "servers.z", "monitors.m2", "null"])
        expect(stderr).toContain(word);
      const postgres = { kind: "postgres", servers: { a: "postgres://h:1/d", b: "postgres://h:2/d" }, guards: false };
      expect((await run("status", "--config", config(postgres))).stderr).toContain("PostgreSQL needs them");
    });

    it(
      "refuses a machine that is not in the devices' file, one without a device, and a device that is not there",
      PATIENT,
      async () => {
        const monitor = async (settings: object): Promise<string> =>
          (await run("monitor", "--config", config(settings), "--as", "m1")).stderr;
        const nodes = { "db-1": level, "db-3": {} };
        const stonith = {
          config: devices(nodes),
          servers: { a: "db-9", b: "db-3" },
          monitors: { ...places.monitors, m1: "db-8" },
        };
        const said = await monitor({ stonith, guards: false });
        for (const word of ["a runs on db-9", "m1 runs on db-8", "b runs on db-3, which has no device"])
          expect(said).toContain(word);
        const wrong = { "db-1": { levels: [[{ ...command, off: ["/no/such/program"] }]] }, "db-2": level };
        expect(await monitor({ stonith: { config: devices(wrong), ...places } })).toContain("/no/such/program");
      },
    );

    it("refuses a file that others may change, because what it names is executed", PATIENT, async () => {
      const stonith = { config: devices({ "db-1": level, "db-2": level }), ...places };
      const file = config({ stonith }, 0o666);
      expect((await run("monitor", "--config", file, "--as", "m1")).stderr).toContain("what it names is executed");
    });

    it("needs a way to fence, or the word that there is none, and not both", PATIENT, async () => {
      const alone = await run("monitor", "--config", config({ guards: false }), "--as", "m1");
      expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("there is no way to fence")]);
      const stonith = { config: devices({ "db-1": level, "db-2": level }), ...places };
      const both = await run("monitor", "--config", config({ stonith }), "--as", "m1", "--unfenced");
      expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("devices are configured")]);
      const guard = await run("guard", "--config", config({ guards: false }), "--server", "a", "--", "true");
      expect(guard.stderr).toContain("the monitors promote by themselves");
    });

    it("confirms nothing that is not being fenced", PATIENT, async () => {
      const { code, stderr } = await run("confirm", "a", "--config", config({}));
      expect([code, stderr]).toEqual([1, expect.stringContaining("a is not being fenced")]);
    });
  });

  it("status of a group that nobody has led is exit code 1", PATIENT, async () => {
    const { code, stdout } = await run("status", "--config", config({}));
    expect(code).toBe(1);
    expect(stdout).toContain("nobody is the primary");
    expect(stdout).toContain("a: NO ANSWER");
  });

  it("serves probes and metrics on a port of its own", PATIENT, async () => {
    const monitor = await cli.start([
      "failover",
      "monitor",
      "--config",
      config({}),
      "--as",
      "m1",
      "--http",
      "0",
      "--json",
    ]);
    await expect.poll(() => monitor.stderr).toContain('"type":"http"');
    const [said = ""] = monitor.stderr.split("\n").filter((line) => line.includes('"type":"http"'));
    const { host, port } = JSON.parse(said) as { host: string; port: number };
    const get = async (path: string): Promise<[number, string]> => {
      const answer = await fetch(`http://${host}:${port}${path}`);
      return [answer.status, await answer.text()];
    };
    expect(await get("/healthz")).toEqual([200, "ok\n"]);
    expect(await get("/nowhere")).toEqual([404, "/healthz, /metrics, /status\n"]);
    await expect.poll(async () => (await get("/metrics"))[1]).toContain('_server_up{group="orders",server="a"} 0');
    expect((await get("/metrics"))[1]).toMatch(/conclave_terms_total\{election="failover\/orders"\} 1/);
    expect(JSON.parse((await get("/status"))[1])).toMatchObject({ servers: { a: { is: "unknown" } } });
    monitor.signal("SIGTERM");
    expect((await monitor.ended).code).toBe(0);
  });

  it.each([
    ["monitor", ["--as", "m1", "--unfenced"], []],
    ["guard", ["--server", "a", "--without-cgroup", "--ignore-unit", "redis.service"], ["--", "sleep", "60"]],
  ])("goes on as a %s when the reader of its stderr has gone", PATIENT, async (verb, flags, command) => {
    const port = await freePort();
    const ours = ["--ignore-unit", "redis-server.service"];
    const file = config({ guards: true });
    const all = [verb, "--config", file, ...flags, ...(verb === "guard" ? ours : []), "--http", `${port}`, ...command];
    const running = await cli.start(["failover", ...all]);
    running.closeStderr();
    const isUp = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.ok === true;
    await expect.poll(isUp, { timeout: 20_000 }).toBe(true);
    running.signal("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  it("refuses a guard beside a unit that starts the service by itself", PATIENT, async () => {
    const folder = cli.file("bin");
    const { mkdirSync } = await import("node:fs");
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/systemctl`, `#!/bin/sh\n[ "$2" = mine.service ] && echo enabled || echo disabled\n`);
    chmodSync(`${folder}/systemctl`, 0o755);
    const args = ["failover", "guard", "--config", config({}), "--server", "a", "--unit", "mine.service", "--", "true"];
    const { code, stderr } = await cli.run(args, { PATH: `${folder}:${process.env["PATH"]}` });
    expect(code).toBe(1);
    expect(stderr).toContain("mine.service is enabled");
    expect(stderr).toContain("systemctl disable --now mine.service");
  });
});
