// A candidate alone at an etcd that was away for longer than its term. When etcd is back it gives every lease its full ttl again, and the candidate's own old
// entry would stand before its new one for all of it. So the old session is ended as soon as it may be.
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, type FencedStore, openStore } from "conclave";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./etcd.ts";

const TTL_MS = 6000;
const servers = useServers(etcdServer, { nodes: 1 });

it("leads again soon after etcd has come back, and not a ttl later", { timeout: 60_000 }, async () => {
  const [node] = servers().nodes;
  const events: ConclaveEvent[] = [];
  const store = await openStore(urlOf(servers()));
  const candidate = createCandidate({ store: store as FencedStore, ttlMs: TTL_MS });
  candidate.subscribe((event) => events.push(event));
  const election = candidate.election("lone");
  const elected = (): number => events.filter(({ type }) => type === "elected").length;
  election.start();
  await expect.poll(elected, { timeout: 10_000 }).toBe(1);
  await node?.kill();
  await expect
    .poll(() => events.some((event) => event.type === "session" && event.state === "lost"), { timeout: 2 * TTL_MS })
    .toBe(true);
  await node?.restart();
  const backAt = performance.now();
  await expect.poll(elected, { timeout: 2 * TTL_MS }).toBe(2);
  expect(performance.now() - backAt).toBeLessThan(0.75 * TTL_MS);
  await candidate.close();
});
