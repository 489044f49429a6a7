// A PostgreSQL that is started beside its guard, as an enabled unit does after a boot. It cannot be made a standby from outside: that takes another start, which only its host can give it. So it is told of, and its guard
// touches nothing of it. A real trio whose commits wait for nobody: where they wait for standbys, a stray acknowledges nothing, because no standby connects to it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sleep } from "../support/processes.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { MONITORS } from "./trio.ts";

class UnitTrio extends PostgresTrio {
  /** With the setting that docs/FAILOVER.md recommends: without it, pg_rewind cannot take back what was written beside a guard. As under systemd, it is started again if it ends too soon. */
  async startUnit(name: string): Promise<ChildProcess> {
    const [program = "", ...args] = this.command(name);
    for (;;) {
      const child = spawn(program, [...args, "-c", "wal_log_hints=on"], { stdio: "ignore" });
      while (child.exitCode === null && (await this.role(name)) === undefined) await sleep(20);
      if (child.exitCode === null) return child;
    }
  }
}

const trio = new UnitTrio();
let unit: ChildProcess | undefined;
beforeAll(() => trio.start(`sqlite:${trio.cli.file("store.db")}`, { repointWithinMs: 3000 }), 300_000);
afterAll(async () => {
  unit?.kill("SIGQUIT");
  await trio.end();
}, 60_000);

const told = (): string => MONITORS.map((name) => trio.monitors.get(name)?.stderr ?? "").join("");

it("is told of once, and how to end it; its guard starts nothing before that, and then takes the server back", async () => {
  const old = await trio.whole();
  await trio.steady();
  await trio.guards.get(old)?.kill();
  const next = await trio.settled(old, 60_000);
  await trio.steady();
  unit = await trio.startUnit(old);
  await expect.poll(() => trio.role(old), { timeout: 30_000 }).toBe("primary");
  await trio.ask(old, "CREATE TABLE only_here (id int)", 5000);
  await expect.poll(told).toContain(`"is":"two-writable","servers":["${next}","${old}"]`);
  await expect.poll(told).toContain(`${old} takes writes beside ${next}, and cannot be made a replica from here`);
  const guard = await trio.guard(old);
  await expect.poll(() => guard.stderr).toContain("It takes writes NOW");
  expect(guard.stderr).toContain("End it: pg_ctl stop");
  expect(existsSync(path.join(trio.dataOf(old), "standby.signal"))).toBe(false);
  expect(await trio.role(old)).toBe("primary");
  expect(told().match(/"is":"two-writable"/g)).toHaveLength(1);
  unit.kill("SIGINT");
  expect(await trio.whole()).toBe(next);
  expect(await trio.role(old)).toBe("replica");
}, 240_000);
