// What each step costs in requests on a real server, as docs/stores/zookeeper.md says it; and the rights that it needs there. The server counts the requests (`srvr`), as it does for the benchmark.
import { createHash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { asBid, type Call, type Hold, type Session, VACANT, type Version } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import { type Acl, createRequest, PERSISTENT, readCreated } from "../../../src/clients/zookeeper/messages.ts";
import type { ZooKeeperStore } from "../../../src/stores/zookeeper/zookeeper-store.ts";
import { useServers } from "../../support/servers.ts";
import { urlOf, wordOf } from "./zookeeper.ts";

const servers = useServers(server);
const call = (): Call => ({ signal: AbortSignal.timeout(10_000), sentAtMs: performance.now() });
const opened: ZooKeeperStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** All that the server has been asked, and this question with it. */
async function received(): Promise<number> {
  return Number(/^Received: (\d+)$/m.exec(await wordOf(servers().urls[0] ?? "", "srvr"))?.[1]);
}

async function costOf(step: () => Promise<unknown>): Promise<number> {
  const before = await received();
  await step();
  return (await received()) - before - 1;
}

describe.each([
  ["line", { open: 1, vacant: 2, held: 3, first: 5, rival: 4, again: 2, keep: 1, strays: 2, release: 1, end: 1 }],
  ["race", { open: 1, vacant: 4, held: 4, first: 9, rival: 4, again: 6, keep: 1, strays: 3, release: 1, end: 1 }],
] as const)("a %s", (shape, expected) => {
  it("costs as many requests as the page says", async () => {
    const store = zookeeper(urlOf(servers(), { chroot: `/${shape}` }), { shape }) as ZooKeeperStore;
    opened.push(store);
    const open = async (candidate: string): Promise<Session> => {
      const kept = await store.keep({ nonce: `${shape}-${candidate}`, candidate, ttlMs: 20_000 }, [], call());
      if (kept.kind !== "kept") throw new Error(kept.kind);
      return kept.session;
    };
    const versionNow = async (): Promise<Version> => {
      const looked = await store.look([{ name: "n" }], call());
      if (looked.kind !== "seen") throw new Error(looked.kind);
      return looked.seats[0]?.version ?? VACANT;
    };
    const holds: readonly Hold[] = [{ name: "n", bid: asBid("own") }];
    const claim = async (session: Session, over: Version, bid = "own"): Promise<void> => {
      const [claimed] = await store.claim([{ session, name: "n", bid: asBid(bid), over, value: "v" }], call());
      expect(claimed?.kind).toMatch(/granted|waiting|beaten/);
    };
    const own = await open("first");
    let rival = own;
    const costs: Partial<Record<keyof typeof expected, number>> = {};
    costs.open = await costOf(async () => void (rival = await open("rival")));
    await versionNow(); // makes the domain, once in the life of a chroot
    costs.vacant = await costOf(versionNow);
    const never = await versionNow();
    costs.first = await costOf(() => claim(own, never));
    costs.held = await costOf(versionNow);
    costs.rival = await costOf(() => claim(rival, never, "rival"));
    costs.keep = await costOf(() => store.keep(own, holds, call(), { strays: false }));
    costs.strays = await costOf(() => store.keep(own, holds, call()));
    costs.release = await costOf(() => store.release({ session: own, holds, endSession: false }, call()));
    await store.release({ session: rival, holds: [{ name: "n", bid: asBid("rival") }], endSession: false }, call());
    const free = await versionNow();
    costs.again = await costOf(() => claim(own, free, "own-2"));
    costs.end = await costOf(() => store.release({ session: own, holds: [], endSession: true }, call()));
    expect(costs).toEqual(expected);
  });
});

describe("rights", () => {
  const [WRITE, CREATE, DELETE, READ] = [2, 4, 8, 1];
  const anna = (perms: number): readonly Acl[] => [
    { perms, scheme: "digest", id: `anna:${createHash("sha1").update("anna:geheim").digest("base64")}` },
  ];

  it.each([
    ["to create below the parent, where the chroot is not there", "/apps", CREATE, "/apps/locks"],
    [
      "to read, write, create and delete below a chroot that is there",
      "/locks",
      READ + WRITE + CREATE + DELETE,
      "/locks",
    ],
  ])("are enough %s", async (_, path, perms, chroot) => {
    const signal = AbortSignal.timeout(10_000);
    const hand = await new ZooKeeperClient(parseAddress(servers().urls[0] ?? "", ["tickMs"])).begin(4000, signal);
    await hand.ask(createRequest(path, Buffer.alloc(0), anna(perms), PERSISTENT), readCreated, signal);
    await hand.end(signal);
    const at = (shape: string): string =>
      urlOf(servers(), { chroot, more: `&shape=${shape}` }).replace("zookeeper://", "zookeeper://anna:geheim@");
    for (const shape of ["line", "race"] as const) {
      const store = zookeeper(at(shape)) as ZooKeeperStore;
      opened.push(store);
      await using candidate = createCandidate({ store, ttlMs: 4000 });
      const term = await candidate.election(shape).campaign();
      await term.memo("where", "here");
      expect(await store.listNames(10, call())).toMatchObject({
        kind: "listed",
        names: expect.arrayContaining([shape]),
      });
      await term.resign();
    }
  });
});
