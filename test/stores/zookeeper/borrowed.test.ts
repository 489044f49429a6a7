// A client of node-zookeeper-client in place of a URL, on a real server and on three: the elections are those of the URL, the client is left as it was, in whatever state it is, and its user and
// chroot count.
import { type ACL, type Client, createClient, State } from "node-zookeeper-client";
import { afterEach, describe, expect, it } from "vitest";
import { createCandidate, type FencedStore } from "conclave";
import { zookeeper } from "conclave/stores/zookeeper";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import type { Servers } from "../../support/servers.ts";
import { useServers } from "../../support/servers.ts";
import { answered, connected } from "./npm-client.ts";
import { urlOf, wordOf } from "./zookeeper.ts";

const TTL_MS = 4000;
const TICK = { tickMs: 500 } as const;
const servers = useServers(server);
const trio = useServers(server, { nodes: 3 });

/** Those that are connected. To close another is an error of this client. */
const open: Client[] = [];
afterEach(() => open.splice(0).forEach((client) => client.close()));

/** A client that is not connected yet. */
function clientOf({ urls }: Servers, chroot = "", user?: string): Client {
  const client = createClient(`${urls.map((url) => new URL(url).host).join(",")}${chroot}`);
  if (user !== undefined) client.addAuthInfo("digest", Buffer.from(user));
  return client;
}

async function opened(client: Client): Promise<Client> {
  open.push(client);
  return await connected(client);
}

const childrenOf = (client: Client, path: string): Promise<string[]> =>
  answered<string[]>((done) => client.getChildren(path, done));

/** It leads once, and gives the seat back. */
async function leadsOnce(store: FencedStore, name: string): Promise<void> {
  await using candidate = createCandidate({ store, ttlMs: TTL_MS });
  await candidate.withLock(name, async () => {});
  await store.close();
}

describe("a candidate of a client", () => {
  it("stands in one line with a candidate of the URL, below the client's chroot", async () => {
    const client = await opened(clientOf(servers(), "/fleet/locks"));
    const [store, other] = [zookeeper(client, TICK), zookeeper(urlOf(servers(), { chroot: "/fleet/locks" }))];
    await using leader = createCandidate({ store, id: "leader", ttlMs: TTL_MS });
    const heard: string[] = [];
    await using rival = createCandidate({
      store: other,
      id: "rival",
      ttlMs: TTL_MS,
      onEvent: ({ type }) => heard.push(type),
    });
    const term = await leader.election("job").campaign();
    const next = rival.election("job").campaign();
    await expect.poll(() => heard.find((type) => type === "waiting" || type === "elected")).toBeDefined();
    expect(heard).not.toContain("elected");
    // The client sees both where its own paths begin.
    expect(await childrenOf(client, "/job")).toHaveLength(2);
    await term.resign();
    expect((await next).token.value > term.token.value).toBe(true);
    expect((await next).token.domain).toBe(term.token.domain);
  });

  it("goes on when one of the client's servers is killed", async () => {
    const heard: string[] = [];
    await using candidate = createCandidate({
      store: zookeeper(clientOf(trio()), TICK),
      ttlMs: 2 * TTL_MS,
      onEvent: ({ type }) => heard.push(type),
    });
    const term = await candidate.election("moving").campaign();
    await trio().nodes[0]?.kill();
    heard.length = 0;
    // Two over one connection are needed before anything is proven.
    const renewals = (): number => heard.filter((type) => type === "renewed").length;
    await expect.poll(renewals, { timeout: 3 * TTL_MS }).toBeGreaterThanOrEqual(2);
    expect(term.isHeld()).toBe(true);
    expect(heard).not.toContain("ending");
    await leadsOnce(zookeeper(clientOf(trio()), TICK), "beside");
    await term.resign();
  });
});

describe("the client of the user", () => {
  it("stays connected and goes on with its session when the store is closed", async () => {
    const client = await opened(clientOf(servers()));
    const session = client.getSessionId().toString("hex");
    await answered<string>((done) => client.create("/mine", Buffer.from("data"), done));
    await leadsOnce(zookeeper(client, TICK), "open");
    expect(client.getState()).toBe(State.SYNC_CONNECTED);
    expect(client.getSessionId().toString("hex")).toBe(session);
    expect(String(await answered<Buffer>((done) => client.getData("/mine", done)))).toBe("data");
  });

  it("is not connected by the store, and may be connected afterwards", async () => {
    const client = clientOf(servers());
    const store = zookeeper(client, TICK);
    await leadsOnce(store, "early");
    expect(client.getState()).toBe(State.DISCONNECTED);
    await opened(client);
    expect(await childrenOf(client, "/early")).toEqual([]);
  });

  it("may be closed already", async () => {
    const client = await opened(clientOf(servers()));
    open.pop();
    const closed = new Promise<void>((resolve) => client.once("disconnected", resolve));
    client.close();
    await closed;
    await leadsOnce(zookeeper(client, TICK), "late");
    expect(client.getState()).not.toBe(State.SYNC_CONNECTED);
  });

  it("is not kept: the connections of the server are those of the store, and they end with it", async () => {
    const connections = async (): Promise<number> =>
      Number(/^Connections: (\d+)$/m.exec(await wordOf(servers().urls[0] ?? "", "srvr"))?.[1]);
    const before = await connections();
    const store = zookeeper(clientOf(servers()), TICK);
    expect(await connections()).toBe(before);
    await leadsOnce(store, "counted");
    await expect.poll(connections).toBe(before);
  });
});

describe("the user of the client", () => {
  it("has the nodes that are made to itself, and the same user of a URL leads there", async () => {
    const client = await opened(clientOf(servers(), "/anna", "anna:geheim@/:"));
    await leadsOnce(zookeeper(client, TICK), "x");
    const acls = await answered<ACL[]>((done) => client.getACL("/x", done));
    expect(acls.map(({ id }) => [id.scheme, id.id.split(":")[0]])).toEqual([["digest", "anna"]]);
    const host = new URL(servers().urls[0] ?? "").host;
    await leadsOnce(zookeeper(`zookeeper://anna:geheim%40%2F%3A@${host}/anna`, TICK), "x");
  });

  it("that is missing, or has a wrong password, is told what to do", async () => {
    await leadsOnce(zookeeper(clientOf(servers(), "/bert", "bert:geheim"), TICK), "x");
    for (const [user, told] of [
      [undefined, /The store has no user: .*or call addAuthInfo\("digest".*before you pass it.*setAcl -R \/bert/],
      ["bert:falsch", /setAcl -R \/bert .*A wrong password shows as a missing right/],
    ] as const) {
      const store = zookeeper(clientOf(servers(), "/bert", user), TICK);
      await using candidate = createCandidate({ store, ttlMs: TTL_MS });
      await expect(candidate.election("x").campaign()).rejects.toThrow(told);
      await store.close();
    }
  });
});
