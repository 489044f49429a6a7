// What only an old primary of PostgreSQL has, because no standby confirmed it, is taken back when it returns: by pg_rewind, on a real trio whose commits wait for one standby.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { serverCommand } from "../../scripts/servers/postgres.mjs";
import { launch } from "../../scripts/servers/process.mjs";
import { homeOf } from "../../src/failover/postgres-home.ts";
import { useServers } from "../support/servers.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { SERVERS } from "./trio.ts";

const store = useServers(etcd, { nodes: 1 });

/** $2: the data folder of the server that is taken back. What the primary has written while its files were copied is missing there; on a primary that is busy it is the end of the last file. */
const REWIND = `#!/bin/sh
REAL "$@" || exit $?
case "$*" in *--dry-run*) exit 0 ;; esac
[ -e CUT ] || exit 0
rm CUT
last=$(ls "$2/pg_wal" | grep -E '^[0-9A-F]{24}$' | sort | tail -1)
rm "$2/pg_wal/$last"
`;

/** Its pg_rewind copies what it is told to, and, if it is wanted once, not the last file of the log. */
class RewoundTrio extends PostgresTrio {
  readonly #programs = path.join(this.base, "bin");
  readonly #cut = path.join(this.#programs, "cut");

  cutOnce(): void {
    writeFileSync(this.#cut, "");
    chmodSync(this.#programs, 0o777);
    chmodSync(this.#cut, 0o666);
  }

  get isCut(): boolean {
    return existsSync(this.#programs) && !existsSync(this.#cut);
  }

  protected override command(name: string): readonly string[] {
    return super.command(name).map((word) => (path.basename(word) === "postgres" ? this.#postgres(word) : word));
  }

  #postgres(real: string): string {
    if (!existsSync(this.#programs)) {
      mkdirSync(this.#programs);
      for (const program of ["postgres", "pg_controldata"])
        symlinkSync(path.join(path.dirname(real), program), path.join(this.#programs, program));
      const rewind = path.join(path.dirname(real), "pg_rewind");
      const text = REWIND.replace("REAL", rewind).replaceAll("CUT", this.#cut);
      writeFileSync(path.join(this.#programs, "pg_rewind"), text, { mode: 0o755 });
    }
    return path.join(this.#programs, "postgres");
  }
}

const trio = new RewoundTrio();

beforeAll(async () => {
  await trio.start((store().urls[0] ?? "").replace("http:", "etcd:"), { confirmations: 1 });
  const primary = await trio.settled(undefined, 120_000);
  await trio.ask(primary, "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
}, 300_000);

afterAll(async () => await trio.end(), 300_000);

/** A commit that only the primary has, because no standby was connected; then the primary dies with its guard, and another one takes its place. */
async function partedServer(row: number): Promise<string> {
  const old = await trio.whole();
  const others = SERVERS.filter((name) => name !== old);
  // Their guards would connect them again.
  for (const name of others) trio.guards.get(name)?.signal("SIGSTOP");
  for (const name of others) {
    await trio.ask(name, "ALTER SYSTEM SET primary_conninfo = ''", 20_000);
    await trio.ask(name, "SELECT pg_reload_conf()", 20_000);
  }
  await expect.poll(() => trio.ask(old, "SELECT pid FROM pg_stat_replication", 20_000)).toEqual([]);
  // It is on the disk of the primary, and waits for a standby.
  await expect(trio.ask(old, `INSERT INTO writes VALUES (${row})`, 300)).rejects.toThrow(/timeout/);
  await trio.guards.get(old)?.kill();
  for (const name of others) trio.guards.get(name)?.signal("SIGCONT");
  await trio.settled(old, 120_000);
  return old;
}

/** It follows the primary, and has nothing of its own left. */
async function isTakenBack(old: string, row: number): Promise<void> {
  const linked = async (): Promise<number | undefined> => (await trio.look(old).catch(() => undefined))?.linkedTo;
  const port = trio.ports.get(await trio.settled(old, 120_000));
  await expect
    .poll(linked, { timeout: 60_000 })
    .toBe(port)
    .catch(() => {}); // what it says in the end is what counts
  expect(await linked()).toBe(port);
  expect(await trio.ask(old, `SELECT id FROM writes WHERE id = ${row}`, 20_000)).toEqual([]);
  expect(existsSync(`${trio.dataOf(old)}.conclave.json`)).toBe(false);
}

/** As if its guard had started it, and the host had lost its power after the server had heard of its primary's timeline. */
async function hearsAndDies(old: string): Promise<void> {
  const data = trio.dataOf(old);
  const home = homeOf(serverCommand(data, 0), {});
  const primary = await trio.settled(old, 120_000);
  // It is dead, but PostgreSQL does not start while anybody still has to hear of that.
  await expect.poll(() => home.postmaster()).toBe(undefined);
  home.becomeStandby({ primary_conninfo: `host=127.0.0.1 port=${trio.ports.get(primary)} user=postgres` });
  const known = home.settleTimelines();
  const [program = "", ...args] = serverCommand(data, trio.ports.get(old) ?? 0);
  const server = await launch({
    url: trio.urlOf(old),
    command: program,
    args: [...args, "-c", "wal_log_hints=on"],
    log: `${data}.log`,
    ready: () => Promise.resolve(home.settleTimelines() > known),
  });
  await server.kill();
  await expect.poll(() => trio.role(old)).toBe(undefined);
}

describe("failover of PostgreSQL", () => {
  it("a parted server that cannot even start, because it knows the timeline of its primary already, is taken back", async () => {
    const old = await partedServer(8);
    await hearsAndDies(old);
    await trio.guard(old);
    await isTakenBack(old, 8);
  }, 180_000);

  it("takes back by pg_rewind what only the old primary has: a commit that nobody was told of", async () => {
    const old = await partedServer(7);
    const guard = await trio.guard(old);
    await expect.poll(() => guard.stderr, { timeout: 120_000 }).toMatch(/"state":"killing"/);
    await isTakenBack(old, 7);
  }, 180_000);

  it("a server that was taken back gets what its primary wrote meanwhile, although it answers nobody before it has that", async () => {
    const old = await partedServer(9);
    trio.cutOnce();
    await trio.guard(old);
    await isTakenBack(old, 9);
    expect(trio.isCut).toBe(true);
    const folder = path.join(trio.dataOf(old), "log");
    const log = readdirSync(folder)
      .map((file) => readFileSync(path.join(folder, file), "utf8"))
      .join("");
    expect(log).toContain("Consistent recovery state has not been yet reached");
    expect(log, "its word counts for nothing before it was compared").toContain(`application_name='${old}'"`);
  }, 180_000);
});
