// `conclave failover`, as far as it refuses: what it does is in test/failover.
import { chmodSync, writeFileSync } from "node:fs";
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

  it("says of a file that is not JSON how to find the mistake, and shows nothing of it", PATIENT, async () => {
    const file = config({});
    writeFileSync(file, `{ "servers": { "a": "redis://u:secret@h:1",, } }`);
    const { code, stderr } = await run("status", "--config", file);
    expect(code).toBe(2);
    expect(stderr).toContain("not valid JSON; jq . FILE says in which line");
    expect(stderr).not.toContain("secret");
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
