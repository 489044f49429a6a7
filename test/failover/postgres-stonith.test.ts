// Failover of PostgreSQL with guards and devices, where a verified device is required: the machine of the primary stands still with everything on it, and nobody is promoted before a switch says that it is off. Every commit
// that a client was told of is looked for afterwards.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FailoverRecord } from "conclave/failover";
import { areGone, PostgresMachineTrio } from "./machines.ts";
import { PostgresWriter } from "./postgres-writer.ts";
import { Onlooker, SERVERS } from "./trio.ts";

const LONG = { timeout: 60_000 };
const trio = new PostgresMachineTrio();
let onlooker: Onlooker | undefined;
let writer: PostgresWriter | undefined;

beforeAll(async () => {
  await trio.begin(`sqlite:${trio.cli.file("store.db")}`, { required: true });
  const primary = await trio.whole();
  await trio.ask(primary, "CREATE TABLE writes (id int PRIMARY KEY)", 20_000);
  onlooker = new Onlooker(trio);
  writer = new PostgresWriter(
    SERVERS.map((name) => trio.urlOf(name)),
    1,
  );
  await writer.again();
}, 300_000);

afterAll(async () => {
  await writer?.stop();
  await onlooker?.stop();
  await trio.end();
  expect(onlooker?.doubles).toEqual([]);
}, 120_000);

const recordOf = async (): Promise<FailoverRecord> => (await trio.order("status"))["record"] as FailoverRecord;
const vain = async (server: string): Promise<number> =>
  (await recordOf()).shots?.findLast((shot) => shot.server === server)?.vain ?? 0;

describe("failover of PostgreSQL by devices beside guards, where they are required", () => {
  it("promotes nobody while the machine that stands still is not verified to be off, although its seat has run out; then it does, and no commit is lost", async () => {
    await trio.steady();
    const old = await trio.whole();
    trio.mood("mute");
    const pids = await trio.freeze(old);
    await expect.poll(() => vain(old), LONG).toBeGreaterThan(1);
    await expect.poll(async () => (await trio.order("status"))["seated"], LONG).toBeUndefined();
    for (const name of SERVERS) if (name !== old) expect(await trio.role(name)).toBe("replica");
    expect((await recordOf()).step).toMatchObject({ at: "fencing", from: old });
    trio.mood("honest");
    const next = await trio.settled(old, 60_000);
    expect(areGone(pids)).toBe(true);
    const told = [...trio.monitors.values()].map(({ stderr }) => stderr).join("");
    expect(told).toMatch(/"fencedBy":"stonith and seat"/);
    await writer?.again();
    await writer?.stop();
    const rows = (await trio.ask(next, "SELECT id FROM writes", 20_000)) as readonly { id: number }[];
    const found = new Set(rows.map(({ id }) => id));
    expect(writer?.acknowledged.filter((id) => !found.has(id))).toEqual([]);
    await trio.boot(old);
    expect(await trio.whole()).toBe(next);
    await expect.poll(async () => (await recordOf()).shots?.at(-1)?.isBack, LONG).toBe(true);
  }, 240_000);
});
