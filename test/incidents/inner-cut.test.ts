// inner-cut, ping-is-no-proof: a link inside a ZooKeeper ensemble is cut. The server on the wrong side answers pings for as long as it has not noticed; a client that takes them for
// proof believed 9 s after its successor was possible. Here only a write to which a majority has agreed moves a deadline, in a line and in a race: both suffer the same cut.
// Taken out: test/defences/inner-cut.patch
import { afterAll, beforeAll, expect, it } from "vitest";
import { zookeeper } from "conclave/stores/zookeeper";
import { type Network, openNetwork } from "../../scripts/servers/network.mjs";
import * as server from "../../scripts/servers/zookeeper.mjs";
import { parseAddress } from "../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../src/clients/zookeeper/client.ts";
import { Contest } from "../support/contest.ts";
import { leaderOf, urlOf } from "../stores/zookeeper/zookeeper.ts";
import { nowMs } from "../support/processes.ts";
import type { ServerNode, Servers } from "../support/servers.ts";

const TTL_MS = 3000;
const SHAPES = ["line", "race"] as const;
/** How long a follower that hears nothing from the leader goes on as if nothing were: 20 ticks. */
const PATIENT = { syncLimit: "20" };

let network: Network;
let servers: Servers;
const contests = SHAPES.map((shape) => ({ shape, contest: new Contest() }));
beforeAll(async () => {
  network = openNetwork(3);
  const place = (index: number) => ({
    host: network.hosts[index]?.address ?? "",
    prefix: network.hosts[index]?.prefix ?? [],
  });
  servers = await server.start({ nodes: 3, config: PATIENT, place });
}, 90_000);
afterAll(async () => {
  await Promise.all(contests.map(({ contest }) => contest.end()));
  await servers?.stop();
  network?.stop();
}, 60_000);

it("a candidate at a server that is cut off from the others stops before its successor leads, although that server answers pings: in a line and in a race", async () => {
  const leader = await leaderOf(servers);
  const [cut, ...rest] = servers.nodes.filter((node) => node !== leader) as [ServerNode, ...ServerNode[]];
  const others = [leader, ...rest];
  const settings = { ttlMs: TTL_MS, drainMs: 200 };
  const storeAt = (shape: string, nodes: readonly ServerNode[]): string =>
    urlOf(servers, { only: nodes.map(({ url }) => url), chroot: `/${shape}`, more: `&shape=${shape}` });
  const inside = await Promise.all(
    contests.map(async ({ shape, contest }) => {
      const first = await contest.join({ store: storeAt(shape, [cut]), id: "inside", ...settings });
      await first.hears("elected", 0);
      await contest.join({ store: storeAt(shape, others), id: "outside", ...settings });
      return first;
    }),
  );
  const pinged = await new ZooKeeperClient(parseAddress(cut.url, ["tickMs"])).begin(9000, AbortSignal.timeout(5000));
  const call = (ms: number) => ({ signal: AbortSignal.timeout(ms), sentAtMs: performance.now() });
  const watched = await Promise.all(
    SHAPES.map(async (shape) => {
      const store = zookeeper(storeAt(shape, [cut]));
      const opened = await store.keep({ nonce: "watched", candidate: "watched", ttlMs: TTL_MS }, [], call(5000));
      if (opened.kind !== "kept") throw new Error(opened.kind);
      return { store, session: opened.session };
    }),
  );

  const at = nowMs();
  const hosts = network.hosts;
  const hostOf = (node: ServerNode) => hosts[servers.nodes.indexOf(node)] ?? hosts[0]!;
  hostOf(cut).cut(...others.map(hostOf));
  const elected = await Promise.all(
    contests.map(async ({ contest }) => (await contest.elected(at)).hears("elected", at)),
  );
  await (await pinged.connection(AbortSignal.timeout(1000))).ping(AbortSignal.timeout(1000));
  for (const { store, session } of watched) expect((await store.keep(session, [], call(1000))).kind).not.toBe("kept");
  for (const [index, { contest }] of contests.entries()) {
    const stopped = await inside[index]?.hears("resigned", at);
    expect(elected[index]?.at).toBeGreaterThan(stopped?.at ?? Infinity);
    const { overlaps, regressions } = contest.verdict();
    expect({ overlaps, regressions }).toEqual({ overlaps: [], regressions: [] });
  }
  hostOf(cut).heal();
  pinged.leave();
  for (const { store } of watched) await store.close();
}, 90_000);
