// Elsewhere: ten thousand candidates wait for one leader, and all wake at once when it leaves (ZooKeeper's and etcd's recipes say why not to watch the leader).
// Here: in a line each waits only for the one right before it, so that a leader that leaves wakes one candidate, and one in the middle that leaves wakes none.
// Taken out: test/defences/herd-etcd.patch
import { afterAll, expect, it } from "vitest";
import { asBid, type FencedStore, type Hold, type Session } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { memory } from "conclave/stores/memory";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { useServers } from "../support/servers.ts";

const CANDIDATES = 100;
const servers = useServers(etcdServer);
const over = new AbortController();
afterAll(() => over.abort());

const stores: readonly (readonly [name: string, open: () => FencedStore])[] = [
  ["memory", () => memory({ shape: "line" })],
  ["etcd", () => etcd(urlOf(servers()))],
];
const call = (): { signal: AbortSignal; sentAtMs: number } => ({ signal: AbortSignal.timeout(10_000), sentAtMs: 0 });

it.each(stores)("herd: of a hundred that wait, one is woken when the leader leaves (%s)", async (name, open) => {
  const store = open();
  const woken: number[] = [];
  const places: { readonly session: Session; readonly hold: Hold }[] = [];
  for (let index = 0; index < CANDIDATES; index++) {
    const kept = await store.keep(
      { nonce: `${name}.herd.${index}`, candidate: `c${index}`, ttlMs: 60_000 },
      [],
      call(),
    );
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const bid = asBid(`${name}.${index}`);
    const [claimed] = await store.claim([{ session: kept.session, name: "herd", bid, value: "" }], call());
    if (claimed?.kind !== "granted" && claimed?.kind !== "waiting") throw new Error(claimed?.kind);
    places.push({ session: kept.session, hold: claimed.hold });
    if (index > 0) void listen(store, { name: "herd", bid, session: kept.session }, () => woken.push(index));
  }
  await settle();
  expect(woken).toEqual([]);
  await leave(store, places[50]);
  await settle();
  expect(woken.filter((index) => index !== 50)).toEqual([]); // it may hear of its own going
  woken.length = 0;
  await leave(store, places[0]);
  await expect.poll(() => woken.length).toBeGreaterThan(0);
  await settle();
  expect(new Set(woken)).toEqual(new Set([1]));
  await store.close();
});

async function listen(
  store: FencedStore,
  question: Parameters<FencedStore["watch"]>[0][number],
  hear: () => void,
): Promise<void> {
  for await (const _hint of store.watch([question], { signal: over.signal, sentAtMs: 0 })) hear();
}

async function leave(
  store: FencedStore,
  place: { readonly session: Session; readonly hold: Hold } | undefined,
): Promise<void> {
  if (place === undefined) throw new Error("no such place");
  await store.release({ session: place.session, holds: [place.hold], endSession: false }, call());
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 700));
