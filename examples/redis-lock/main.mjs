// A lock in Redis around work that is only wasteful when it is done twice: one of many replicas warms a cache. Redis gives no tokens, so `unfenced: true` has to be written; for work
// that must not be done twice, take a store that has them (examples/fenced-redis has the data in Redis and the election elsewhere).
// Needs a Redis: npm run servers -- redis, or any other; its URL in REDIS_URL. Several servers in the URL are Redlock: redis://a,b,c?conclave_max_ttl_ms=30000
//
//   npm run build && REDIS_URL=redis://127.0.0.1:6379 node examples/redis-lock/main.mjs
import { createCandidate } from "conclave";
import { redis } from "conclave/stores/redis";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** What the fleet shares, and what filling it costs. @type {Map<string, string>} */
const cache = new Map();
let warmings = 0;

/** A replica of the service. @param {string} id */
async function replica(id) {
  const store = redis(url);
  const candidate = createCandidate({ store, id, ttlMs: 5_000, unfenced: true });
  const result = await candidate.withLock("warm-cache", async (term) => {
    if (cache.has("page")) return "found it warm";
    warmings++;
    for (let step = 0; step < 3; step++) {
      term.signal.throwIfAborted(); // this replica is told to stop, or its lease runs out
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    cache.set("page", "rendered");
    return "warmed it";
  });
  await candidate.close();
  await store.close();
  return result;
}

const done = await Promise.all(["web-1", "web-2", "web-3"].map(replica));
console.log(`${done.join(", ")}; it was warmed ${warmings === 1 ? "once" : `${warmings} times`}`);
if (warmings !== 1) process.exitCode = 1;
