// Clients that a team has already, of both libraries: over TLS and with a user of its own; and what a client does by itself (a timeout, a queue for while it is not connected, tries that it gives up)
// is an unknown outcome, because the request may still be sent.
import { createServer } from "node:net";
import { Redis } from "ioredis";
import { readFileSync } from "node:fs";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { redis, type RedisClient } from "conclave/stores/redis";
import { freePorts, privateFolder } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { makeCertificates } from "../etcd/certificates.ts";
import { call, hold, open } from "../moves.ts";
import { byHand, untilItVotes } from "./stage.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const own = privateFolder("redis-client-certificates");
afterAll(() => own.remove());
const files = makeCertificates(own.folder);
const secure = useServers(server, { tls: files, password: "geheim" });
const portOf = (url: string | undefined): number => Number(new URL(url ?? "").port);

/** A name in the certificate. */
const HOST = "127.0.0.1";

interface Access {
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly ca: string;
}

const CLIENTS: Readonly<Record<string, (access: Access) => Promise<RedisClient>>> = {
  "ioredis, RESP3": async ({ ca, ...access }) => keep(new Redis({ host: HOST, ...access, tls: { ca } })),
  "ioredis, RESP2": async ({ ca, ...access }) => keep(new Redis({ host: HOST, ...access, tls: { ca }, protocol: 2 })),
  "redis, RESP3": ({ port, ca, ...access }) =>
    connected({ ...access, socket: { host: HOST, port, tls: true, ca }, RESP: 3 }),
  "redis, RESP2": ({ port, ca, ...access }) =>
    connected({ ...access, socket: { host: HOST, port, tls: true, ca }, RESP: 2 }),
};

function keep(client: Redis): Redis {
  client.on("error", () => {});
  closing.push(() => client.disconnect());
  return client;
}

async function connected(options: Parameters<typeof createClient>[0]) {
  const client = createClient(options);
  client.on("error", () => {});
  closing.push(() => {
    if (client.isOpen) client.destroy();
  });
  await client.connect();
  return client;
}

describe.each(Object.entries(CLIENTS))("%s, with TLS, a user and a password", (name, connect) => {
  beforeAll(async () => {
    const operator = new Redis({
      host: HOST,
      port: portOf(secure().urls[0]),
      password: "geheim",
      tls: { ca: readFileSync(files.ca) },
    });
    await operator.call("ACL", "SETUSER", "team", "reset", "on", ">secret", "~{conclave}*", "&{conclave}:*", "+@all");
    operator.disconnect();
  });

  it("elects, hears and gives back", async () => {
    const access = {
      port: portOf(secure().urls[0]),
      username: "team",
      password: "secret",
      ca: readFileSync(files.ca, "utf8"),
    };
    const [mine, theirs] = [redis(await connect(access)), redis(await connect(access))];
    const session = await open(mine);
    const held = await hold(mine, session, `secure ${name}`);
    const hints = theirs.watch([{ name: held.name }], call())[Symbol.asyncIterator]();
    const hint = hints.next();
    expect(await mine.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [] });
    await mine.release({ session, holds: [held], endSession: true }, call());
    expect(await hint).toMatchObject({ done: false });
    await hints.return?.();
    await Promise.all([mine.close(), theirs.close()]);
  });
});

describe("several clients of both libraries", () => {
  const three = useServers(server, { nodes: 3 });
  const TTL_MS = 1000;

  it("are one store: a name is held past its ttl, a rival waits, and the clients stay open when it closes", async () => {
    const [one = "", two = "", third = ""] = three().urls;
    const io = [keep(new Redis(one)), keep(new Redis(third))] as const;
    const node = await connected({ url: two });
    const clients = [io[0], node, io[1]];
    const [mine, theirs] = [redis(clients, { maxTtlMs: TTL_MS }), redis(clients, { maxTtlMs: TTL_MS })];
    await untilItVotes(mine);
    const options = { ttlMs: TTL_MS, drainMs: 100, unfenced: true } as const;
    const [holder, rival] = [
      createCandidate({ store: mine, ...options }),
      createCandidate({ store: theirs, ...options }),
    ];
    const term = await holder.election("several").campaign();
    const next = rival.election("several").campaign();
    await new Promise((resolve) => setTimeout(resolve, 2.5 * TTL_MS));
    expect([term.isHeld(), (await rival.election("several").leader())?.id]).toEqual([true, holder.id]);
    await holder.close();
    expect((await next).isHeld()).toBe(true);
    await rival.close();
    await Promise.all([mine.close(), theirs.close()]);
    expect(await Promise.all([io[0].ping(), node.ping(), io[1].ping()])).toEqual(["PONG", "PONG", "PONG"]);
  });
});

describe("a client's own ways", () => {
  /** Takes connections, and never answers. */
  const silence = async (): Promise<number> => {
    const silent = createServer((socket) => socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    closing.push(() => silent.close());
    return (silent.address() as { port: number }).port;
  };
  const patient = () => call(AbortSignal.timeout(8000));

  it("ioredis: a timeout of its commands is unknown", async () => {
    const client = keep(
      new Redis({ port: await silence(), commandTimeout: 100, enableReadyCheck: false, protocol: 2 }),
    );
    expect((await redis(client).look([{ name: "x" }], patient())).kind).toBe("unknown");
  });

  it("ioredis: tries that it gives up are unknown", async () => {
    const [port = 0] = await freePorts(1);
    const client = keep(new Redis({ port, maxRetriesPerRequest: 1, retryStrategy: () => 20 }));
    expect((await redis(client).look([{ name: "x" }], patient())).kind).toBe("unknown");
  });

  it("redis: a timeout of what waits in its queue is unknown", async () => {
    const ran = await server.start();
    closing.push(() => ran.stop());
    const client = await connected({ url: ran.urls[0] ?? "", commandOptions: { timeout: 200 } });
    await ran.nodes[0]?.kill();
    const from = performance.now();
    await expect.poll(async () => (await redis(client).look([{ name: "x" }], patient())).kind).toBe("unknown");
    expect(performance.now() - from).toBeLessThan(7000); // its own, not ours
  });

  it("ioredis: what waits in its queue is unknown to one who gives up, and is sent later", async () => {
    const ran = await server.start();
    closing.push(() => ran.stop());
    const at = ran.urls[0] ?? "";
    await ran.nodes[0]?.kill();
    const client = keep(new Redis(at, { maxRetriesPerRequest: null, retryStrategy: () => 50 }));
    const store = redis(client);
    const opening = { nonce: "queued", candidate: "c", ttlMs: 60_000 };
    expect((await store.keep(opening, [], call(AbortSignal.timeout(200)))).kind).toBe("unknown");
    await ran.nodes[0]?.restart();
    await expect.poll(() => byHand(at, "EXISTS", "{conclave}:session:queued"), { timeout: 10_000 }).toBe(1);
    // Opened late is opened: the same opening finds it.
    expect(await store.keep(opening, [], patient())).toMatchObject({ kind: "kept", session: { id: "queued" } });
  });

  it("redis: what is refused because it is not connected was certainly not sent", async () => {
    const ran = await server.start();
    closing.push(() => ran.stop());
    const client = await connected({ url: ran.urls[0] ?? "", disableOfflineQueue: true });
    await ran.nodes[0]?.kill();
    const refused = { kind: "refused", code: "STORE_UNREACHABLE", retryable: true };
    await expect.poll(() => redis(client).look([{ name: "x" }], patient())).toMatchObject(refused);
    await ran.nodes[0]?.restart();
    await expect
      .poll(async () => (await redis(client).look([{ name: "x" }], patient())).kind, { timeout: 10_000 })
      .toBe("seen");
  });
});
