// What people get wrong with Redis, and what they are told: a code, what is wrong, what to do; nothing of theirs overwritten, no password repeated.
import { createServer } from "node:net";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate, elect, isConclaveError, openStore } from "conclave";
import { redis, type RedisClient, type RedisOptions } from "conclave/stores/redis";
import { type Bid, type Claimed, VACANT } from "conclave/stores/contract";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/redis.mjs";
import { useServers } from "../../support/servers.ts";
import { makeCertificates } from "../etcd/certificates.ts";
import { call, claim, hold, open } from "../moves.ts";
import { byHand, hasChannelRights } from "./stage.ts";

/** What a first campaign is told. */
async function refusalOf(
  source: string | RedisClient,
  name = "x",
  options: RedisOptions = {},
): Promise<{ code: string; message: string }> {
  const store = redis(source as string, options) as ReturnType<typeof redis>;
  const election = elect(name, { store, ttlMs: 2000, drainMs: 100, unfenced: true });
  try {
    await election.campaign({ signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    if (!isConclaveError(error)) throw error;
    expect(error.message).not.toMatch(/geheim/);
    return { code: error.code, message: error.message };
  } finally {
    await election.close();
    await store.close();
  }
  throw new Error("nothing was wrong");
}

/** What a look is told, where trying again might help and a campaign goes on. */
async function lookRefused(url: string, options: RedisOptions = {}): Promise<string> {
  const store = redis(url, options);
  const looked = await store.look([{ name: "x" }], { signal: AbortSignal.timeout(8000), sentAtMs: 0 });
  await store.close();
  if (looked.kind !== "refused") throw new Error(`not refused: ${JSON.stringify(looked)}`);
  return `${looked.code}${looked.retryable ? " retryable" : ""}: ${looked.message}`;
}

const CLIENTS = ["own", "ioredis", "redis"] as const;
const servers = useServers(server, { password: "geheim" });
const url = (user = ":geheim"): string => (servers().urls[0] ?? "").replace("redis://", `redis://${user}@`);

describe("fencing", () => {
  it("is not there, and has to be done without in so many words", async () => {
    expect(() => createCandidate({ store: redis(url()) } as never)).toThrow(
      /redis cannot fence: A stopped holder.*a replica is promoted.*started again.*wall clock of the server is set forward.*Pass unfenced: true/,
    );
  });
});

describe.each(CLIENTS)("by %s", (client) => {
  it("a wrong password is said, and not repeated", async () => {
    expect(await refusalOf(url(":geheimnis"), "x", { client })).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(/does not accept this user or password/) as unknown,
    });
    expect((await refusalOf(url("nobody:geheim"), "x", { client })).code).toBe("STORE_DENIED");
  });

  it("no password where one is wanted", async () => {
    expect(await refusalOf(servers().urls[0] ?? "", "x", { client })).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(/wants a password/) as unknown,
    });
  });

  it("a server that is not there, and a name that nobody knows", async () => {
    expect(await lookRefused("redis://127.0.0.1:1", { client })).toMatch(
      /^STORE_UNREACHABLE retryable: redis: 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\).*It is tried again\.$/,
    );
    expect(await lookRefused("redis://nowhere.invalid", { client })).toMatch(
      /^STORE_UNREACHABLE retryable: .*nowhere\.invalid:6379/,
    );
  });

  it("a database that is not there", async () => {
    expect(await lookRefused(`${url()}/99`, { client })).toMatch(
      /^STORE_UNSUPPORTED: redis: \S+ has no database of the number that ends the URL .*Write a smaller one/,
    );
  });

  it("a missing right, with the command that grants it; and with it everything works", async () => {
    await byHand(url(), "ACL", "SETUSER", "bare", "reset", "on", ">geheim", "~*", "+ping", "+hello", "+auth");
    const { code, message } = await refusalOf(url("bare:geheim"), "x", { client });
    expect(code).toBe("STORE_DENIED");
    const command = /ACL SETUSER NAME on >PASSWORD (.*)$/.exec(message)?.[1] ?? "";
    const all = command.split(" ");
    const rights = (await hasChannelRights(url())) ? all : all.filter((right) => !right.startsWith("&"));
    await byHand(url(), "ACL", "SETUSER", "app", "reset", "on", ">geheim", ...rights);
    const store = redis(url("app:geheim"), { client });
    const session = await open(store);
    const held = await hold(store, session, `rights ${client}`);
    const hints = store.watch([{ name: held.name }], call())[Symbol.asyncIterator]();
    const hint = hints.next();
    await store.keep(session, [held], call());
    await store.release({ session, holds: [held], endSession: true }, call());
    expect((await hint).done).toBe(false);
    await hints.return?.();
    await store.close();
  });
});

describe("data of others", () => {
  it("a key of another type under ours, or a value that is no lock: nothing is written", async () => {
    await byHand(url(), "SET", "{conclave}:seat:taken", "somebody's");
    expect(await refusalOf(url(), "taken")).toEqual({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/"\{conclave\}:seat:taken".*Nothing was written/) as unknown,
    });
    await byHand(url(), "SET", "settings", "somebody's");
    await byHand(url(), "RPUSH", "list", "somebody's");
    const others = redis(url(), { layout: "redlock" });
    for (const name of ["settings", "list"])
      expect(await others.look([{ name }], call())).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
    await others.close();
    for (const name of ["settings", "list"])
      expect((await refusalOf(url(), name, { layout: "redlock" })).code).toBe("STORE_FOREIGN_DATA");
    expect(await byHand(url(), "GET", "{conclave}:seat:taken")).toBe("somebody's");
    expect(await byHand(url(), "GET", "settings")).toBe("somebody's");
    expect(await byHand(url(), "LRANGE", "list", "0", "-1")).toEqual(["somebody's"]);
  });

  it("does not keep others in the same call from their names", async () => {
    const store = redis(url());
    const session = await open(store);
    await byHand(url(), "SET", "{conclave}:seat:foreign", "somebody's");
    const claims = ["free", "foreign"].map((name) => ({
      session,
      name,
      bid: `of ${name}` as never,
      over: "vacant" as never,
      value: "",
    }));
    expect((await store.claim(claims, call())).map(({ kind }) => kind)).toEqual(["granted", "refused"]);
    await store.close();
  });
});

it("a full memory refuses what is new, and renews and frees what is there", async () => {
  const store = redis(url());
  const session = await open(store);
  const held = await hold(store, session, "kept while full");
  await byHand(url(), "CONFIG", "SET", "maxmemory", "1");
  try {
    expect(await claim(store, session, "new")).toMatchObject({ kind: "refused", code: "STORE_FULL", retryable: true });
    expect(await store.keep(session, [held], call())).toMatchObject({ kind: "kept", lost: [] });
    expect(await store.release({ session, holds: [held], endSession: false }, call())).toEqual({ kind: "released" });
  } finally {
    await byHand(url(), "CONFIG", "SET", "maxmemory", "0");
    await store.close();
  }
});

describe("a value that is too large for the server", () => {
  const MOST = 1024 * 1024; // the least that may be configured
  const small = useServers(server, { args: ["--proto-max-bulk-len", `${MOST}`] });

  // The server answers and closes the connection while we still write, so that its answer may be lost on the way. What has no answer is unknown, and is asked again.
  it.each(CLIENTS)("is refused for good, and nothing was written; a smaller one is taken (%s)", async (client) => {
    const at = small().urls[0] ?? "";
    const store = redis(at, { client });
    const session = await open(store);
    const claimOf = async (bytes: number): Promise<Claimed | undefined> => {
      const claim = { session, name: client, bid: `b.${bytes}` as Bid, over: VACANT, value: "v".repeat(bytes) };
      return (await store.claim([claim], call(AbortSignal.timeout(8000))))[0];
    };
    for (const bytes of [MOST + 1, 2 * MOST]) {
      let claimed = await claimOf(bytes);
      for (let tries = 1; tries < 100 && claimed?.kind === "unknown"; tries++) claimed = await claimOf(bytes);
      expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FULL", retryable: false });
      expect(claimed).toHaveProperty(
        "message",
        expect.stringMatching(/too large.*Nothing was written.*proto-max-bulk/),
      );
    }
    expect(await byHand(at, "EXISTS", `{conclave}:seat:${client}`)).toBe(0);
    expect(await claimOf(MOST / 2)).toMatchObject({ kind: "granted" });
    await store.close();
  });
});

it("a replica is named, and tried again", async () => {
  const [port] = [new URL(servers().urls[0] ?? "").port];
  const replica = await server.start({ args: ["--replicaof", "127.0.0.1", port, "--masterauth", "geheim"] });
  const store = redis(replica.urls[0] ?? "");
  expect(await store.keep({ nonce: "n", candidate: "c", ttlMs: 1000 }, [], call())).toMatchObject({
    kind: "refused",
    code: "STORE_UNREACHABLE",
    message: expect.stringMatching(/is a replica/) as unknown,
    retryable: true,
  });
  await store.close();
  await replica.stop();
});

describe("TLS", () => {
  const own = privateFolder("redis-certificates");
  afterAll(() => own.remove());
  const files = makeCertificates(own.folder);
  const secure = useServers(server, { tls: files });
  const at = (): string => secure().urls[0] ?? "";

  it.each(CLIENTS)("with its authority it works; without it, or without TLS, it is said (%s)", async (client) => {
    const store = redis(`${at()}?conclave_ca=${files.ca}`, { client });
    await hold(store, await open(store), `tls ${client}`);
    await store.close();
    expect(await lookRefused(at(), { client })).toMatch(/^STORE_DENIED: .*certificate that is not trusted/);
    expect(await lookRefused(at().replace("rediss:", "redis:"), { client })).toMatch(
      /^STORE_UNREACHABLE retryable: .*rediss:\/\//,
    );
    const plain = (servers().urls[0] ?? "").replace("redis:", "rediss:");
    expect(await lookRefused(plain, { client })).toMatch(
      /^STORE_(?:DENIED|UNREACHABLE).*(?:does not speak TLS|cannot be reached)/,
    );
  });
});

describe("a client of the user's", () => {
  it("that is closed, or was never opened, is said", async () => {
    const io = new Redis(url());
    await io.quit();
    await expect.poll(() => io.status).toBe("end");
    expect((await refusalOf(io)).message).toMatch(/client that was passed in is closed/);
    expect((await refusalOf(createClient({ url: url() }))).message).toMatch(/not open.*client\.connect\(\)/);
  });

  it("has a timeout of its own: the outcome is unknown", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as { port: number };
    const io = new Redis({ port, commandTimeout: 100, enableReadyCheck: false });
    io.on("error", () => {});
    const store = redis(io);
    expect((await store.look([{ name: "x" }], call(AbortSignal.timeout(5000)))).kind).toBe("unknown");
    io.disconnect();
    silent.close();
  });

  it("that is none is refused", () => {
    expect(() => redis({} as never)).toThrow(/neither a URL, nor a client of ioredis or redis/);
    expect(() => redis({ isCluster: true } as never)).toThrow(/client of a Redis Cluster/);
  });
});

describe("options and URLs", () => {
  it.each([
    ["redis://a:1,b:2", {}, /2 servers have no majority.*need maxTtlMs/],
    ["redis://a,b,c", {}, /several servers need maxTtlMs/],
    ["redis://a,a:6379,b?conclave_max_ttl_ms=1000", {}, /names one server twice/],
    ["redis://a/jobs", {}, /the number of a database/],
    ["redis://a:99999", {}, /a port/],
    ["redis://", {}, /names no host/],
    ["redis://a", { layout: "mine" }, /layout "mine" is not known/],
    ["redis://a", { maxTtlMs: 1 }, /maxTtlMs 1 is not/],
    ["redis://a", { ttl: 1 }, /ttl is not an option/],
    ["redis://a", { unfenced: true }, /it belongs to the candidate, .*elect\(name, \{ store, unfenced: … \}\)/],
    ["redis://a?conclave_layot=redlock", {}, /"conclave_layot" is not a setting of it: conclave_layout, /],
    ["redis://a?layout=redlock", {}, /"layout" is written conclave_layout in the URL/],
    ["redis://u:50%zz@a", {}, /write %25 for the sign itself/],
    ["rediss://a?conclave_cert=/f", {}, /conclave_cert and conclave_key go together/],
    ["redis://a?conclave_ca=/f", {}, /conclave_ca belongs to TLS: write rediss:/],
    ["rediss://a?conclave_ca=/no/such/file", {}, /conclave_ca cannot be read: ENOENT/],
  ])("%s with %j", (given, options, said) => {
    expect(() => redis(given, options as RedisOptions)).toThrow(said);
  });

  it("with settings that other programs read is taken", () => {
    expect(() => redis("redis://a?family=0")).not.toThrow();
  });

  it("can be opened again by its url, which is not printed", async () => {
    const store = redis("redis://u:geheim@a,b,c/2", { maxTtlMs: 5000, layout: "redlock", prefix: "p" });
    expect(store.url).toBe(
      "redis://u:geheim@a,b,c/2?conclave_layout=redlock&conclave_prefix=p&conclave_max_ttl_ms=5000",
    );
    expect(JSON.stringify(store)).not.toContain("geheim");
    expect((await openStore(store.url)).guarantee).toEqual(store.guarantee);
  });
});

describe("a server that goes away", () => {
  it("leaves what was sent unknown, and is found again", async () => {
    const own = await server.start();
    const store = redis(own.urls[0] ?? "");
    const session = await open(store);
    own.nodes[0]?.pause();
    expect((await store.keep(session, [], call(AbortSignal.timeout(300)))).kind).toBe("unknown");
    own.nodes[0]?.resume();
    expect((await store.keep(session, [], call())).kind).toBe("kept");
    await own.nodes[0]?.kill();
    const gone = await store.look([{ name: "x" }], call(AbortSignal.timeout(2000)));
    expect(["unknown", "refused"]).toContain(gone.kind);
    await own.nodes[0]?.restart();
    await expect.poll(async () => (await store.look([{ name: "x" }], call())).kind, { timeout: 5000 }).toBe("seen");
    await store.close();
    await own.stop();
  });

  it.each(CLIENTS)(
    "is not waited for without end when it accepts a connection and says nothing more (%s)",
    async (client) => {
      let connections = 0;
      const silent = createServer((socket) => {
        connections++;
        socket.on("error", () => {});
      });
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      const { port } = silent.address() as { port: number };
      const store = redis(`redis://127.0.0.1:${port}`, { client });
      const until = performance.now() + 12_000;
      while (connections < 2 && performance.now() < until)
        await store.look([{ name: "x" }], call(AbortSignal.timeout(300)));
      expect(connections).toBeGreaterThan(1); // the first one was given up
      const closing = await Promise.race([
        store.close().then(() => "closed"),
        new Promise((resolve) => setTimeout(() => resolve("hangs"), 4000)),
      ]);
      expect(closing).toBe("closed");
      silent.close();
    },
  );
});
