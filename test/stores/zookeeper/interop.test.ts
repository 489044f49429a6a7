// One election, several implementations: Curator's LeaderLatch and LeaderSelector and kazoo's Election wait for ours, and ours for them, in one line. Such an election is as
// safe as the foreign client.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { nowMs, Stage } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import { getChildrenRequest, readChildren } from "../../../src/clients/zookeeper/messages.ts";
import { compileCurator, ForeignCandidate } from "./foreign.ts";
import { urlOf } from "./zookeeper.ts";

const servers = useServers(server);
const stage = new Stage();
afterAll(() => stage.end());
const running = new Set<ForeignCandidate>();
let curator: ReturnType<typeof compileCurator>;
beforeAll(() => void (curator = compileCurator()), 60_000);
afterAll(() => curator.remove());
afterEach(async () => {
  await Promise.all([...running].map((each) => each.kill()));
  running.clear();
});

type Layout = "latch" | "selector" | "kazoo";
const TTL_MS = 4000;
const store = (layout: Layout) => zookeeper(urlOf(servers(), { chroot: "/app" }), { layout });

function foreign(layout: Layout, name: string, id = "theirs"): ForeignCandidate {
  const { host } = new URL(servers().urls[0] ?? "");
  const candidate =
    layout === "kazoo"
      ? ForeignCandidate.kazoo(host, `/app/${name}`, id)
      : ForeignCandidate.curator(layout, curator.folder, host, `/app/${name}`, id);
  running.add(candidate);
  return candidate;
}

/** Until so many stand for the name, theirs and ours. */
async function standing(candidate: ReturnType<typeof createCandidate>, name: string, ahead: number): Promise<void> {
  await expect.poll(async () => (await candidate.election(name).leader())?.id, { timeout: 20_000 }).toBeDefined();
  await new Promise((resolve) => setTimeout(resolve, 300 * ahead));
}

/** How many entries stand below this node. */
async function childrenOf(host: string, node: string): Promise<number> {
  const signal = AbortSignal.timeout(10_000);
  const session = await new ZooKeeperClient(parseAddress(`zookeeper://${host}`, [])).begin(4000, signal);
  const { names } = await session.ask(getChildrenRequest(node, false), readChildren, signal);
  await session.end(signal);
  return names.length;
}

describe.each(["latch", "selector", "kazoo"] as const)("layout %s", (layout) => {
  it("theirs waits for ours, and leads when ours resigns", async () => {
    await using ours = createCandidate({ store: store(layout), ttlMs: TTL_MS });
    const term = await ours.election(`a-${layout}`).campaign();
    const theirs = foreign(layout, `a-${layout}`);
    await theirs.says("standing");
    await standing(ours, `a-${layout}`, 2);
    expect(theirs.hasWon).toBe(false);
    expect(term.isHeld()).toBe(true);
    await term.resign();
    await theirs.says("elected");
    expect(term.isHeld()).toBe(false);
  }, 60_000);

  it("ours waits for theirs, and leads when it leaves, with a greater token", async () => {
    const theirs = foreign(layout, `b-${layout}`);
    await theirs.says("elected");
    await using ours = createCandidate({ store: store(layout), ttlMs: TTL_MS });
    const campaign = ours.election(`b-${layout}`).campaign();
    await standing(ours, `b-${layout}`, 1);
    const shown = await ours.election(`b-${layout}`).leader();
    expect(shown?.id).toBe("theirs");
    await theirs.leave();
    expect((await campaign).token.value).toBeGreaterThan(shown?.token ?? 0n);
  }, 60_000);

  it("theirs is killed, and ours leads when its session has run out", async () => {
    const theirs = foreign(layout, `c-${layout}`);
    await theirs.says("elected");
    await using ours = createCandidate({ store: store(layout), ttlMs: TTL_MS });
    const campaign = ours.election(`c-${layout}`).campaign();
    await standing(ours, `c-${layout}`, 1);
    await theirs.kill();
    expect((await campaign).isHeld()).toBe(true);
  }, 60_000);

  it("ours is killed, and theirs leads when our session has run out, not before", async () => {
    const name = `d-${layout}`;
    const query = new URL(servers().urls[0] ?? "").search === "" ? "?" : "&";
    const url = urlOf(servers(), { chroot: "/app", more: `${query}layout=${layout}` });
    const ours = await stage.start({ store: url, id: "ours", name, ttlMs: TTL_MS });
    await ours.hears("elected", 0, 30_000);
    const theirs = foreign(layout, name);
    await theirs.says("standing");
    const { host } = new URL(servers().urls[0] ?? "");
    await expect.poll(() => childrenOf(host, `/app/${name}`), { timeout: 20_000 }).toBe(2);
    expect(theirs.hasWon).toBe(false);
    // Its last renewal is at most a third of the ttl old.
    const killedMs = nowMs();
    await ours.kill();
    await theirs.says("elected");
    expect(nowMs() - killedMs).toBeGreaterThan(TTL_MS / 2);
  }, 90_000);
});

it("a Java, a Python and a Conclave candidate take turns at one path, in the order in which they came", async () => {
  const { host } = new URL(servers().urls[0] ?? "");
  const name = "turns";
  const java = foreign("selector", name, "java");
  await java.says("elected");
  const python = ForeignCandidate.kazoo(host, `/app/${name}`, "python", "curator");
  running.add(python);
  await python.says("standing");
  await using ours = createCandidate({ store: store("selector"), ttlMs: TTL_MS });
  const election = ours.election(name);
  const entries = async (): Promise<number> => await childrenOf(host, `/app/${name}`);
  await expect.poll(entries, { timeout: 20_000 }).toBe(2);
  const campaign = election.campaign();
  await expect.poll(entries, { timeout: 20_000 }).toBe(3);
  const again = foreign("selector", name, "java-2");
  await expect.poll(entries, { timeout: 20_000 }).toBe(4);
  expect([python.hasWon, again.hasWon]).toEqual([false, false]);
  expect((await election.leader())?.id).toBe("java");
  await java.leave();
  await python.says("elected");
  expect((await election.leader())?.id).toBe("python");
  expect(again.hasWon).toBe(false);
  await python.leave();
  const term = await campaign;
  expect(term.isHeld()).toBe(true);
  expect(again.hasWon).toBe(false);
  await term.resign();
  await again.says("elected");
}, 120_000);

it("a line of another layout is refused, and nothing is written", async () => {
  const theirs = foreign("kazoo", "mixed");
  await theirs.says("elected");
  await using ours = createCandidate({ store: store("latch"), ttlMs: TTL_MS });
  await expect(ours.election("mixed").campaign()).rejects.toMatchObject({
    code: "STORE_FOREIGN_DATA",
    message: expect.stringMatching(/layout "kazoo".*Nothing was written/s),
  });
}, 60_000);
