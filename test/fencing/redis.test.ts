// redisFence on a real Redis, with two handles as two processes would have them; and in a cluster.
import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { createClient } from "redis";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type RedisFence, redisFence } from "conclave/fencing/redis";
import * as server from "../../scripts/servers/redis.mjs";
import { byHand } from "../stores/redis/stage.ts";
import { useServers } from "../support/servers.ts";
import { Wire } from "../support/wire.ts";
import { anyToken, by, codeOf, findDisorder } from "./tokens.ts";

const servers = useServers(server);
const url = (): string => servers().urls[0] ?? "";
let one: RedisFence;
let two: RedisFence;
let resource = "";
let resources = 0;
beforeEach(() => {
  one = redisFence(url());
  two = redisFence(url());
  resource = `ledger-${++resources}`;
});
afterEach(async () => {
  await Promise.all([one.close(), two.close()]);
});

const set = (value: string): readonly { command: string; key: string; args: string[] }[] => [
  { command: "SET", key: `data-${resource}`, args: [value] },
];
const data = (): Promise<unknown> => byHand(url(), "GET", `data-${resource}`);

describe("redisFence", () => {
  it("writes with the newest token, and refuses an older one, also by a handle that has not seen the newer", async () => {
    await one.write(resource, by(1), set("first"));
    await two.write(resource, by(2), set("second"));
    await expect(one.write(resource, by(1), set("late"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    expect(await data()).toBe("second");
  });

  it("tells numbers apart that Lua's doubles do not", async () => {
    const large = 2n ** 53n;
    await one.raise(resource, by(large + 1n));
    expect(await codeOf(two.write(resource, by(large), set("late")))).toBe("TOKEN_STALE");
    expect(await codeOf(two.write(resource, by(large + 2n), set("newer")))).toBe("admitted");
    expect(await codeOf(one.write(resource, by(large + 1n), set("late")))).toBe("TOKEN_STALE");
    expect(await codeOf(one.write(resource, by(10n ** 30n), set("much newer")))).toBe("admitted");
    expect(await codeOf(one.write(resource, by(9n * 10n ** 29n), set("shorter")))).toBe("TOKEN_STALE");
    expect(await data()).toBe("much newer");
  });

  it("answers what Redis answers to each write, and says which stand if one fails", async () => {
    const key = `hash-${resource}`;
    const replies = await one.write(resource, by(1), [
      { command: "HSET", key, args: ["a", "1", "b", "2"] },
      { command: "INCR", key: `count-${resource}` },
      { command: "GET", key: `none-${resource}` },
      { command: "SET", key: `plain-${resource}`, args: ["x"] },
    ]);
    expect(replies).toEqual([2, 1, null, "OK"]);
    const microseconds = 1_763_529_164_123_457;
    const more = await one.write(resource, by(1), [
      { command: "SET", key: `count-${resource}`, args: ["0"] },
      { command: "INCRBY", key: `large-${resource}`, args: [`${microseconds}`] },
      { command: "MGET", key: `none-${resource}`, args: [`plain-${resource}`] },
      { command: "LRANGE", key: `none-${resource}`, args: ["0", "-1"] },
      { command: "INCR", key: `count-${resource}` },
    ]);
    expect(more).toEqual(["OK", microseconds, [null, "x"], [], 1]);
    const failing = one.write(resource, by(1), [
      { command: "INCR", key: `count-${resource}` },
      { command: "LPUSH", key, args: ["x"] },
      { command: "INCR", key: `count-${resource}` },
    ]);
    await expect(failing).rejects.toMatchObject({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/LPUSH.*The 1 before it stand/) as unknown,
    });
    expect(await byHand(url(), "GET", `count-${resource}`)).toBe("2");
  });

  it("takes as many arguments as Lua can pass on, and refuses more before anything is written", async () => {
    const list = (length: number): string[] => Array.from({ length }, (_, index) => `${index}`);
    const push = (length: number): Promise<unknown> =>
      one.write(resource, by(1), [...set("first"), { command: "RPUSH", key: `list-${resource}`, args: list(length) }]);
    expect(await push(7000)).toEqual(["OK", 7000]);
    await one.write(resource, by(1), set("before"));
    expect(await codeOf(push(7001))).toBe("CONFIG_INVALID");
    expect(await data()).toBe("before");
  });

  it("refuses another domain until it is adopted, everywhere at once", async () => {
    await one.raise(resource, by(5, "x", "etcd-1"));
    await two.raise(resource, by(5, "x", "etcd-1"));
    await expect(two.raise(resource, by(1, "y", "etcd-2"))).rejects.toThrow(
      /npx conclave fence adopt .*--guard redis:/,
    );
    await one.adopt(resource, { from: "etcd-1", to: "etcd-2" });
    expect(await codeOf(two.raise(resource, by(1, "y", "etcd-2")))).toBe("admitted");
    expect(await codeOf(two.raise(resource, by(9, "x", "etcd-1")))).toBe("TOKEN_FOREIGN");
  });

  it("refuses a fence that somebody has edited, and leaves it", async () => {
    await one.raise(resource, by(1));
    await byHand(url(), "SET", `conclave-fence:${resource}`, "gone");
    expect(await codeOf(one.write(resource, by(2), set("x")))).toBe("STORE_FOREIGN_DATA");
    expect(await byHand(url(), "GET", `conclave-fence:${resource}`)).toBe("gone");
    expect(await data()).toBeNull();
  });

  it("admits tokens in order, whichever of them is first", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyToken, { minLength: 2, maxLength: 8 }), async (tokens) => {
        resource = `race-${++resources}`;
        const write = (token: (typeof tokens)[number]): typeof set extends (value: string) => infer W ? W : never => [
          { command: "RPUSH", key: `order-${resource}`, args: [`${tokens.indexOf(token)}`] },
        ];
        await Promise.all(
          tokens.map((token, index) =>
            (index % 2 === 0 ? one : two).write(resource, { token }, write(token)).catch(() => {}),
          ),
        );
        const order = (await byHand(url(), "LRANGE", `order-${resource}`, "0", "-1")) as string[];
        expect(findDisorder(order.flatMap((index) => tokens[Number(index)] ?? []))).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  it("says that it is unknown when no answer comes, and that what is still under way is refused after a raise", async () => {
    const [node] = servers().nodes;
    await one.raise(resource, by(1));
    node?.pause();
    vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 300);
      return controller.signal;
    });
    const code = await codeOf(one.write(resource, by(1), set("when?")));
    vi.restoreAllMocks();
    node?.resume();
    expect(code).toBe("STORE_TIMEOUT");
    await two.raise(resource, by(2));
    expect(await codeOf(one.write(resource, by(1), set("late")))).toBe("TOKEN_STALE");
  });

  it("works around clients that the user made, and leaves them open", async () => {
    const io = new Redis(url());
    const node = createClient({ url: url() });
    await node.connect();
    const [first, second] = [redisFence(io), redisFence(node)];
    await first.write(resource, by(1), set("first"));
    await second.write(resource, by(2), set("second"));
    expect(await codeOf(first.write(resource, by(1), set("late")))).toBe("TOKEN_STALE");
    await Promise.all([first.close(), second.close()]);
    expect(await io.ping()).toBe("PONG");
    io.disconnect();
    node.destroy();
  });
});

describe.each([
  ["ioredis 6", Redis],
  ["ioredis 5", Redis5 as unknown as typeof Redis],
])("a client of %s that sends a command again when its connection broke before the answer", (_, Client) => {
  let wire: Wire;
  let io: Redis;
  let fence: RedisFence;
  beforeEach(async () => {
    wire = await Wire.to(url());
    io = new Client(wire.url);
    io.on("error", () => {});
    fence = redisFence(io);
  });
  afterEach(() => {
    io.disconnect();
    wire.end();
  });

  const count = (): { command: string; key: string }[] => [{ command: "INCR", key: `count-${resource}` }];
  const counted = (): Promise<unknown> => byHand(url(), "GET", `count-${resource}`);

  it("has carried out a write once, and is told that the answer is lost", async () => {
    await fence.raise(resource, by(1));
    expect(await fence.write(resource, by(1), count())).toEqual([1]);
    wire.loseAnswer(`count-${resource}`);
    await expect(fence.write(resource, by(1), count())).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      message: expect.stringMatching(/carried out before.*read before you write again/) as unknown,
    });
    expect(await counted()).toBe("2");
    expect(await fence.write(resource, by(1), count())).toEqual([3]);
  });

  it("has carried out the first write of a term once, too: it installs the token in the same step", async () => {
    wire.loseAnswer(`count-${resource}`);
    expect(await codeOf(fence.write(resource, by(1), count()))).toBe("STORE_TIMEOUT");
    expect(await counted()).toBe("1");
    wire.loseAnswer(`count-${resource}`);
    expect(await codeOf(fence.write(resource, by(2), count()))).toBe("STORE_TIMEOUT");
    expect(await counted()).toBe("2");
    expect(await fence.write(resource, by(2), count())).toEqual([3]);
  });

  it("has carried out each of many writes once, also those of other handles", async () => {
    await fence.raise(resource, by(1));
    const another = redisFence(io);
    wire.loseAnswer(`count-${resource}`);
    const codes = await Promise.all(
      Array.from({ length: 100 }, (_each, index) =>
        codeOf((index % 3 === 0 ? another : fence).write(resource, by(1), count())),
      ),
    );
    expect(await counted()).toBe("100");
    expect(codes).toContain("STORE_TIMEOUT");
    expect(await codeOf(fence.write(resource, by(1), count()))).toBe("admitted");
  });
});

describe("a client that has several connections", () => {
  it("carries out a write that arrives after a later one, and a copy of it no more", async () => {
    const io = new Redis(url());
    const late: (() => Promise<unknown>)[] = [];
    let keepsBack = false;
    const client = {
      status: "ready",
      duplicate: () => io.duplicate(),
      eval: (text: string, keys: number, ...words: string[]) => io.eval(text, keys, ...words),
      evalsha: (sha: string, keys: number, ...words: string[]) => {
        const send = (): Promise<unknown> => io.evalsha(sha, keys, ...words);
        if (!keepsBack) return send();
        return new Promise((resolve) => late.push(() => send().finally(() => resolve(send()))));
      },
    };
    const fence = redisFence(client);
    await fence.write(resource, by(1), set("first"));
    keepsBack = true;
    const codes = ["second", "third"].map((value) =>
      codeOf(fence.write(resource, by(1), [{ command: "RPUSH", key: `list-${resource}`, args: [value] }])),
    );
    keepsBack = false;
    await fence.write(resource, by(1), [{ command: "RPUSH", key: `list-${resource}`, args: ["fourth"] }]);
    for (const send of late.toReversed()) await send().catch(() => {});
    expect(await Promise.all(codes)).toEqual(["STORE_TIMEOUT", "STORE_TIMEOUT"]);
    expect(await byHand(url(), "LRANGE", `list-${resource}`, "0", "-1")).toEqual(["fourth", "third", "second"]);
    await fence.write(resource, by(1), set("last"));
    const [numbers] = ((await byHand(url(), "HVALS", `conclave-fence:${resource}\0numbers`)) as string[]).slice(1);
    expect(numbers, "nothing is remembered of what is settled").toBe("5");
    io.disconnect();
  });

  it("needs the rights that it names, and no more", async () => {
    await byHand(url(), "ACL", "SETUSER", "writer", "reset", "on", ">secret", "~data-*", "+rpush");
    const withUser = new URL(url());
    [withUser.username, withUser.password] = ["writer", "secret"];
    const fence = redisFence(withUser.href);
    const push = [{ command: "RPUSH", key: `data-${resource}`, args: ["x"] }];
    const refused: unknown = await fence.write(resource, by(1), push).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "STORE_DENIED" });
    const [, rights = ""] = /ACL SETUSER NAME (.*?), and/.exec((refused as Error).message) ?? [];
    await byHand(url(), "ACL", "SETUSER", "writer", ...rights.split(" "));
    expect(await fence.write(resource, by(1), push)).toEqual([1]);
    expect(await fence.write(resource, by(2), push)).toEqual([2]);
    await fence.close();
  });
});

describe("a write that is refused", () => {
  it.each([
    [{ command: "NOPE", key: "k" }, "CONFIG_INVALID"],
    [{ command: "SET", key: "k" }, "CONFIG_INVALID"],
    [{ command: "SUBSCRIBE", key: "k" }, "CONFIG_INVALID"],
    [{ command: "SET", key: "k", args: ["x", "WHEN"] }, "CONFIG_INVALID"],
  ])("says what is wrong with %j", async (write, code) => {
    await expect(one.write(resource, by(1), [write])).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/Nothing was written/) as unknown,
    });
  });

  it("for a right that is missing says so, also where only a script misses it", async () => {
    const readOnly = ["~*", "+eval", "+evalsha", "+get", "+hmget"];
    await byHand(url(), "ACL", "SETUSER", "reader", "reset", "on", ">secret", ...readOnly);
    await byHand(url(), "ACL", "SETUSER", "setter", "reset", "on", ">secret", ...readOnly, "+set", "+hset", "+del");
    const codes = ["reader", "setter"].map(async (name) => {
      const at = new URL(url());
      [at.username, at.password] = [name, "secret"];
      const fence = redisFence(at.href);
      const code = await codeOf(fence.write(resource, by(1), [{ command: "INCR", key: `count-${resource}` }]));
      await fence.close();
      return code;
    });
    expect(await Promise.all(codes)).toEqual(["STORE_DENIED", "STORE_DENIED"]);
  });

  it("by a full server, a replica, or a server that is away, does not promise another try", async () => {
    const refusal = async (fence: RedisFence): Promise<{ code: string; message: string }> =>
      (await fence.write(resource, by(1), set("x")).catch((error: unknown) => error)) as never;
    await byHand(url(), "CONFIG", "SET", "maxmemory", "1");
    const full = await refusal(one);
    await byHand(url(), "CONFIG", "SET", "maxmemory", "0");
    await byHand(url(), "REPLICAOF", "127.0.0.1", "1");
    const replica = await refusal(one);
    await byHand(url(), "REPLICAOF", "NO", "ONE");
    const away = await refusal(redisFence("redis://127.0.0.1:1"));
    expect([full.code, replica.code, away.code]).toEqual(["STORE_FULL", "STORE_UNREACHABLE", "STORE_UNREACHABLE"]);
    for (const { message } of [full, replica, away]) expect(message).toMatch(/Nothing was written\.$/);
  });

  it("because something else stands under its own keys names that key", async () => {
    await byHand(url(), "LPUSH", `conclave-fence:${resource}`, "x");
    await expect(one.write(resource, by(1), set("x"))).rejects.toMatchObject({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringContaining(`conclave-fence:${resource} `) as unknown,
    });
  });

  it("by a client that sends nothing else while it is subscribed, or that keeps nothing for later", async () => {
    const [subscribed, unconnected] = [
      new Redis5(url()),
      new Redis5(url(), { lazyConnect: true, enableOfflineQueue: false }),
    ];
    unconnected.on("error", () => {});
    await subscribed.subscribe("x");
    const refused = [subscribed, unconnected].map((client) =>
      codeOf(redisFence(client as unknown as Redis).write(resource, by(1), set("x"))),
    );
    expect(await Promise.all(refused)).toEqual(["STORE_UNREACHABLE", "STORE_UNREACHABLE"]);
    subscribed.disconnect();
    unconnected.disconnect();
  });
});

describe("in a cluster", () => {
  const cluster = useServers(server, { args: ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"] });

  it("refuses keys of other slots than the fence's, and takes those with its hash tag", async () => {
    const at = cluster().urls[0] ?? "";
    await byHand(at, "CLUSTER", "ADDSLOTS", ...Array.from({ length: 16_384 }, (_, slot) => `${slot}`));
    await expect
      .poll(async () => String(await byHand(at, "CLUSTER", "INFO")), { timeout: 10_000 })
      .toMatch(/cluster_state:ok/);
    const client = new Cluster([at]);
    const fence = redisFence(client);
    await expect(
      fence.write("orders", by(1), [{ command: "SET", key: "orders:7", args: ["paid"] }]),
    ).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringMatching(/the same hash tag.*Nothing was written/) as unknown,
    });
    expect(await fence.write("{orders}", by(1), [{ command: "SET", key: "{orders}:7", args: ["paid"] }])).toEqual([
      "OK",
    ]);
    expect(await codeOf(fence.write("{orders}", by(0), [{ command: "SET", key: "{orders}:7", args: ["late"] }]))).toBe(
      "TOKEN_STALE",
    );
    client.disconnect();
  });
});
