// The record of the etcd driver.
import type { Driver } from "./driver.ts";
import { withoutPassword } from "../base/url.ts";

export const etcdDriver: Driver = {
  name: "etcd",
  schemes: ["etcd", "etcds"],
  port: 2379,
  server: "etcd",
  promises: async () => [{ title: "`etcd:`", guarantee: (await import("../stores/etcd/guarantee.ts")).anyVersion() }],
  open: async (url) => (await import("../stores/etcd.ts")).etcd(url),
  guard: async (url, { prefix }) => {
    const { etcdFence } = await import("../fencing/etcd.ts");
    const fence = etcdFence(url, { prefix });
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
