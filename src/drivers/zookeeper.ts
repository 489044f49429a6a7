// The record of the ZooKeeper driver.
import type { Driver } from "./driver.ts";

export const zookeeperDriver: Driver = {
  name: "zookeeper",
  schemes: ["zookeeper", "zookeepers"],
  port: 2181,
  server: "zookeeper",
  promises: async () => {
    const { DEFAULT_TICK_MS, guaranteeOf } = await import("../stores/zookeeper/guarantee.ts");
    return [{ title: "`zookeeper:`", guarantee: guaranteeOf(DEFAULT_TICK_MS) }];
  },
  open: async (url) => (await import("../stores/zookeeper.ts")).zookeeper(url),
};
