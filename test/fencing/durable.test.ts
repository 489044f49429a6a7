// durableFence after a restart: what it remembers, and what it makes of notes that are torn or edited.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { durableFence } from "conclave/fencing";
import { by, codeOf } from "./tokens.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-fence-"));
  folders.push(folder);
  return folder;
}

describe("durableFence after a restart", () => {
  it("still refuses what it refused before", async () => {
    const folder = newFolder();
    await durableFence(folder).raise("my/ledger", by(2n ** 64n + 1n, "x"));
    const restarted = durableFence(folder);
    expect(await codeOf(restarted.raise("my/ledger", by(2n ** 64n)))).toBe("TOKEN_STALE");
    expect(await codeOf(restarted.raise("my/ledger", by(2n ** 64n + 1n, "y")))).toBe("TOKEN_STALE");
    expect(await codeOf(restarted.raise("my/ledger", by(2n ** 64n + 1n, "x")))).toBe("admitted");
  });

  it("still knows which domain it has left, and how far that had come", async () => {
    const folder = newFolder();
    const fence = durableFence(folder);
    await fence.raise("ledger", by(41));
    fence.adopt("ledger", { from: "etcd-1", to: "etcd-2" });
    expect(await codeOf(durableFence(folder).raise("ledger", by(42)))).toBe("TOKEN_FOREIGN");
    durableFence(folder).adopt("ledger", { from: "etcd-2", to: "etcd-1" });
    expect(await codeOf(durableFence(folder).raise("ledger", by(41)))).toBe("TOKEN_STALE");
    expect(await codeOf(durableFence(folder).raise("ledger", by(42)))).toBe("admitted");
  });

  it("also what it could not note at first, because the disk failed", async () => {
    const folder = newFolder();
    const fence = durableFence(folder);
    rmSync(folder, { recursive: true });
    expect(await codeOf(fence.raise("ledger", by(2)))).not.toBe("admitted");
    mkdirSync(folder);
    expect(await codeOf(fence.raise("ledger", by(2)))).toBe("admitted");
    expect(await codeOf(durableFence(folder).raise("ledger", by(1)))).toBe("TOKEN_STALE");
  });

  it("refuses a name that no file can have, and takes the longest that one can", async () => {
    const fence = durableFence(newFolder());
    expect(await codeOf(fence.raise("x".repeat(240), by(2)))).toBe("admitted");
    expect(await codeOf(fence.raise("x".repeat(241), by(2)))).toBe("CONFIG_INVALID");
    expect(await codeOf(fence.raise("ä".repeat(50), by(2)))).toBe("CONFIG_INVALID");
  });

  it("ignores a torn temporary file, and leaves none", async () => {
    const folder = newFolder();
    await durableFence(folder).raise("ledger", by(2));
    writeFileSync(path.join(folder, "ledger.fence.json.tmp"), `{"domain":"etcd-1","mark":{"val`);
    const restarted = durableFence(folder);
    expect(await codeOf(restarted.raise("ledger", by(1)))).toBe("TOKEN_STALE");
    await restarted.raise("ledger", by(3));
    expect(readdirSync(folder)).toEqual(["ledger.fence.json"]);
  });

  it("admits nobody while its note cannot be read: what is not known is not taken for nothing", async () => {
    const folder = newFolder();
    symlinkSync("ledger.fence.json", path.join(folder, "ledger.fence.json")); // to itself
    expect(await codeOf(durableFence(folder).raise("ledger", by(1)))).toBe("ELOOP");
  });

  it.each([
    "",
    "{",
    "null",
    `{"domain":7,"left":[]}`,
    `{"domain":"d","mark":{"value":"x"},"left":[]}`,
    `{"domain":"d","mark":{"value":""},"left":[]}`,
    `{"domain":"d","mark":{"value":" -3"},"left":[]}`,
    `{"domain":"d","mark":{"value":"1","bid":7},"left":[]}`,
  ])("admits nobody when its note was edited into %j", async (text) => {
    const folder = newFolder();
    await durableFence(folder).raise("ledger", by(2));
    writeFileSync(path.join(folder, "ledger.fence.json"), text);
    expect(await codeOf(durableFence(folder).raise("ledger", by(3)))).toBe("STORE_FOREIGN_DATA");
    expect(readFileSync(path.join(folder, "ledger.fence.json"), "utf8")).toBe(text);
  });
});
