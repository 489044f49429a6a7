// The record of the Redis driver. Its guard is for data in Redis; the tokens come from another store.
import { withoutPassword } from "../base/url.ts";
import type { Driver } from "./driver.ts";

export const redisDriver: Driver = {
  name: "redis",
  schemes: ["redis", "rediss"],
  port: 6379,
  server: "redis",
  promises: async () => {
    const { guaranteeOf } = await import("../stores/redis/guarantee.ts");
    const shape = { layout: "ours", maxTtlMs: undefined, isOwn: true } as const;
    return [
      { title: "`redis:`", guarantee: guaranteeOf({ ...shape, servers: 1 }) },
      { title: "`redis:` over three servers (Redlock)", guarantee: guaranteeOf({ ...shape, servers: 3 }) },
    ];
  },
  open: async (url) => (await import("../stores/redis.ts")).redis(url),
  loadClient: async (url) => {
    const wanted = new URLSearchParams(url.split("?")[1]).get("conclave_client");
    if (wanted !== "ioredis" && wanted !== "redis") return;
    (await import("../clients/redis/client.ts")).loadRedisClient(wanted);
  },
  guard: async (url, { prefix }) => {
    const { redisFence } = await import("../fencing/redis.ts");
    const fence = redisFence(url, { prefix });
    return {
      place: withoutPassword(url),
      isMissing: false,
      adopt: async (resource, move) => {
        try {
          return await fence.adopt(resource, move);
        } finally {
          await fence.close();
        }
      },
    };
  },
};
