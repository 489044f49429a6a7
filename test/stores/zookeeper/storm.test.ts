// The storm of a race, on a real server: everybody who waits is woken at once, and all but one have asked for nothing. And its cure: a candidate whose claims were in vain
// waits a little before the next, and most hear that the seat is taken before they have asked for it (src/lease/backoff.ts, `spreadMs`).
import { expect, it } from "vitest";
import { createCandidate, type Term } from "conclave";
import { asBid, type Call, type FencedStore, VACANT } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf, wordOf } from "./zookeeper.ts";

const servers = useServers(server);
const WAITERS = 60;
const call = (): Call => ({ signal: AbortSignal.timeout(30_000), sentAtMs: performance.now() });

/** Requests that the server has received so far. */
async function received(): Promise<number> {
  return Number(/^Received: (\d+)$/m.exec(await wordOf(servers().urls[0] ?? "", "srvr"))?.[1]);
}

it("a seat that is left wakes everybody, and costs requests of everybody", async () => {
  const store = zookeeper(urlOf(servers()), { shape: "race" });
  const stand = async (index: number): Promise<() => Promise<string | undefined>> => {
    const kept = await store.keep({ nonce: `storm-${index}`, candidate: `c${index}`, ttlMs: 10_000 }, [], call());
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const claim = { session: kept.session, name: "storm", bid: asBid(`storm-${index}`), over: VACANT, value: "" };
    return async () => (await store.claim([claim], call()))[0]?.kind;
  };
  const leader = await store.keep({ nonce: "storm", candidate: "first", ttlMs: 10_000 }, [], call());
  if (leader.kind !== "kept") throw new Error(leader.kind);
  const { session } = leader;
  const hold = { session, name: "storm", bid: asBid("storm"), over: VACANT, value: "" };
  expect((await store.claim([hold], call()))[0]?.kind).toBe("granted");
  const claims = await Promise.all(Array.from({ length: WAITERS }, (_, index) => stand(index)));
  const over = new AbortController();
  // The first of them may lead again before the last one is told: so each claims once at the first hint after the seat was left, whatever it shows.
  const woken = new Map<number, Promise<string | undefined>>();
  let isLeft = false;
  const watches = claims.map(async (claim, index) => {
    for await (const _hint of store.watch([{ name: "storm" }], { signal: over.signal, sentAtMs: 0 }))
      if (isLeft && !woken.has(index)) woken.set(index, claim());
  });
  await store.look([{ name: "storm" }], call());
  await store.look([{ name: "storm" }], call());
  const before = await received();
  isLeft = true;
  await store.release({ session, holds: [hold], endSession: false }, call());
  await expect.poll(() => woken.size).toBe(WAITERS);
  const kinds = await Promise.all(woken.values());
  expect(kinds.filter((kind) => kind === "granted")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "beaten")).toHaveLength(WAITERS - 1);
  // Each reads what has changed, and asks for the seat, although only one of them can have it.
  expect((await received()) - before).toBeGreaterThan(3 * WAITERS);
  over.abort();
  await Promise.all(watches);
  await store.close();
}, 60_000);

/** The store, and how many claims were sent to it. */
function counted(store: FencedStore): { readonly store: FencedStore; readonly claims: () => number } {
  let claims = 0;
  const wrapped = new Proxy(store, {
    get: (target, key) => {
      if (key === "claim")
        return (...args: Parameters<FencedStore["claim"]>) => {
          claims++;
          return target.claim(...args);
        };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store: wrapped, claims: () => claims };
}

it("candidates that were beaten spread their claims, and after a few terms few ask in vain", async () => {
  const { store, claims } = counted(zookeeper(urlOf(servers()), { shape: "race" }));
  const candidates = Array.from({ length: WAITERS }, (_, index) =>
    createCandidate({ store, id: `c${index}`, ttlMs: 10_000 }),
  );
  const terms: Term[] = [];
  for (const candidate of candidates)
    void candidate
      .election("spread")
      .campaign()
      .then((term) => terms.push(term))
      .catch(() => {});
  await expect.poll(() => claims(), { timeout: 30_000 }).toBeGreaterThanOrEqual(WAITERS);
  const rounds: number[] = [];
  for (let round = 0; round < 8; round++) {
    await expect.poll(() => terms.length, { timeout: 20_000, interval: 20 }).toBe(round + 1);
    expect(terms.filter((term) => term.isHeld())).toHaveLength(1);
    // The last of those who asked in vain have been answered.
    await expect.poll(async () => await isCalm(claims), { timeout: 10_000 }).toBe(true);
    const before = claims();
    await terms[round]?.resign();
    await expect.poll(() => terms.length, { timeout: 20_000, interval: 5 }).toBe(round + 2);
    await expect.poll(async () => await isCalm(claims), { timeout: 10_000 }).toBe(true);
    rounds.push(claims() - before);
  }
  expect(Math.min(...rounds.slice(4)), `claims in each round: ${rounds.join(" ")}`).toBeLessThan(WAITERS / 3);
  await Promise.all(candidates.map((candidate) => candidate.close()));
  await store.close();
}, 120_000);

async function isCalm(claims: () => number): Promise<boolean> {
  const before = claims();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return claims() === before;
}
