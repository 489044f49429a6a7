// From the review of the design: a store was restored from a backup and counted again from an older value. Two terms carried one number, and the resource
// took the second for the first.
// Here: values that fell are refused, and so is an equal value of another bid, until the counter has passed what the resource has seen. A restored store
// that is given a new domain is refused with its own code until adopted, and its old domain after that.
// Taken out: test/defences/restored-backup.patch
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Fenced, parseToken } from "conclave";
import { everyFence } from "../fencing/every-fence.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-restored-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const by = (text: string): Fenced => ({ token: parseToken(text) });

it.each(everyFence)(
  "restored-backup: a number that was used before is refused, whoever carries it now (%s)",
  async (_, make) => {
    const fence = make(folder);
    await fence.raise(by("etcd-1:41:before"));
    await expect(fence.raise(by("etcd-1:40:after-restore-1"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    await expect(fence.raise(by("etcd-1:41:after-restore-2"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    await fence.raise(by("etcd-1:42:after-restore-3"));

    await expect(fence.raise(by("etcd-1-restored:7:c"))).rejects.toMatchObject({ code: "TOKEN_FOREIGN" });
    await fence.adopt({ from: "etcd-1", to: "etcd-1-restored" });
    await fence.raise(by("etcd-1-restored:7:c"));
    await expect(fence.raise(by("etcd-1:43:late"))).rejects.toMatchObject({ code: "TOKEN_FOREIGN" });
  },
);
