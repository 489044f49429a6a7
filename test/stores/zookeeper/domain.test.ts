// The domain of tokens is made once. Of two processes that find none, the second takes what the first has made: tokens of two domains could not be compared. What is no random id is no domain.
import { expect, it } from "vitest";
import { ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import type { Refusal } from "../../../src/base/refusal.ts";
import { findDomain } from "../../../src/stores/zookeeper/domain.ts";
import type { ZooKeeperLink } from "../../../src/stores/zookeeper/link.ts";

const ID = "0b8f6a30-54d1-4a7c-9c55-1f0a6a3d2e11";

it("that another process makes between the look and the write is taken over", async () => {
  const nodes = new Map<string, Buffer>([["/.conclave", Buffer.alloc(0)]]);
  const link = {
    data: async (path: string) => {
      const data = nodes.get(path);
      return data && { data };
    },
    exists: async (path: string) => (nodes.has(path) ? {} : undefined),
    create: async (path: string) => {
      nodes.set(path, Buffer.from(ID));
      throw new ZooKeeperError("node-exists", "not-applied", path);
    },
  };
  expect(await findDomain(link as unknown as ZooKeeperLink, "")).toBe(ID);
});

it.each(["", "domain", `${ID} `, ID.toUpperCase(), "\0", "127.0.0.1"])(
  "that is no random id is refused, because a second ensemble could have the same: %j",
  async (text) => {
    const written: string[] = [];
    const link = {
      data: async () => ({ data: Buffer.from(text) }),
      create: async (path: string) => void written.push(path),
    };
    const found = findDomain(link as unknown as ZooKeeperLink, "/app").then(
      (domain) => domain,
      (error: Refusal) => error.refused,
    );
    expect(await found).toMatchObject({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringContaining("/app/.conclave/domain has no id in it"),
    });
    expect(written).toEqual([]);
  },
);
