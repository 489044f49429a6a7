// The servers of a soak, and what can happen to them. One fault at a time, each healed before the next; between them a quorum, or a synchronous replica, is
// there again. Candidates reach PostgreSQL over a wire, which leads to the primary of the day.
import * as etcd from "../../scripts/servers/etcd.mjs";
import * as postgres from "../../scripts/servers/postgres.mjs";
import { byHand } from "../stores/postgres/stage.ts";
import { sleep } from "../support/processes.ts";
import { Wire } from "../support/wire.ts";
import type { Chance } from "./chance.ts";

export interface Arena {
  /** For the candidates. */
  readonly store: string;
  /** By name; resolves when it is healed. */
  readonly faults: Readonly<Record<string, (chance: Chance) => Promise<void>>>;
  stop(): Promise<void>;
}

export async function etcdArena(): Promise<Arena> {
  const servers = await etcd.start({ nodes: 3, auth: false });
  const one = (chance: Chance): (typeof servers.nodes)[number] => chance.of(servers.nodes);
  return {
    store: `etcd://${servers.urls.map((url) => new URL(url).host).join(",")}`,
    faults: {
      "member killed": async (chance) => {
        const node = one(chance);
        await node.kill();
        await sleep(chance.between(200, 4000));
        await node.restart({ wait: false });
        await sleep(1500);
      },
      "member stopped": async (chance) => {
        const node = one(chance);
        node.pause();
        await sleep(chance.between(200, 4000));
        node.resume();
        await sleep(500);
      },
      "all members killed": async (chance) => {
        await Promise.all(servers.nodes.map((node) => node.kill()));
        await sleep(chance.between(200, 2000));
        await Promise.all(servers.nodes.map((node) => node.restart({ wait: false })));
        await sleep(3000);
      },
    },
    stop: () => servers.stop(),
  };
}

export async function postgresArena(): Promise<Arena> {
  const servers = await postgres.start({ nodes: 2 });
  const [first, second] = servers.nodes;
  if (first === undefined || second === undefined) throw new Error("two servers were asked for");
  let primary = first;
  let replica: typeof first | undefined = second;
  await replicate(primary.url, "*");
  const wire = await Wire.to(primary.url);
  const killed = async (chance: Chance): Promise<void> => {
    await primary.kill();
    await sleep(chance.between(200, 3000));
    await primary.restart();
    await sleep(500);
  };
  return {
    store: wire.url,
    faults: {
      "primary killed": killed,
      "primary stopped": async (chance) => {
        primary.pause();
        await sleep(chance.between(200, 3000));
        primary.resume();
        await sleep(500);
      },
      // Commits wait for it.
      "replica stopped": async (chance) => {
        if (replica === undefined) return;
        replica.pause();
        await sleep(chance.between(200, 2000));
        replica.resume();
        await sleep(500);
      },
      // Once: afterwards there is no replica left.
      failover: async (chance) => {
        if (replica === undefined) return await killed(chance);
        await primary.kill();
        await replica.promote();
        await replicate(replica.url, "");
        wire.lead(replica.url);
        [primary, replica] = [replica, undefined];
        await sleep(500);
      },
    },
    stop: async () => {
      wire.end();
      await servers.stop();
    },
  };
}

async function replicate(url: string, names: string): Promise<void> {
  await byHand(url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await byHand(url, "SELECT pg_reload_conf()");
  if (names === "") return;
  for (let tries = 0; tries < 100; tries++) {
    const [row] = await byHand(url, "SELECT sync_state FROM pg_stat_replication");
    if (row?.["sync_state"] === "sync") return;
    await sleep(100);
  }
  throw new Error("the replica does not follow");
}
