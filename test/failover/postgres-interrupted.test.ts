// A server of PostgreSQL that was killed in the middle of its promotion, before its new timeline had a history file: it starts again as a standby, and says that it has what it had before.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgresReplication, type ServerSpec } from "conclave/failover";
import { makeCopies, serverCommand } from "../../scripts/servers/postgres.mjs";
import { freePorts, launch } from "../../scripts/servers/process.mjs";
import { homeOf, type PostgresHome } from "../../src/failover/postgres-home.ts";

let base: string;
let server: ServerSpec;
let command: readonly string[];
let home: PostgresHome;
let stop: (() => Promise<void>) | undefined;

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), "conclave-interrupted-"));
  await makeCopies(base, ["a"], { fsync: "off" });
  const [port = 0] = await freePorts(1);
  server = {
    name: "a",
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    host: "127.0.0.1",
    port,
    priority: 100,
  };
  command = serverCommand(path.join(base, "a"), port);
  home = homeOf(command, {});
});

afterEach(async () => {
  await stop?.();
  stop = undefined;
  rmSync(base, { recursive: true, force: true });
});

/** As a guard does. Rejects if the server ends instead. */
async function started(): Promise<ReturnType<typeof postgresReplication>> {
  const replication = postgresReplication(
    { a: server },
    { timeoutMs: 5000, promoteWithinMs: 20_000, confirmations: 0 },
  );
  const { signal } = new AbortController();
  const prepared = await replication.prepare({ server, command, primary: undefined, mends: false, signal });
  const [program = "", ...args] = prepared.command;
  const ready = async (): Promise<boolean> => {
    const link = await replication.connect(server);
    const { is } = await link.view();
    link.close();
    return is === "up";
  };
  const node = await launch({
    url: server.url,
    command: program,
    args,
    log: path.join(base, "log"),
    stopSignal: "SIGINT",
    ready,
  });
  stop = () => node.kill();
  return replication;
}

/** What XLogInitNewTimeline of PostgreSQL leaves: the last file of the log once more, under the number of the new timeline. */
function beginTimeline(number: number): void {
  const log = path.join(home.data, "pg_wal");
  const last =
    readdirSync(log)
      .filter((name) => /^[0-9A-F]{24}$/.test(name))
      .toSorted()
      .at(-1) ?? "";
  copyFileSync(path.join(log, last), path.join(log, `0000000${number}${last.slice(8)}`));
}

describe("a server of PostgreSQL that was killed in the middle of its promotion", () => {
  it("starts as a standby, when its number was reserved and it had not begun", async () => {
    home.reserveTimelines(4);
    const link = await (await started()).connect(server);
    expect(await link.view()).toMatchObject({ is: "up", role: "replica", generation: 1 });
    link.close();
  }, 60_000);

  it("starts as a standby on its old timeline, when the new one had a file of the log and no history", async () => {
    home.reserveTimelines(4);
    beginTimeline(4);
    const replication = await started();
    const link = await replication.connect(server);
    expect(await link.view()).toMatchObject({ is: "up", role: "replica", generation: 1 });
    expect(await link.promote({ generation: 5, standbys: undefined })).toBe("done");
    expect(await link.view()).toMatchObject({
      role: "primary",
      generation: 5,
      ancestors: [expect.stringMatching(/\/1$/)],
    });
    expect(readFileSync(path.join(home.data, "pg_wal", "00000005.history"), "utf8")).toMatch(/^1\s/);
    link.close();
  }, 60_000);
});
