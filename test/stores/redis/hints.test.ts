// How waiters wake, on a real server: by what our scripts publish; by the server's keyspace events, where another library gives a lock back; by looks, where nothing can be heard;
// and by a look at the instant at which a lease runs out. Looks are counted at the server. Then five hundred candidates wait for one name.
import { setMaxListeners } from "node:events";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, type UnfencedTerm } from "conclave";
import type { Seat, UnfencedStore } from "conclave/stores/contract";
import { redis, type RedisOptions } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, hasChannelRights } from "./stage.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let operator: Redis;
beforeAll(() => {
  operator = new Redis(url());
});
afterAll(() => operator.disconnect());

/** Requests of candidates that the server has run so far. */
const asked = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(await operator.info("commandstats"))?.[1] ?? 0);

/** Four looks would have been made in this time by one who looks twice a second. */
const A_WHILE_MS = 2000;

interface Watch {
  /** How often the server was asked while nothing happened. */
  readonly looks: number;
  /** Resolves when it is told that the name is vacant. */
  readonly vacant: Promise<Seat>;
}

async function watch(store: UnfencedStore, name: string): Promise<Watch> {
  const over = new AbortController();
  closing.push(() => over.abort());
  const from = await asked();
  const hints = store.watch([{ name }], call(over.signal));
  const vacant = (async () => {
    for await (const { seat } of hints) if (seat?.state === "vacant") return seat;
    throw new Error("the watch has ended");
  })();
  vacant.catch(() => {});
  await sleep(A_WHILE_MS);
  return { looks: (await asked()) - from, vacant };
}

function open1(options: RedisOptions = {}, at = url()): UnfencedStore {
  const store = redis(at, options);
  closing.push(() => store.close());
  return store;
}

it("a holder of many names looks at them together: what is held costs a few requests, however much it is", async () => {
  const TTL_MS = 2000;
  const candidate = createCandidate({ store: open1(), unfenced: true, ttlMs: TTL_MS, id: "holder" });
  closing.push(() => candidate.close());
  const names = Array.from({ length: 200 }, (_, index) => `held-together-${index}`);
  const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
  const from = await asked();
  await sleep(2 * TTL_MS + 500);
  // Renewals, and a look or two in each ttl. A look for each name would be 400 and more.
  expect((await asked()) - from).toBeLessThan(60);
  expect(terms.every((term) => term.isHeld())).toBe(true);
}, 60_000);

describe.each(["own", "ioredis", "redis"] as const)("by %s", (client) => {
  it("what our scripts publish is heard, without looks", async () => {
    const store = open1({ client });
    const session = await open(store);
    const held = await hold(store, session, `published ${client}`);
    const { looks, vacant } = await watch(open1({ client }), held.name);
    expect(looks).toBe(1);
    await store.release({ session, holds: [held], endSession: true }, call());
    await vacant;
  });

  it.each([0, 5])(
    "keyspace events tell of another library's release, without looks (database %i)",
    async (database) => {
      await operator.config("SET", "notify-keyspace-events", "K$gx");
      closing.push(() => operator.config("SET", "notify-keyspace-events", ""));
      const at = `${url()}/${database}`;
      const name = `keyspace ${client}`;
      await byHand(at, "SET", name, "another's", "PX", "60000");
      const { looks, vacant } = await watch(open1({ client, layout: "redlock" }, at), name);
      // One when it begins, the probe, and one more before the probe was heard.
      expect(looks).toBeLessThanOrEqual(3);
      await byHand(at, "PEXPIRE", name, "50000");
      await byHand(at, "DEL", name);
      await vacant;
    },
  );

  it("without keyspace events it looks twice a second for what others give back", async () => {
    const name = `looks ${client}`;
    await byHand(url(), "SET", name, "another's", "PX", "60000");
    const { looks, vacant } = await watch(open1({ client, layout: "redlock" }), name);
    expect(looks).toBeGreaterThanOrEqual(4);
    await byHand(url(), "DEL", name);
    await vacant;
  });

  it("without the right to listen it looks twice a second", async ({ skip }) => {
    if (!(await hasChannelRights(url()))) skip("Redis 6.0 lets everybody listen");
    const rights = ["reset", "on", ">secret", "~*", "resetchannels", "+@all"];
    await byHand(url(), "ACL", "SETUSER", "deaf", ...rights);
    const store = open1({ client });
    const session = await open(store);
    const held = await hold(store, session, `deaf ${client}`);
    const { looks, vacant } = await watch(open1({ client }, url().replace("//", "//deaf:secret@")), held.name);
    expect(looks).toBeGreaterThanOrEqual(4);
    await store.release({ session, holds: [held], endSession: true }, call());
    await vacant;
  });
});

it("a lease that runs out is looked at then", async () => {
  const store = open1();
  const held = await hold(store, await open(store, A_WHILE_MS + 1000), "runs out");
  const { looks, vacant } = await watch(open1(), held.name);
  expect(looks).toBe(1);
  await vacant;
});

it("of five hundred candidates one leads at a time, and the next one soon after", async () => {
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  closing.push(() => over.abort());
  const leading: UnfencedTerm[] = [];
  let terms = 0;
  const candidates = Array.from({ length: 500 }, () => {
    const store = redis(url());
    const candidate = createCandidate({ store, ttlMs: 20_000, drainMs: 100, unfenced: true });
    return { candidate, store };
  });
  closing.push(async () => {
    await Promise.all(candidates.map(({ candidate }) => candidate.close()));
    await Promise.all(candidates.map(({ store }) => store.close()));
  });
  const campaigns = candidates.map(({ candidate }) =>
    candidate
      .election("crowd")
      .campaign({ signal: over.signal })
      .then((term) => {
        terms++;
        leading.push(term);
      })
      .catch(() => {}),
  );
  await expect.poll(() => leading.length, { timeout: 30_000 }).toBe(1);
  await expect
    .poll(async () => Number(/connected_clients:(\d+)/.exec(await operator.info("clients"))?.[1]), { timeout: 60_000 })
    .toBeGreaterThan(999);
  for (let round = 0; round < 3; round++) {
    const [term] = leading.splice(0);
    expect(term?.isHeld()).toBe(true);
    const from = performance.now();
    await term?.resign();
    await expect.poll(() => leading.length, { timeout: 10_000, interval: 5 }).toBe(1);
    expect(performance.now() - from).toBeLessThan(5000);
  }
  expect([terms, leading.length]).toEqual([4, 1]);
  over.abort();
  await Promise.all(campaigns);
}, 120_000);
