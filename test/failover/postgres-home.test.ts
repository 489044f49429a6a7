import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseFailoverConfig, postgresReplication, type ServerSpec } from "conclave/failover";
import { homeOf } from "../../src/failover/postgres-home.ts";

let base: string;
let data: string;
beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), "conclave-home-"));
  data = path.join(base, "main");
  mkdirSync(path.join(data, "pg_wal"), { recursive: true });
  writeFileSync(path.join(data, "PG_VERSION"), "15\n");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const spec = (name: string, port: number): ServerSpec => ({
  name,
  url: `postgres://u:secret@10.0.0.1:${port}/x`,
  host: "10.0.0.1",
  port,
  priority: 100,
});
const SERVERS = { a: spec("a", 1), b: spec("b", 2) };

describe("the folder of a server", () => {
  it("is found by the command, behind whatever changes the user; a command that goes into the background is refused", () => {
    const under = ["setpriv", "--reuid=5", "/usr/lib/postgresql/15/bin/postgres", "-D", data, "-p", "5432"];
    const home = homeOf(under, {});
    expect(home.data).toBe(data);
    expect(home.program("pg_rewind")).toBe("/usr/lib/postgresql/15/bin/pg_rewind");
    expect(homeOf(["postgres"], { PGDATA: data }).program("pg_rewind")).toBe("pg_rewind");
    expect(() => homeOf(["pg_ctl", "start", "-D", data], {})).toThrow(/pg_ctl/);
    expect(() => homeOf(["postgres"], {})).toThrow(/-D FOLDER/);
    expect(() => homeOf(["postgres", "-D", base], {})).toThrow(/pg_basebackup/);
  });

  it("starts as a standby, whatever it was, with settings of the guard and with those of others", async () => {
    writeFileSync(path.join(data, "postgresql.auto.conf"), "work_mem = '5MB'\nprimary_conninfo = 'host=old'\n");
    const replication = postgresReplication(SERVERS, { timeoutMs: 100, promoteWithinMs: 100, confirmations: 1 });
    const command = ["postgres", "-D", data];
    const { signal } = new AbortController();
    const prepared = await replication.prepare({
      server: SERVERS.a,
      command,
      primary: SERVERS.b,
      mends: false,
      signal,
    });
    expect(prepared.command.slice(0, 3)).toEqual(command);
    expect(existsSync(path.join(data, "standby.signal"))).toBe(true);
    const settings = readFileSync(path.join(data, "postgresql.auto.conf"), "utf8");
    expect(settings).toContain("work_mem = '5MB'\n");
    expect(settings).not.toContain("host=old");
    // It follows nobody before it was compared with its primary.
    expect(settings).toContain("primary_conninfo = ''\n");
    expect(settings).toContain(`synchronous_standby_names = 'ANY 1 ("conclave nobody")'`);
  });

  it("has no number of a timeline left that another promotion has taken", () => {
    const home = homeOf(["postgres", "-D", data], {});
    const real = path.join(data, "pg_wal", "00000003.history");
    writeFileSync(real, "1\t0/1\tx\n");
    home.reserveTimelines(11);
    expect(existsSync(path.join(data, "pg_wal", "0000000A.history"))).toBe(true);
    expect(existsSync(path.join(data, "pg_wal", "0000000B.history"))).toBe(false);
    expect(readFileSync(real, "utf8")).toBe("1\t0/1\tx\n");
    expect(readFileSync(path.join(data, "pg_wal", "00000002.history"), "utf8")).toMatch(/^# .*\n$/);
    expect(home.settleTimelines()).toBe(3);
    expect(existsSync(path.join(data, "pg_wal", "00000004.history"))).toBe(false);
    expect(existsSync(path.join(data, "pg_wal", "00000002.history"))).toBe(true);
  });

  it("is not used while pg_rewind has not said that it is done, until it is rebuilt", async () => {
    const home = homeOf(["postgres", "-D", data], {});
    home.noteMending(true);
    const replication = postgresReplication(SERVERS, { timeoutMs: 100, promoteWithinMs: 100, confirmations: 0 });
    const { signal } = new AbortController();
    const beginning = {
      server: SERVERS.a,
      command: ["postgres", "-D", data],
      primary: SERVERS.b,
      mends: false,
      signal,
    };
    await expect(replication.prepare(beginning)).rejects.toThrow(/pg_basebackup -h 10.0.0.1 -p 2/);
    rmSync(data, { recursive: true });
    mkdirSync(path.join(data, "pg_wal"), { recursive: true });
    writeFileSync(path.join(base, "other"), "");
    writeFileSync(path.join(data, "PG_VERSION"), "15\n");
    await expect(replication.prepare(beginning)).resolves.toMatchObject({ trouble: undefined });
  });
});

describe("the configuration of a group of PostgreSQL", () => {
  const group = {
    name: "orders",
    kind: "postgres",
    monitors: ["m1"],
    servers: { a: "postgres://u@h1/x", b: "postgres://u@h2:5433/x" },
  };
  const parse = (more: object): ReturnType<typeof parseFailoverConfig> =>
    parseFailoverConfig(JSON.stringify({ ...group, ...more }), "it");

  it("has the usual port, and says for how many standbys commits wait", () => {
    const { servers, confirmations } = parse({ confirmations: 1 });
    expect([servers["a"]?.port, servers["b"]?.port, confirmations]).toEqual([5432, 5433, 1]);
  });

  it("says all problems at once", () => {
    expect(() => parse({ confirmations: 2, lagMax: 5, kind: "postgres" })).toThrow(/only 1 servers[\s\S]*lagMax/);
    const long = "x".repeat(53);
    expect(() => parse({ confirmations: 1, servers: { a: "postgres://u@h1/x", [long]: "postgres://u@h2/x" } })).toThrow(
      /longer than 52 letters/,
    );
    expect(() =>
      parse({ confirmations: 1, servers: { a: "postgres://u@h1/x", b: { url: "postgres://u@h2/x", priority: 0 } } }),
    ).toThrow(/only 0/);
    expect(() => parse({ kind: "mysql", servers: { a: "redis://x", b: "redis://y" } })).toThrow(
      /"redis" or "postgres"/,
    );
    expect(() => parse({ kind: "redis", confirmations: 1, servers: { a: "redis://x", b: "redis://y" } })).toThrow(
      /acknowledges a write before/,
    );
    expect(() => parse({ servers: { a: "postgres:///x", b: "redis://y" } })).toThrow(/servers\.a[\s\S]*servers\.b/);
  });
});
