import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { enabledUnits, USUAL_UNITS } from "conclave/failover";
import { start } from "../../scripts/servers/redis.mjs";
import { CommandLine } from "../cli/command.ts";
import { writeFileSync, chmodSync, mkdirSync } from "node:fs";
import path from "node:path";

const cli = new CommandLine();
afterAll(() => cli.end(), 30_000);

/** A systemctl that says of one unit that it is enabled, as after the installation of a package. */
function systemctl(unit: string): string {
  const folder = cli.file(`bin-${unit}`);
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "systemctl");
  writeFileSync(file, `#!/bin/sh\n[ "$2" = "${unit}" ] && { echo enabled; exit 0; }\necho disabled; exit 1\n`);
  chmodSync(file, 0o755);
  return folder;
}

function config(kind: "redis" | "postgres", url = `${kind}://127.0.0.1:1`): string {
  const file = cli.file(`${kind}.json`);
  const servers = { a: url, b: `${kind}://127.0.0.1:2` };
  writeFileSync(
    file,
    JSON.stringify({ name: "orders", kind, store: `sqlite:${cli.file("store.db")}`, monitors: ["m"], servers }),
  );
  return file;
}

describe("a unit that would start the service by itself", () => {
  it.each([
    ["redis", "redis-server.service"],
    ["redis", "valkey.service"],
    ["postgres", "postgresql.service"],
    ["postgres", "postgresql@15-main.service"],
  ] as const)(
    "is found, and the guard of %s refuses to start beside %s: after a boot it would be a second primary",
    async (kind, unit) => {
      const started = cli.file(`started-${unit}`);
      const args = ["failover", "guard", "--config", config(kind), "--server", "a"];
      const env = { PATH: `${systemctl(unit)}:${process.env["PATH"]}` };
      const { code, stderr } = await cli.run([...args, "--", "/usr/bin/touch", started], env);
      expect(code).toBe(1);
      expect(stderr).toContain(`systemctl disable --now ${unit}`);
      expect(() => readFileSync(started)).toThrow(/ENOENT/);
    },
  );

  it("and has started the service already: the refusal says that it takes writes now, and how to end it", async () => {
    const redis = await start();
    try {
      const [url = ""] = redis.urls;
      const args = ["failover", "guard", "--config", config("redis", url), "--server", "a"];
      const env = { PATH: `${systemctl("redis-server.service")}:${process.env["PATH"]}` };
      const { code, stderr } = await cli.run([...args, "--", "/usr/bin/true"], env);
      expect(code).toBe(1);
      expect(stderr).toMatch(/process \d+ answers at 127.0.0.1:\d+, .* It takes writes NOW, .* End it: kill \d+/);
    } finally {
      await redis.stop();
    }
  });

  it("is one that is enabled in any way, and not one that is disabled or masked", () => {
    const states: Readonly<Record<string, string>> = {
      a: "enabled",
      b: "disabled",
      c: "masked",
      d: "enabled-runtime",
      e: "linked",
    };
    expect(enabledUnits(Object.keys(states), (unit) => states[unit])).toEqual(["a", "d", "e"]);
    expect(enabledUnits(["a"], () => undefined)).toEqual([]);
    expect(USUAL_UNITS["postgres"]).toContain("postgresql.service");
  });
});
