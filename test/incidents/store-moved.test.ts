// From the review of the design: a service moved to another store, whose counter began anew. Its tokens were compared with those of the old one: the new
// leader was locked out, or, where the new counter was ahead, candidates on the old store were.
// Here: tokens of another domain are refused with a code of their own, until somebody who knows says adopt; then those of the old one are.
// Taken out: test/defences/store-moved.patch
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Fenced, parseToken } from "conclave";
import { everyFence } from "../fencing/every-fence.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-moved-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const by = (text: string): Fenced => ({ token: parseToken(text) });
const foreign = { code: "TOKEN_FOREIGN" };

it.each(everyFence)(
  "store-moved: tokens of the new store are refused until adopted, then those of the old (%s)",
  async (_, make) => {
    const fence = make(folder);
    await fence.raise(by("redis-shop:41:a"));
    await expect(fence.raise(by("etcd-7a3f:3:b"))).rejects.toMatchObject(foreign);
    await expect(fence.raise(by("etcd-7a3f:9000:b"))).rejects.toMatchObject(foreign);
    await fence.raise(by("redis-shop:42:a2"));

    await fence.adopt({ from: "redis-shop", to: "etcd-7a3f" });
    await fence.raise(by("etcd-7a3f:3:b"));
    await expect(fence.raise(by("redis-shop:43:a3"))).rejects.toMatchObject(foreign);
    await expect(fence.raise(by("etcd-7a3f:2:b"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
  },
);
