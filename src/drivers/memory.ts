// The record of the store inside one process. Guards in memory belong to their process, so no command reaches them.
import type { Driver } from "./driver.ts";

export const memoryDriver: Driver = {
  name: "memory",
  schemes: ["memory"],
  promises: async () => [
    {
      title: "`memory:`",
      guarantee: (await import("../stores/memory/guarantee.ts")).guaranteeOf("race", "store", "memory"),
    },
  ],
  open: async (url) => (await import("../stores/memory.ts")).memory(url),
};
