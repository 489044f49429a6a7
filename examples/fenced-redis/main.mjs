// A key in Redis that two leaders write, the old one late. The election is in a store that has tokens, because Redis has none. First without a guard, then with one: each write is a
// script that compares the fence. Needs ioredis and a Redis: npm run servers -- redis, or any other; its URL in REDIS_URL.
//
//   npm run build && REDIS_URL=redis://127.0.0.1:6379 node examples/fenced-redis/main.mjs
import { createCandidate, openStore, requireFenced } from "conclave";
import { redisFence } from "conclave/fencing/redis";
import { Redis } from "ioredis";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store); // the compiler, and this line, refuse a store without tokens: redis:// itself would be one
const first = createCandidate({ store, id: "first", ttlMs: 2_000 });
const second = createCandidate({ store, id: "second", ttlMs: 2_000 });
const old = await first.election("example-price").campaign();
await old.resign(); // or its lease ran out while it was stopped
const successor = await second.election("example-price").campaign();

const data = new Redis(url);
await data.set("example-price", "successor");
await data.set("example-price", "old leader"); // late
const unfenced = await data.get("example-price");
console.log(`without a fence: ${unfenced}`);

const fence = redisFence(data);
const write = (/** @type {import("conclave").Fenced} */ term, /** @type {string} */ value) =>
  fence.write("example-price", term, [{ command: "SET", key: "example-price", args: [value] }]).then(
    () => "written",
    (/** @type {{ code: string }} */ { code }) => code,
  );
await fence.raise("example-price", successor); // before it reads
await write(successor, "successor");
const late = await write(old, "old leader");
const fenced = await data.get("example-price");
console.log(`with a fence:    ${fenced}; the late write: ${late}`);

await Promise.all([first.close(), second.close(), data.quit()]);
await store.close();
if (unfenced !== "old leader" || fenced !== "successor" || late !== "TOKEN_STALE") process.exitCode = 1;
