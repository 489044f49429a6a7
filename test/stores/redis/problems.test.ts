// What Redis does not promise, seen on real servers: the three problems that critics of Redlock name (a paused holder's write, a promoted replica that has forgotten the lock, a jump of the
// clock), and a restart without the last writes. Each is what `guarantee` declares. Beside each: what a token of another store refuses, with the same data in the same Redis.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, type FencingToken, type UnfencedTerm } from "conclave";
import { redisFence } from "conclave/fencing/redis";
import { memory } from "conclave/stores/memory";
import { redis } from "conclave/stores/redis";
import { sqlite } from "conclave/stores/sqlite";
import * as server from "../../../scripts/servers/redis.mjs";
import { Family } from "../../fencing/children.ts";
import { codeOf } from "../../fencing/tokens.ts";
import { useServers } from "../../support/servers.ts";
import { Wire } from "../../support/wire.ts";
import { call, claim, open } from "../moves.ts";
import { byHand, severalUrl, startWithClock } from "./stage.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Leads at the server at `at`, with a ttl that is long beside everything here. */
async function lead(at: string, options: Parameters<typeof redis>[1] = {}): Promise<UnfencedTerm> {
  const store = redis(at, options);
  const candidate = createCandidate({ store, ttlMs: 20_000, unfenced: true });
  closing.push(async () => {
    await candidate.close();
    await store.close();
  });
  return await candidate.election("ledger").campaign({ signal: AbortSignal.timeout(10_000) });
}

/** Two terms of a store that has tokens, the older first. */
async function twoTokens(): Promise<readonly [FencingToken, FencingToken]> {
  const candidate = createCandidate({ store: memory() });
  const election = candidate.election("ledger");
  const older = await election.campaign();
  await older.resign();
  const newer = await election.campaign();
  await candidate.close();
  return [older.token, newer.token];
}

let resources = 0;

/** What the successor of a leader with an older token does, and then what becomes of the older one's write, at the data that all of them share. */
async function guarded(at: string): Promise<{ readonly late: string; readonly data: unknown }> {
  const [older, newer] = await twoTokens();
  const [old, successor] = [redisFence(at), redisFence(at)];
  const set = (value: string): { command: string; key: string; args: string[] }[] => [
    { command: "SET", key: "guarded", args: [value] },
  ];
  const resource = `ledger-${++resources}`;
  await old.write(resource, { token: older }, set("first"));
  await successor.raise(resource, { token: newer });
  await successor.write(resource, { token: newer }, set("successor"));
  const late = await codeOf(old.write(resource, { token: older }, set("late")));
  await Promise.all([old.close(), successor.close()]);
  return { late, data: await byHand(at, "GET", "guarded") };
}

const REFUSED = { late: "TOKEN_STALE", data: "successor" };

// ---- 1

const LEADER = `
import { createRequire } from "node:module";
const { Redis } = createRequire(process.argv[3])("ioredis");
const url = process.argv[2];
const data = new Redis(url);
const candidate = conclave.createCandidate({ store: conclave.redis(url), ttlMs: 1000, drainMs: 100, unfenced: true });
const term = await candidate.election("ledger").campaign();
const held = term.isHeld();
say({ held });
await heard();
// Stopped about here: the write below was decided on when the term was held.
await data.set("ledger-data", "late");
say({ held: term.isHeld() });
process.exit();
`;

/** The same with the election in a store that has tokens, and the data in the same Redis behind a fence. */
const FENCED_LEADER = `
const [, , url, file] = process.argv;
const fence = conclave.redisFence(url);
const candidate = conclave.createCandidate({ store: conclave.sqlite(file), ttlMs: 1000, drainMs: 100 });
const term = await candidate.election("ledger").campaign();
await fence.raise("ledger", term);
say({ held: term.isHeld() });
await heard();
const late = await fence.write("ledger", term, [{ command: "SET", key: "fenced-data", args: ["late"] }]).then(
  () => "written",
  ({ code }) => code,
);
say({ held: term.isHeld(), late });
process.exit();
`;

describe("a paused holder's write", () => {
  let family: Family;
  beforeAll(async () => {
    family = await Family.begin();
  });
  afterAll(() => family.end());

  it("lands after its successor's; the holder knows that it does not lead, and it is too late", async () => {
    const leader = await family.spawn(LEADER, url(), import.meta.filename);
    await leader.until((said) => said.length === 1);
    leader.kill("SIGSTOP");
    leader.tell("go on");
    const successor = await lead(url());
    expect(successor.isHeld()).toBe(true);
    await byHand(url(), "SET", "ledger-data", "successor");
    leader.kill("SIGCONT");
    await leader.until((said) => said.length === 2);
    expect(leader.said).toEqual([{ held: true }, { held: false }]);
    expect(await byHand(url(), "GET", "ledger-data")).toBe("late");
  }, 30_000);

  it("is refused by a token of another store", async () => {
    const file = family.place("elections.db");
    const leader = await family.spawn(FENCED_LEADER, url(), file);
    await leader.until((said) => said.length === 1);
    leader.kill("SIGSTOP");
    leader.tell("go on");
    const fence = redisFence(url());
    const candidate = createCandidate({ store: sqlite(file), ttlMs: 20_000 });
    closing.push(async () => {
      await candidate.close();
      await fence.close();
    });
    const successor = await candidate.election("ledger").campaign({ signal: AbortSignal.timeout(15_000) });
    await fence.raise("ledger", successor);
    await fence.write("ledger", successor, [{ command: "SET", key: "fenced-data", args: ["successor"] }]);
    leader.kill("SIGCONT");
    await leader.until((said) => said.length === 2);
    expect(leader.said).toEqual([{ held: true }, { held: false, late: "TOKEN_STALE" }]);
    expect(await byHand(url(), "GET", "fenced-data")).toBe("successor");
  }, 30_000);
});

// ---- 2

describe("a promoted replica that has not heard of the grant", () => {
  it("gives the name to a second holder, and declares that it may", async () => {
    const wire = await Wire.to(url());
    const replica = await server.start({ args: ["--replicaof", "127.0.0.1", new URL(wire.url).port] });
    closing.push(async () => {
      await replica.stop();
      wire.end();
    });
    const at = replica.urls[0] ?? "";
    await expect
      .poll(async () => String(await byHand(at, "INFO", "replication")), { timeout: 10_000 })
      .toMatch(/master_link_status:up/);
    wire.cut(); // the grant is still on its way when the primary is gone
    const first = await lead(url());
    servers().nodes[0]?.pause();
    try {
      await byHand(at, "REPLICAOF", "NO", "ONE");
      const second = await lead(at);
      expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
      expect(redis(at).guarantee.earlyEnds.join()).toMatch(/replica is promoted/);
      expect(await guarded(at)).toEqual(REFUSED);
    } finally {
      servers().nodes[0]?.resume();
    }
  }, 30_000);
});

// ---- 3

describe("a wall clock that is set forward", () => {
  it("gives the name to a second holder, and declares that it may", async () => {
    const clock = await startWithClock();
    closing.push(() => clock.stop());
    const at = clock.servers.urls[0] ?? "";
    const first = await lead(at);
    clock.setAhead(60);
    const second = await lead(at);
    expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
    expect(redis(at).guarantee.earlyEnds.join()).toMatch(/wall clock of the server is set forward/);
    expect(await guarded(at)).toEqual(REFUSED);
  }, 30_000);

  it("at two of the three servers of Redlock does the same, and is declared, too", async () => {
    const clocks = await Promise.all([startWithClock(), startWithClock(), startWithClock()]);
    closing.push(() => Promise.all(clocks.map((clock) => clock.stop())));
    for (const clock of clocks) clock.setAhead(100); // so that they seem to have run for long enough to vote
    const at = severalUrl({ urls: clocks.flatMap(({ servers: { urls } }) => urls) });
    const first = await lead(at, { maxTtlMs: 20_000 });
    for (const clock of clocks.slice(1)) clock.setAhead(200);
    const second = await lead(at, { maxTtlMs: 20_000 });
    expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
    expect(redis(at, { maxTtlMs: 20_000 }).guarantee.earlyEnds.join()).toMatch(
      /wall clock of the server is set forward/,
    );
  }, 30_000);

  it("that is set back again revives no session that was over", async () => {
    const clock = await startWithClock();
    closing.push(() => clock.stop());
    const store = redis(clock.servers.urls[0] ?? "");
    closing.push(() => store.close());
    const call = { signal: AbortSignal.timeout(10_000), sentAtMs: 0 };
    const kept = await store.keep({ nonce: "n", candidate: "c", ttlMs: 20_000 }, [], call);
    if (kept.kind !== "kept") throw new Error(kept.kind);
    clock.setAhead(60);
    expect((await store.keep(kept.session, [], call)).kind).toBe("session-lost");
    clock.setAhead(0);
    expect((await store.keep(kept.session, [], call)).kind).toBe("session-lost");
  }, 30_000);
});

// ---- 4

describe("a server that starts again without its last writes", () => {
  it("gives the name to a second holder, and declares that it may", async () => {
    const own = await server.start();
    closing.push(() => own.stop());
    const at = own.urls[0] ?? "";
    const first = await lead(at);
    await own.nodes[0]?.restart();
    const second = await lead(at);
    expect([first.isHeld(), second.isHeld()]).toEqual([true, true]);
    expect(redis(at).guarantee.earlyEnds.join()).toMatch(/started again without the writes/);
    expect(await guarded(at)).toEqual(REFUSED);
  }, 30_000);

  it("gives it to nobody before maxTtlMs has passed, if that is set", async () => {
    const own = await server.start();
    closing.push(() => own.stop());
    const store = redis(own.urls[0] ?? "", { maxTtlMs: 60_000 });
    closing.push(() => store.close());
    const candidate = createCandidate({ store, ttlMs: 1000, drainMs: 100, unfenced: true });
    const told: string[] = [];
    candidate.subscribe((event) => {
      if (event.type === "error") told.push(event.error.message);
    });
    const election = candidate.election("ledger");
    await expect(election.campaign({ signal: AbortSignal.timeout(1500) })).rejects.toThrow();
    expect(told.join("\n")).toMatch(/was started less than 60000 ms ago.*may have forgotten who leads/);
    await candidate.close();
  }, 30_000);

  // A server tells its age as the difference of two times, each cut to whole seconds. So a server that was started late in a second says "one second" a moment later.
  it("counts the seconds that have passed whole, and not those that have begun", async () => {
    const maxTtlMs = 2000;
    const startingMs = performance.now();
    const clock = await startWithClock(0.85 - (Date.now() % 1000) / 1000 + 1);
    closing.push(() => clock.stop());
    const store = redis(clock.servers.urls[0] ?? "", { maxTtlMs });
    closing.push(() => store.close());
    const session = await open(store, maxTtlMs);
    for (let count = 0; (await claim(store, session, "ledger")).kind !== "granted"; count++)
      await store.keep(session, [], call());
    expect(performance.now() - startingMs).toBeGreaterThan(maxTtlMs);
  }, 30_000);
});
