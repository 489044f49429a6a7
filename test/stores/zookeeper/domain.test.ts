// The domain of tokens is made once. Of two processes that find none, the second takes what the first has made: tokens of two domains could not be compared.
import { expect, it } from "vitest";
import { ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import { findDomain } from "../../../src/stores/zookeeper/domain.ts";
import type { ZooKeeperLink } from "../../../src/stores/zookeeper/link.ts";

it("that another process makes between the look and the write is taken over", async () => {
  const nodes = new Map<string, Buffer>([["/.conclave", Buffer.alloc(0)]]);
  const link = {
    data: async (path: string) => {
      const data = nodes.get(path);
      return data && { data };
    },
    exists: async (path: string) => (nodes.has(path) ? {} : undefined),
    create: async (path: string) => {
      nodes.set(path, Buffer.from("the other's"));
      throw new ZooKeeperError("node-exists", "not-applied", path);
    },
  };
  expect(await findDomain(link as unknown as ZooKeeperLink, "")).toBe("the other's");
});
