// Elsewhere: the session of a waiting candidate dies, then the leader leaves. The dead candidate is elected, or waits for ever for a predecessor that is no longer before it
// (the npm package etcd3, etcd's Go client; an outage of twelve hours).
// Here: a candidate watches its own entry as well as the one before it, and asks for both at once before it leads. If its entry is gone it joins the line anew.
// Taken out: test/defences/phantom-leader.patch
import { expect, it } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { ask, urlOf } from "../stores/etcd/etcd.ts";
import { byHand } from "../stores/postgres/stage.ts";
import { useServers } from "../support/servers.ts";

const servers = useServers(etcdServer);
const databases = useServers(postgresServer);

it("phantom-leader: a waiting candidate whose session was ended joins anew, and leads by an entry that is there", async () => {
  const [url = ""] = servers().urls;
  await using leader = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 30_000, drainMs: 100 });
  await using waiter = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 30_000, drainMs: 100 });
  const sessions: string[] = [];
  waiter.subscribe(
    (event: ConclaveEvent) => event.type === "session" && event.state === "opened" && sessions.push(event.session),
  );
  const term = await leader.election("x").campaign();
  const next = waiter.election("x").campaign({ signal: AbortSignal.timeout(8000) });
  await expect.poll(() => keysOf(url)).toHaveLength(2);
  await ask(url, "/v3/lease/revoke", { ID: `${BigInt(`0x${sessions[0]}`)}` });
  // Within moments: renewals are ten seconds apart at this ttl.
  await expect.poll(() => sessions.length, { timeout: 5000 }).toBe(2);
  await expect.poll(() => keysOf(url)).toHaveLength(2);
  expect(term.isHeld()).toBe(true);
  await term.resign();
  const successor = await next;
  expect(successor.token.value).toBeGreaterThan(term.token.value);
  expect(await keysOf(url)).toEqual([`x/${sessions[1]}`]);
});

async function keysOf(url: string): Promise<readonly string[]> {
  const range = { key: Buffer.from("x/").toString("base64"), range_end: Buffer.from("x0").toString("base64") };
  const { kvs = [] } = (await ask(url, "/v3/kv/range", range)) as { kvs?: { key: string }[] };
  return kvs.map(({ key }) => Buffer.from(key, "base64").toString());
}

it.each([
  ["deleted", "DELETE FROM conclave.session WHERE id ="],
  ["ended", "UPDATE conclave.session SET ended = 'silent' WHERE id ="],
])(
  "phantom-leader: a candidate that waits for a row, and whose session was %s, leads by one that is there",
  async (_, end) => {
    const [url = ""] = databases().urls;
    await byHand(url, postgresSchema());
    await using leader = createCandidate({ store: postgres(url), ttlMs: 30_000, drainMs: 100 });
    await using waiter = createCandidate({ store: postgres(url), ttlMs: 30_000, drainMs: 100 });
    const sessions: string[] = [];
    waiter.subscribe(
      (event: ConclaveEvent) => event.type === "session" && event.state === "opened" && sessions.push(event.session),
    );
    const term = await leader.election("x").campaign();
    const next = waiter.election("x").campaign({ signal: AbortSignal.timeout(8000) });
    await expect.poll(() => sessions.length, { timeout: 5000 }).toBe(1);
    await byHand(url, `${end} '${sessions[0]}'`);
    expect(term.isHeld()).toBe(true);
    await term.resign(); // long before the renewal that would tell the waiter
    const successor = await next;
    expect(successor.token.value).toBe(term.token.value + 1n);
    const [{ session } = {}] = await byHand(url, "SELECT session FROM conclave.place WHERE name = 'x'");
    expect(session).toBe(sessions[1]);
    expect(await byHand(url, `SELECT ended FROM conclave.session WHERE id = '${sessions[1]}'`)).toEqual([
      { ended: null },
    ]);
    await successor.resign();
  },
);
