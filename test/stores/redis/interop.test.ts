// One lock, two libraries: ours with the layout "redlock", and two published packages of Redlock. Each waits while the other holds; each takes over after a clean end, and after a ttl when the
// other's process was killed. At one server, and at three. As safe as the foreign client.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, type UnfencedTerm } from "conclave";
import type { UnfencedStore } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { Stage } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { type ForeignLock, type ForeignLocks, KINDS, openForeign } from "./foreign.mjs";
import { byHand, severalUrl, untilItVotes } from "./stage.ts";

const TTL_MS = 1500;
const servers = useServers(server, { nodes: 3 });
const closing: (() => unknown)[] = [];
const stage = new Stage();
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(() => stage.end());
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let names = 0;
const fresh = (): string => `both-${++names}`;

/** A holder of theirs in a process of its own. */
async function startTheirs(kind: string, urls: readonly string[], name: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL("foreign.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, kind, urls.join(","), name, `${TTL_MS}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  closing.push(() => child.kill("SIGKILL"));
  await new Promise((resolve, reject) => {
    child.stdout.once("data", resolve);
    child.once("exit", () => reject(new Error("it ended before it held the lock")));
  });
  return child;
}

const PLACES = KINDS.flatMap((kind) => [1, 3].map((count) => [kind, count] as const));

describe.each(PLACES)("%s, at %i", (kind, count) => {
  const urls = (): readonly string[] => servers().urls.slice(0, count);
  const ourUrl = (): string =>
    count === 1
      ? `${urls()[0]}?conclave_layout=redlock`
      : `${severalUrl(servers())}?conclave_layout=redlock&conclave_max_ttl_ms=${2 * TTL_MS}`;
  const ours = (): UnfencedStore => {
    const store = redis(ourUrl());
    closing.push(() => store.close());
    return store;
  };
  const theirs = (): ForeignLocks => {
    const locks = openForeign(kind, urls());
    closing.push(() => locks.close());
    return locks;
  };
  const campaign = (name: string): { term: Promise<UnfencedTerm>; isLed: () => boolean } => {
    const candidate = createCandidate({ store: ours(), ttlMs: TTL_MS, drainMs: 100, unfenced: true });
    closing.push(() => candidate.close());
    let led = false;
    const term = candidate.election(name).campaign({ signal: AbortSignal.timeout(20_000) });
    void term.then(() => (led = true)).catch(() => {});
    return { term, isLed: () => led };
  };
  const tryUntilHeld = async (locks: ForeignLocks, name: string): Promise<ForeignLock> => {
    for (;;) {
      const lock = await locks.acquire(name, TTL_MS).catch(() => undefined);
      if (lock !== undefined) return lock;
      await sleep(50);
    }
  };
  beforeAll(async () => {
    if (count > 1) await untilItVotes(ours());
  }, 30_000);

  it("ours leads, past its ttl, and theirs is refused; ours resigns and theirs gets it", async () => {
    const name = fresh();
    const term = await campaign(name).term;
    const locks = theirs();
    const until = performance.now() + 1.3 * TTL_MS;
    while (performance.now() < until) {
      await expect(locks.acquire(name, TTL_MS)).rejects.toThrow();
      await sleep(50);
    }
    expect(term.isHeld()).toBe(true);
    await term.resign();
    const lock = await tryUntilHeld(locks, name);
    await lock.release();
  }, 30_000);

  it("theirs holds and extends, ours waits; theirs releases and ours leads", async () => {
    const name = fresh();
    const child = await startTheirs(kind, urls(), name);
    const { term, isLed } = campaign(name);
    await sleep(1.3 * TTL_MS);
    expect(isLed()).toBe(false);
    child.stdin?.write("release\n");
    expect((await term).isHeld()).toBe(true);
  }, 30_000);

  it("theirs is killed: ours leads when its key has run out, and not before", async () => {
    const name = fresh();
    const child = await startTheirs(kind, urls(), name);
    const { term, isLed } = campaign(name);
    await sleep(300);
    child.kill("SIGKILL");
    const left = await Promise.all(urls().map((url) => byHand(url, "PTTL", name)));
    expect(Math.max(...left.map(Number))).toBeGreaterThan(0);
    expect(isLed()).toBe(false);
    await term;
    // Of several servers a majority is enough; the last of them may give theirs up a moment later.
    const shown = await Promise.all(urls().map(async (url) => String(await byHand(url, "GET", name))));
    expect(shown.filter((text) => text.startsWith("conclave\n")).length).toBeGreaterThan(urls().length / 2);
  }, 30_000);

  it("ours is killed: theirs gets it when our ttl has run out, and not before", async () => {
    const name = "x"; // the name of every candidate that is started so
    const player = await stage.start({ store: ourUrl(), id: "ours", ttlMs: TTL_MS, unfenced: true });
    await player.hears("elected", 0, 20_000);
    const locks = theirs();
    await expect(locks.acquire(name, TTL_MS)).rejects.toThrow();
    const left = await Promise.all(urls().map((url) => byHand(url, "PTTL", name)));
    const from = performance.now();
    await player.kill();
    const lock = await tryUntilHeld(locks, name);
    expect(performance.now() - from).toBeGreaterThan(Math.min(...left.map(Number)) - 300);
    await lock.release();
  }, 30_000);
});
