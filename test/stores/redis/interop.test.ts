// One lock, two libraries: ours with the layout "redlock", and a published package of Redlock. Each waits while the other holds; each takes over after a clean end, and after a ttl when the
// other is just gone. At one server, and at three. As safe as the foreign client.
import { Redlock } from "@sesamecare-oss/redlock";
import { Redis } from "ioredis";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, type UnfencedTerm } from "conclave";
import type { UnfencedStore } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { hold, open } from "../moves.ts";
import { severalUrl, untilItVotes } from "./stage.ts";

const TTL_MS = 1500;
const servers = useServers(server, { nodes: 3 });
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

let names = 0;
const fresh = (): string => `both-${++names}`;

describe.each([1, 3])("at %i", (count) => {
  const urls = (): readonly string[] => servers().urls.slice(0, count);
  const ours = (): UnfencedStore => {
    const store =
      count === 1
        ? redis(urls()[0] ?? "", { layout: "redlock" })
        : redis(severalUrl(servers()), { layout: "redlock", maxTtlMs: 2 * TTL_MS });
    closing.push(() => store.close());
    return store;
  };
  const theirs = (): Redlock => {
    const clients = urls().map((url) => new Redis(url));
    closing.push(() => clients.forEach((client) => client.disconnect()));
    return new Redlock(clients, { retryCount: 0 });
  };
  const campaign = async (name: string): Promise<{ term: Promise<UnfencedTerm>; isLed: () => boolean }> => {
    const candidate = createCandidate({ store: ours(), ttlMs: TTL_MS, drainMs: 100, unfenced: true });
    closing.push(() => candidate.close());
    let led = false;
    const term = candidate.election(name).campaign({ signal: AbortSignal.timeout(20_000) });
    void term.then(() => (led = true)).catch(() => {});
    return { term, isLed: () => led };
  };
  beforeAll(async () => {
    if (count > 1) await untilItVotes(ours());
  }, 30_000);

  it("ours leads and theirs is refused; ours resigns and theirs gets it", async () => {
    const name = fresh();
    const term = await (await campaign(name)).term;
    await expect(theirs().acquire([name], TTL_MS)).rejects.toThrow();
    await term.resign();
    const lock = await theirs().acquire([name], TTL_MS);
    await lock.release();
  }, 30_000);

  it("theirs holds and extends, ours waits; theirs releases and ours leads", async () => {
    const name = fresh();
    const lock = await theirs().acquire([name], TTL_MS);
    const { term, isLed } = await campaign(name);
    const extended = await lock.extend(2 * TTL_MS);
    await new Promise((resolve) => setTimeout(resolve, 1.3 * TTL_MS));
    expect(isLed()).toBe(false);
    await extended.release();
    expect((await term).isHeld()).toBe(true);
  }, 30_000);

  it("theirs is gone without a word: ours leads after its ttl", async () => {
    const name = fresh();
    const from = performance.now();
    await theirs().acquire([name], TTL_MS);
    const { term } = await campaign(name);
    await term;
    expect(performance.now() - from).toBeGreaterThan(TTL_MS * 0.98);
  }, 30_000);

  it("ours is gone without a word: theirs gets it after our ttl, and not before", async () => {
    const name = fresh();
    const store = ours();
    const from = performance.now();
    await hold(store, await open(store, TTL_MS), name);
    const redlock = theirs();
    for (;;) {
      const lock = await redlock.acquire([name], TTL_MS).catch(() => undefined);
      if (lock !== undefined) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(performance.now() - from).toBeGreaterThan(TTL_MS * 0.98);
  }, 30_000);
});
