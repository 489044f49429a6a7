// Five hundred candidates wait for one name: a leader that leaves wakes the next one, and nobody else.
import { setMaxListeners } from "node:events";
import { expect, it } from "vitest";
import { asBid, type Claim, type Hint, type Session } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

const servers = useServers(server);
const WAITERS = 500;

it("of five hundred waiters one is woken", async () => {
  const store = zookeeper(urlOf(servers()));
  const call = () => ({ signal: AbortSignal.timeout(60_000), sentAtMs: performance.now() });
  const stand = async (index: number): Promise<{ readonly session: Session; readonly claim: Claim }> => {
    const kept = await store.keep({ nonce: `crowd-${index}`, candidate: `c${index}`, ttlMs: 10_000 }, [], call());
    if (kept.kind !== "kept") throw new Error(JSON.stringify(kept));
    const claim = { session: kept.session, name: "crowd", bid: asBid(`crowd-${index}`), value: "" };
    const [claimed] = await store.claim([claim], call());
    expect(claimed?.kind).toBe(index === 0 ? "granted" : "waiting");
    return { session: kept.session, claim };
  };
  const first = await stand(0);
  const others = await Promise.all(Array.from({ length: WAITERS }, (_, index) => stand(index + 1)));
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const woken: Hint[] = [];
  const watches = others.map(async ({ session, claim }) => {
    const hints = store.watch([{ name: "crowd", bid: claim.bid, session }], { signal: over.signal, sentAtMs: 0 });
    for await (const hint of hints) woken.push(hint);
  });
  // All of them have set their watches when the last has: one connection answers in order.
  await store.look([{ name: "crowd" }], call());
  await store.look([{ name: "crowd" }], call());
  await store.release({ session: first.session, holds: [first.claim], endSession: false }, call());
  await expect.poll(() => woken.length, { timeout: 10_000 }).toBe(1);
  await store.look([{ name: "crowd" }], call());
  expect(woken).toMatchObject([{ seat: { place: { present: true, ahead: 0 } } }]);
  over.abort();
  await Promise.all(watches);
  await store.close();
}, 120_000);
