// Schedules on the servers that keep memos: a slot runs once across two candidates, the next leader continues from the mark, and `conclave list --schedules` shows it.
import { type Election, elect, openStore, requireFenced } from "conclave";
import type { FencedStore } from "conclave/stores/contract";
import { schedule, type SlotRun } from "conclave/schedule";
import { afterAll, describe, expect, it } from "vitest";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { CommandLine } from "../cli/command.ts";
import { urlOf } from "../stores/etcd/etcd.ts";
import { newDatabase } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";

const EVERY_MS = 500;
const PATIENT = { timeout: 30_000, interval: 20 };
const members = useServers(etcdServer);
const databases = useServers(postgresServer);
const cli = new CommandLine();
const opened: AsyncDisposable[] = [];
afterAll(async () => {
  for (const each of opened.toReversed()) await each[Symbol.asyncDispose]();
  await cli.end();
});

/** One process of a fleet, as far as one test can have two. */
class Replica {
  readonly runs: SlotRun[] = [];
  readonly election: Election;
  /** In the middle of its next run, where no mark is on its way. */
  isLeaving = false;
  left: Promise<void> | undefined;

  constructor(store: FencedStore, name: string, id: string) {
    // Long enough that a busy machine loses no term: it is handed over, and does not expire.
    this.election = elect(name, { store, id, ttlMs: 20_000, logger: { ...console, debug() {}, info() {} } });
    schedule(this.election, { everyMs: EVERY_MS }, (run) => this.#run(run), { key: "poll", missed: "all" });
  }

  static async start(url: string, name: string, id: string): Promise<Replica> {
    const store = await openStore(url);
    requireFenced(store);
    const replica = new Replica(store, name, id);
    opened.push({ [Symbol.asyncDispose]: () => store.close() }, replica.election);
    return replica;
  }

  async #run(run: SlotRun): Promise<void> {
    this.runs.push(run);
    if (this.isLeaving) this.left ??= this.election.close();
  }

  get slots(): readonly number[] {
    return this.runs.map(({ slot }) => slot.getTime());
  }
}

describe.each([
  ["etcd", async () => urlOf(members())],
  ["PostgreSQL", async () => await newDatabase(databases().urls[0] ?? "")],
] as const)("a schedule on %s", (name, urlFor) => {
  it("runs each slot once across two candidates, goes on from the mark after a takeover, and is listed", async () => {
    const url = await urlFor();
    const first = await Replica.start(url, name, "a");
    await expect.poll(() => first.runs.length, PATIENT).toBeGreaterThan(1);
    const second = await Replica.start(url, name, "b");
    const before = first.runs.length;
    await expect.poll(() => first.runs.length, PATIENT).toBeGreaterThan(before + 1);
    expect(second.slots).toEqual([]);
    first.isLeaving = true;
    await expect.poll(() => first.left !== undefined, PATIENT).toBe(true);
    await first.left;
    await expect.poll(() => second.runs.length, PATIENT).toBeGreaterThan(2);
    const listed = await cli.run(["list", "--schedules", "--store", url]);
    await second.election.close();

    // With `missed: "all"` the second goes on with the slot after the last one of the first: none is left out, none comes twice, whatever the gap between them was.
    const slots = [...first.slots, ...second.slots];
    const [start = 0] = slots;
    expect(slots).toEqual(slots.map((_, index) => start + index * EVERY_MS));
    const [mine, theirs] = [first.runs[0]?.term.token.value ?? 0n, second.runs[0]?.term.token.value ?? 0n];
    expect(theirs).toBeGreaterThan(mine);
    expect(listed.code).toBe(0);
    expect(listed.stdout).toMatch(
      new RegExp(`^"${name}" poll: \\S+Z \\w+, at \\S+Z with token ${theirs}, next \\S+Z\n$`),
    );
  });
});
