// What only an old primary of PostgreSQL has, because no standby confirmed it, is taken back when it returns: by pg_rewind, on a real trio whose commits wait for one standby.
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { useServers } from "../support/servers.ts";
import { PostgresTrio } from "./postgres-trio.ts";
import { SERVERS } from "./trio.ts";

const store = useServers(etcd, { nodes: 1 });
const trio = new PostgresTrio();

beforeAll(async () => {
  await trio.start((store().urls[0] ?? "").replace("http:", "etcd:"), { confirmations: 1 });
  const primary = await trio.settled(undefined, 120_000);
  await trio.ask(primary, "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
}, 300_000);

afterAll(async () => await trio.end(), 300_000);

describe("failover of PostgreSQL", () => {
  it("takes back by pg_rewind what only the old primary has: a commit that nobody was told of", async () => {
    const old = await trio.settled();
    const others = SERVERS.filter((name) => name !== old);
    // Their guards would connect them again.
    for (const name of others) trio.guards.get(name)?.signal("SIGSTOP");
    for (const name of others) {
      await trio.ask(name, "ALTER SYSTEM SET primary_conninfo = ''");
      await trio.ask(name, "SELECT pg_reload_conf()");
    }
    const followers = "SELECT pid FROM pg_stat_replication";
    await expect.poll(() => trio.ask(old, followers)).toEqual([]);
    // It is on the disk of the primary, and waits for a standby.
    await expect(trio.ask(old, "INSERT INTO writes VALUES (7)", 300)).rejects.toThrow(/timeout/);
    await trio.guards.get(old)?.kill();
    for (const name of others) trio.guards.get(name)?.signal("SIGCONT");
    await trio.settled(old, 120_000);
    const guard = await trio.guard(old);
    await expect.poll(() => guard.stderr, { timeout: 120_000 }).toMatch(/"state":"killing"/);
    const linked = async (): Promise<number | undefined> => (await trio.look(old).catch(() => undefined))?.linkedTo;
    await expect.poll(linked, { timeout: 120_000 }).toBe(trio.ports.get(await trio.settled(old, 120_000)));
    expect(await trio.ask(old, "SELECT id FROM writes WHERE id = 7")).toEqual([]);
    expect(existsSync(`${trio.dataOf(old)}.conclave.json`)).toBe(false);
  }, 180_000);
});
