// Candidates as real processes on a real PostgreSQL, and what can happen to them and to it. After every fault: no two held at one instant, tokens grew, and
// somebody leads again without help. Judged from outside by the log of what each did and when (src/testing/judge.ts).
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as pgbouncer from "../../../scripts/servers/pgbouncer.mjs";
import * as server from "../../../scripts/servers/postgres.mjs";
import { Contest } from "../../support/contest.ts";
import type { FencedStore, Hold, Session } from "conclave/stores/contract";
import { faketimeLibrary } from "../../support/faketime.ts";
import type { Servers } from "../../support/servers.ts";
import { nowMs, type Player, sleep } from "../../support/processes.ts";
import { call, hold, open } from "../moves.ts";
import { byHand } from "./stage.ts";
import { Wire } from "../../support/wire.ts";

const TTL_MS = 1500;
const DRAIN_MS = 200;

const TERMINATE_ALL =
  "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";

describe.each([["straight"], ["through pgbouncer"]])("three candidates, %s", { timeout: 60_000 }, (way) => {
  let servers: Awaited<ReturnType<typeof server.start>>;
  let pooler: Servers | undefined;
  let contest: Contest;
  const direct = (): string => servers.urls[0] ?? "";

  beforeAll(async () => {
    servers = await server.start();
    await byHand(direct(), postgresSchema());
    pooler = way === "straight" ? undefined : await pgbouncer.start({ database: direct() });
    contest = new Contest();
    for (const id of ["a", "b", "c"]) await join(id);
  }, 60_000);
  afterAll(async () => {
    await contest?.end();
    await pooler?.stop();
    await servers?.stop();
  }, 60_000);
  afterEach(async () => {
    await contest.leader();
    expect(contest.verdict()).toMatchObject({ overlaps: [], regressions: [], unread: [] });
  }, 60_000);

  const join = (id: string): Promise<Player> =>
    contest.join({ store: pooler?.urls[0] ?? direct(), id, ttlMs: TTL_MS, drainMs: DRAIN_MS });

  /** Three ttl without a database: its leader has stopped, and nobody else has begun. */
  async function expectNobody(): Promise<void> {
    await sleep(2 * TTL_MS);
    await expect(contest.leader(TTL_MS)).rejects.toThrow(/nobody led/);
  }

  it("the leader resigns: the next one is told", async () => {
    const leader = await contest.leader();
    const at = nowMs();
    leader.tell("resign");
    await contest.elected(at);
    leader.tell("stand");
  });

  it("the leader is killed: taken over after a ttl of silence, not before", async () => {
    const leader = await contest.leader();
    const [row] = await byHand(
      direct(),
      "SELECT extract(epoch FROM clock_timestamp() - kept) * 1000 AS age FROM conclave.place WHERE name = 'x'",
    );
    const keptAt = nowMs() - Number(row?.["age"]);
    const killedAt = nowMs(); // before: on a busy machine its end may be told after the next one was elected
    await leader.kill();
    await contest.elected(killedAt);
    const elected = contest.players.flatMap(({ heard }) => heard).filter(({ event }) => event === "elected");
    expect(Math.max(...elected.map(({ at }) => at)) - keptAt).toBeGreaterThanOrEqual(TTL_MS * 0.9);
    await join(`${leader.id}2`);
  });

  it("the leader is stopped past its ttl: it finds its term over when it wakes", async () => {
    const leader = await contest.leader();
    const at = nowMs();
    leader.signal("SIGSTOP");
    await contest.elected(at);
    leader.signal("SIGCONT");
    await leader.hears("lost", at);
  });

  it("a waiter is killed: nobody notices", async () => {
    const leader = await contest.leader();
    const waiter = contest.players.find((player) => player !== leader && !player.hasEnded);
    await waiter?.kill();
    await sleep(TTL_MS * 1.5);
    expect((await contest.leader()).id).toBe(leader.id);
    await join(`${waiter?.id}3`);
  });

  it("every backend is killed, over and over: the leader goes on", async () => {
    const leader = await contest.leader();
    const at = nowMs();
    while (nowMs() < at + 2 * TTL_MS) {
      await byHand(direct(), TERMINATE_ALL);
      await sleep(TTL_MS / 5);
    }
    expect((await contest.leader()).id).toBe(leader.id);
    expect(leader.heard.some(({ event, at: when }) => event === "lost" && when > at)).toBe(false);
  });

  it("the server is restarted: the leader goes on, or another does", async () => {
    await servers.nodes[0]?.restart();
    await contest.leader();
  });

  it("the server is killed, and is down for three ttl: nobody leads, and then somebody does", async () => {
    const before = contest.verdict().terms;
    await servers.nodes[0]?.kill();
    await expectNobody();
    const back = nowMs();
    await servers.nodes[0]?.restart();
    await contest.elected(back);
    await contest.leader();
    expect(contest.verdict().terms).toBeGreaterThan(before);
  });

  it("the whole server is stopped for three ttl, and goes on: what was under way does no harm", async () => {
    const [node] = servers.nodes;
    node?.pause();
    await expectNobody().finally(() => node?.resume()); // what follows needs it, whatever was found
    await contest.elected(nowMs());
  });

  it("the seat is deleted by hand: its holder loses it at once, and it is waited for", async () => {
    const leader = await contest.leader();
    const at = nowMs();
    await byHand(direct(), "DELETE FROM conclave.seat");
    const lost = await leader.hears("lost", at);
    expect(lost.at - at).toBeLessThan(TTL_MS);
    await contest.elected(at);
  });

  it("the session is deleted by hand: the same", async () => {
    const leader = await contest.leader();
    const at = nowMs();
    await byHand(direct(), "DELETE FROM conclave.session WHERE id IN (SELECT session FROM conclave.seat)");
    await leader.hears("lost", at);
    await contest.elected(at);
  });
});

describe("a wire that goes dead without a word", () => {
  let servers: Awaited<ReturnType<typeof server.start>>;
  let wire: Wire;
  beforeAll(async () => {
    servers = await server.start();
    await byHand(servers.urls[0] ?? "", postgresSchema());
    wire = await Wire.to(servers.urls[0] ?? "");
  }, 60_000);
  afterAll(async () => {
    wire.end();
    await servers.stop();
  });

  it("keeps close() waiting for a moment only", async () => {
    const store = postgres(wire.url);
    const look = (): ReturnType<typeof store.look> =>
      store.look([{ name: "x" }], { signal: new AbortController().signal, sentAtMs: 0 });
    expect((await look()).kind).toBe("seen");
    wire.swallow();
    const asked = look();
    await sleep(100); // it is under way
    const at = performance.now();
    await store.close();
    expect(performance.now() - at).toBeLessThan(5000); // it would be given up after eleven seconds
    expect((await asked).kind).toBe("unknown");
  });

  it(
    "ends the term at its deadline, lets another lead, and is used again when it works, without help",
    { timeout: 60_000 },
    async () => {
      const cut = createCandidate({ store: postgres(wire.url), id: "cut", ttlMs: TTL_MS, drainMs: DRAIN_MS });
      const other = createCandidate({
        store: postgres(servers.urls[0] ?? ""),
        id: "other",
        ttlMs: TTL_MS,
        drainMs: DRAIN_MS,
      });
      const events: ConclaveEvent[] = [];
      cut.subscribe((event) => events.push(event));
      const term = await cut.election("x").campaign();
      const next = other.election("x").campaign();
      wire.cut();
      const at = performance.now();
      expect(await term.ended).toBe("expired");
      expect(performance.now() - at).toBeLessThanOrEqual(TTL_MS + 500);
      const successor = await next;
      expect(term.isHeld()).toBe(false);
      expect(successor.token.value).toBe(term.token.value + 1n);
      // Long enough for every connection of its pool to have been used up by calls that nobody answers.
      await sleep(4 * TTL_MS);
      const again = cut.election("x").campaign();
      wire.mend();
      await successor.resign();
      expect((await again).token.value).toBe(term.token.value + 2n);
      const troubles = events.flatMap((event) => (event.type === "error" ? [event.error] : []));
      expect(troubles.filter(({ code }) => code.startsWith("STORE_")).every(({ retryable }) => retryable)).toBe(true);
      await cut.close();
      await other.close();
    },
  );
});

describe("a server that dies right after a release", () => {
  let servers: Awaited<ReturnType<typeof server.start>>;
  // Nothing is written by the way: what nobody waited for is lost.
  beforeAll(async () => {
    servers = await server.start({ settings: { wal_writer_delay: "10s" } });
    await byHand(servers.urls[0] ?? "", postgresSchema());
  }, 60_000);
  afterAll(() => servers.stop());

  /** Dies between the answer to a release and its disk. Once in a while that is too late: the disk gets what nobody waits for every ten seconds. */
  async function dieAfterRelease(store: FencedStore, session: Session, name: string): Promise<Hold> {
    const held = await hold(store, session, name);
    // What exclusion rests on is waited for: the grant, and the keep, whose version would come a second time otherwise.
    await store.keep(session, [held], call());
    const kept = await byHand(servers.urls[0] ?? "", "SELECT beat FROM conclave.session");
    expect(await store.release({ session, holds: [held], endSession: false }, call())).toEqual({ kind: "released" });
    const [node] = servers.nodes;
    await node?.kill();
    await node?.restart();
    await expect.poll(async () => (await store.look([{ name }], call())).kind, { timeout: 10_000 }).toBe("seen");
    expect(await byHand(servers.urls[0] ?? "", "SELECT beat FROM conclave.session")).toEqual(kept);
    return held;
  }

  it("forgets it: the seat shows as a stray of its session, is given back again, and tokens go on", async () => {
    const store = postgres(servers.urls[0] ?? "");
    const session = await open(store);
    const stateOf = async (name: string): Promise<string | undefined> => {
      const looked = await store.look([{ name }], call());
      return looked.kind === "seen" ? looked.seats[0]?.state : looked.kind;
    };
    let held = await dieAfterRelease(store, session, "x0");
    for (let time = 1; time < 4 && (await stateOf(held.name)) === "vacant"; time++)
      held = await dieAfterRelease(store, session, `x${time}`);
    const { name, bid, token } = held;
    expect(await stateOf(name)).toBe("held");
    expect(await store.keep(session, [], call())).toMatchObject({ kind: "kept", strays: [{ name, bid }] });
    await store.release({ session, holds: [{ name, bid }], endSession: false }, call());
    const next = await hold(store, await open(store), name);
    expect(next.token?.value).toBe((token?.value ?? 0n) + 1n);
    await store.close();
  });
});

describe("the database's wall clock", () => {
  let servers: Awaited<ReturnType<typeof server.start>>;
  let clock = "";
  beforeAll(async () => {
    clock = path.join(tmpdir(), `conclave-clock-${process.pid}`);
    writeFileSync(clock, "+0");
    servers = await server.start({
      env: {
        LD_PRELOAD: faketimeLibrary(),
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    await byHand(servers.urls[0] ?? "", postgresSchema());
  }, 60_000);
  afterAll(async () => {
    await servers?.stop();
    rmSync(clock, { force: true });
  });

  const clockOf = async (): Promise<number> =>
    Number(
      (await byHand(servers.urls[0] ?? "", "SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms"))[0]?.["ms"],
    );

  it.each(["+3600", "-3600"])("set by %s s, changes nothing where silence judges", async (jump) => {
    writeFileSync(clock, "+0");
    const store = postgres(servers.urls[0] ?? "");
    await using leader = createCandidate({ store, id: "leader", ttlMs: TTL_MS, drainMs: DRAIN_MS });
    await using waiter = createCandidate({ store, id: "waiter", ttlMs: TTL_MS, drainMs: DRAIN_MS });
    const term = await leader.election(`jump ${jump}`).campaign();
    const waiting = waiter.election(`jump ${jump}`);
    waiting.start();
    writeFileSync(clock, jump);
    expect(Math.abs((await clockOf()) - Date.now())).toBeGreaterThan(3_000_000);
    const until = performance.now() + 3 * TTL_MS;
    while (performance.now() < until) {
      await sleep(20);
      expect(term.isHeld()).toBe(true);
      expect(waiting.term()).toBeUndefined();
    }
    await term.resign();
    await expect.poll(() => waiting.term()?.token.value, { timeout: 5000 }).toBe(term.token.value + 1n);
  });

  it("set forward, frees a live holder's seat where it judges: as declared, with a greater token, and noticed at the next renewal", async () => {
    writeFileSync(clock, "+0");
    const store = postgres(servers.urls[0] ?? "", { expiry: "database-clock" });
    expect(store.guarantee.earlyEnds).not.toEqual([]);
    await using leader = createCandidate({ store, id: "leader", ttlMs: TTL_MS, drainMs: DRAIN_MS });
    await using waiter = createCandidate({ store, id: "waiter", ttlMs: TTL_MS, drainMs: DRAIN_MS });
    const term = await leader.election("by clock").campaign();
    const next = waiter.election("by clock").campaign();
    writeFileSync(clock, "+3600");
    const at = performance.now();
    const ended = await term.ended;
    expect(["session-lost", "superseded"]).toContain(ended);
    expect(performance.now() - at).toBeLessThan(TTL_MS);
    expect((await next).token.value).toBeGreaterThan(term.token.value);
  });
});
