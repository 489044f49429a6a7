// What a probe is told: whether the store can be reached, whether this process leads, whether its work overstays.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createCandidate, elect } from "conclave";
import { healthHandler, watchHealth } from "conclave/health";
import { fakeStore } from "conclave/testing";

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

it("is not ready before the store has answered, then ready, leading or not", async () => {
  const store = fakeStore();
  const leader = elect("x", { store, onEvent: () => {} });
  const follower = createCandidate({ store, onEvent: () => {} });
  const [one, two] = [watchHealth(leader), watchHealth(follower)];
  expect(one.report()).toMatchObject({ live: true, ready: false, store: "unknown" });
  leader.start();
  await store.advance(1);
  follower.election("x").start();
  await store.advance(1);
  expect(one.report()).toMatchObject({ live: true, ready: true, store: "reachable", leading: ["x"] });
  expect(two.report()).toMatchObject({ live: true, ready: true, store: "reachable", leading: [] });
});

it("is live but not ready while the store is down, says why, and is ready again when it is back", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000, onEvent: () => {} });
  const health = watchHealth(election);
  election.start();
  await store.advance(1);
  store.hang();
  await store.advance(30_000);
  expect(health.report()).toMatchObject({ live: true, ready: false, store: "in trouble", leading: [] });
  expect(health.report().troubles).toMatchObject([{ code: "STORE_TIMEOUT" }]);
  store.heal();
  await store.advance(30_000);
  expect(health.report()).toMatchObject({ live: true, ready: true, troubles: [], leading: ["x"] });
});

it("is not live while work runs on after its term was lost, and live again when it has ended", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000, onEvent: () => {} });
  const health = watchHealth(election);
  let end: () => void = () => {};
  election.start();
  await store.advance(1);
  void election.ifLeading(() => new Promise<void>((resolve) => (end = resolve)));
  store.hang();
  await store.advance(20_000);
  expect(health.report()).toMatchObject({ live: false, overstaying: ["x"] });
  end();
  await store.advance(1);
  expect(health.report()).toMatchObject({ live: true, overstaying: [] });
  health.stop();
});

it("answers /healthz and /readyz, and leaves the rest alone", async () => {
  const store = fakeStore();
  const election = elect("x", { store, ttlMs: 10_000, onEvent: () => {} });
  const handle = healthHandler(watchHealth(election));
  const server = createServer((request, response) => {
    if (!handle(request, response)) response.writeHead(404).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const probe = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect(await Promise.all(["/healthz", "/readyz?verbose", "/"].map(probe))).toEqual([200, 503, 404]);
  election.start();
  await store.advance(1);
  expect(await Promise.all(["/healthz", "/readyz", "/healthz/x"].map(probe))).toEqual([200, 200, 404]);
});
