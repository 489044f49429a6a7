// A password of a URL, and what a request carries, are never shown: not in an error with all its causes, not in an event, a line of a log, or a warning.
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, it } from "vitest";
import { redisFence } from "conclave/fencing/redis";
import type { UnfencedStore } from "conclave/stores/contract";
import { redis } from "conclave/stores/redis";
import * as server from "../../../scripts/servers/redis.mjs";
import { allThatIsShown, overheard } from "../../support/secrets.ts";
import { useServers } from "../../support/servers.ts";
import { by } from "../../fencing/tokens.ts";
import { call, open } from "../moves.ts";
import { byHand, severalUrl } from "./stage.ts";

const CLIENTS = ["own", "ioredis", "redis"] as const;
const SECRET = "geheimnis";
const servers = useServers(server, { nodes: 3, password: "right" });
/** HELLO and AUTH are unknown to this one, and an unknown command is repeated with its arguments. */
const bare = useServers(server, { args: ["--rename-command", "HELLO", "", "--rename-command", "AUTH", ""] });
const withPassword = (url: string, password: string): string => url.replace("redis://", `redis://:${password}@`);
const wrong = (url: string = servers().urls[0] ?? ""): string => withPassword(url, SECRET);

it.each(CLIENTS)("a wrong password (%s)", async (client) => {
  const shown = await allThatIsShown(redis(wrong(), { client }));
  expect(shown).toMatch(/STORE_DENIED[^]*WRONGPASS/);
  expect(shown).not.toContain(SECRET);
});

it.each(CLIENTS)("a wrong password of several servers (%s)", async (client) => {
  const url = withPassword(severalUrl(servers()), SECRET);
  const shown = await allThatIsShown(redis(url, { client, maxTtlMs: 2000 }));
  expect(shown).toMatch(/STORE_DENIED[^]*WRONGPASS/);
  expect(shown).not.toContain(SECRET);
});

it.each(CLIENTS)("a password for a server that does not know how to log in (%s)", async (client) => {
  const shown = await allThatIsShown(redis(wrong(bare().urls[0]), { client }));
  expect(shown).toMatch(/unknown command/);
  expect(shown).not.toContain(SECRET);
});

it("a wrong password in a client of the user's", async () => {
  const io = new Redis(wrong(), { maxRetriesPerRequest: 0, retryStrategy: () => null });
  io.on("error", () => {});
  const look = (store: UnfencedStore) => store.look([{ name: "x" }], call(AbortSignal.timeout(3000)));
  const shown = await overheard(() => look(redis(io)));
  io.disconnect();
  const node = createClient({ url: wrong(), socket: { reconnectStrategy: false } });
  node.on("error", () => {});
  await node.connect().catch(() => {});
  const shownToo = await overheard(() => look(redis(node)));
  expect(shown).toMatch(/STORE_(?:DENIED|UNREACHABLE)[^]*(?:NOAUTH|WRONGPASS|closed)/);
  expect(shownToo).toMatch(/client that was passed in is not open/);
  expect(shown + shownToo).not.toContain(SECRET);
});

it("a wrong password of a guard", async () => {
  const fence = redisFence(wrong());
  const shown = await overheard(async (show) => {
    await fence.raise("r", by(1)).catch(show);
    await fence.write("r", by(1), [{ command: "SET", key: "k", args: [SECRET] }]).catch(show);
    await fence.adopt("r", { from: "d", to: "e" }).catch(show);
    await fence.close();
  });
  expect(shown).toMatch(/STORE_DENIED[^]*WRONGPASS/);
  expect(shown).not.toContain(SECRET);
});

it.each(CLIENTS)("what a request carries that the server refuses (%s)", async (client) => {
  const at = withPassword(servers().urls[1] ?? "", "right");
  const store = redis(at, { client });
  const session = await open(store);
  await byHand(at, "CONFIG", "SET", "maxmemory", "1");
  const shown = await overheard(async () => {
    const claim = { session, name: "full", bid: "b.1" as never, over: "vacant" as never, value: SECRET };
    return await store.claim([claim], call());
  });
  await byHand(at, "CONFIG", "SET", "maxmemory", "0");
  await store.close();
  expect(shown).toMatch(/STORE_FULL[^]*OOM/);
  expect(shown).not.toContain(SECRET);
});
