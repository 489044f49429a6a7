// Elsewhere: a member of the store that was cut off from the others still showed, and renewed, a leadership that the others had given away (Patroni#308; etcd before 3.4.34
// and 3.5.16 answers a renewal without asking whether it still leads).
// Here: a read proves nothing, and a renewal only if a majority confirms, after it, that the member which answered it led at that time: a linearizable read through the
// same member, in the same raft term. A server that answers as a replaced leader does is not to be had on demand, so it is played here.
// Where Postgres replicates synchronously, a primary that is cut off from its replica still shows the leader, and renewals as committed; they are not answered, and
// so count for nothing.
// Taken out: test/defences/stale-read.patch
import { afterEach, beforeEach, expect, it } from "vitest";
import { asBid, type Hold, type Kept } from "conclave/stores/contract";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { FakeEtcd } from "../clients/etcd/fake-etcd.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";

let fake: FakeEtcd;
beforeEach(async () => {
  fake = await FakeEtcd.start();
});
afterEach(() => fake.stop());

const session = { id: "1f", candidate: "web-1", ttlMs: 5000 };
const bid = asBid("b1");
const hold: Hold = { name: "x", bid, token: { domain: "7", value: 3n, bid } };

async function keep(): Promise<Kept> {
  const store = etcd(fake.url);
  const kept = await store.keep(session, [hold], { signal: AbortSignal.timeout(2000), sentAtMs: 0 });
  await store.close();
  return kept;
}

it("stale-read: a renewal counts if the same member confirms it in the same raft term", async () => {
  expect((await keep()).kind).toBe("kept");
  expect(fake.asked.indexOf("Txn")).toBeGreaterThan(fake.asked.indexOf("LeaseKeepAlive"));
});

it("stale-read: a renewal by a leader that was replaced before a read confirmed it extends nothing", async () => {
  fake.answers.set("Txn", () => {
    fake.header.raftTerm++;
    return [];
  });
  expect((await keep()).kind).toBe("unknown");
});

it("stale-read: what another member says confirms nothing", async () => {
  fake.answers.set("Txn", () => {
    fake.header.memberId++;
    return [];
  });
  expect((await keep()).kind).toBe("unknown");
});

it("stale-read: a member without a majority cannot answer the read, and nothing is extended", async () => {
  fake.answers.set("Txn", () => ({ status: 14, message: "etcdserver: request timed out" }));
  expect((await keep()).kind).toBe("unknown");
});

it("stale-read: a renewal of a lease that is gone is no success, whatever its first answer says", async () => {
  fake.answers.set("LeaseTimeToLive", () => [[3, -1n]]);
  expect((await keep()).kind).toBe("session-lost");
});

const databases = useServers(postgresServer, { nodes: 2 });

it("stale-read: a primary that has lost its synchronous replica shows a renewal, and does not confirm it", async () => {
  const [primary = ""] = databases().urls;
  const [, replica] = databases().nodes;
  await byHand(primary, postgresSchema());
  await byHand(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await byHand(primary, "SELECT pg_reload_conf()");
  const replication = "SELECT sync_state FROM pg_stat_replication";
  await expect.poll(() => byHand(primary, replication), { timeout: 10_000 }).toEqual([{ sync_state: "sync" }]);
  const candidate = createCandidate({ store: postgres(primary), ttlMs: 3000, drainMs: 200 });
  try {
    const term = await candidate.election("x").campaign();
    replica?.pause();
    expect(await term.ended).toBe("expired");
    await expect.poll(() => term.isHeld()).toBe(false);
    // By itself a look would let it go on: the row is there, and others see it as held.
    expect(await byHand(primary, "SELECT state, token FROM conclave.place")).toEqual([{ state: "held", token: "1" }]);
  } finally {
    replica?.resume();
    await candidate.close();
  }
});
