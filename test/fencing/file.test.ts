// fileFence in one process: what is read, what is refused, what is left behind, what a crash leaves.
import { mkdtemp, readdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FileFence, fileFence } from "conclave/fencing";
import { Names } from "../../src/fencing/file-names.ts";
import { anyToken, by, codeOf } from "./tokens.ts";

let folder = "";
let fence: FileFence;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-file-"));
  fence = fileFence(folder, "ledger");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const text = async (): Promise<string | undefined> => (await fence.read())?.content.toString();
const put = (file: string, content: string): Promise<void> => writeFile(path.join(folder, file), content);
const files = async (): Promise<readonly string[]> => (await readdir(folder)).toSorted();

describe("fileFence", () => {
  it("reads nothing before the first write, and then what was written, with its token", async () => {
    expect(await fence.read()).toBeUndefined();
    await fence.raise(by(1));
    expect(await fence.read()).toBeUndefined();
    await fence.write("a", by(1));
    await fence.write(new Uint8Array([98, 0]), by(1));
    expect(await fence.read()).toEqual({ content: Buffer.from("b\0"), token: by(1).token });
  });

  it("refuses an older writer, one of the same number, and one of another domain", async () => {
    await fence.write("new", by(2));
    expect(await codeOf(fence.write("old", by(1)))).toBe("TOKEN_STALE");
    expect(await codeOf(fence.raise(by(1)))).toBe("TOKEN_STALE");
    expect(await codeOf(fence.write("twin", by(2, "other")))).toBe("TOKEN_STALE");
    expect(await codeOf(fence.write("foreign", by(3, "b", "etcd-2")))).toBe("TOKEN_FOREIGN");
    expect(await text()).toBe("new");
  });

  it("gives a raised token what was there, so that a delayed old write is never read", async () => {
    await fence.write("a", by(1));
    await fence.raise(by(2));
    expect(await fence.read()).toEqual({ content: Buffer.from("a"), token: by(2).token });
    await put("ledger@0@1", "delayed"); // what step 4 of the old writer does, however late
    expect(await text()).toBe("a");
    await fence.raise(by(3));
    expect(await text()).toBe("a");
    expect(await files()).not.toContain("ledger@0@1");
  });

  it("never shows a delayed first write to a leader that has read nothing", async () => {
    await fence.raise(by(2));
    await put("ledger@0@1", "delayed");
    expect(await text()).toBeUndefined();
    await fence.raise(by(3));
    expect(await text()).toBeUndefined();
  });

  it("goes on after a leader that died between its first two steps", async () => {
    await put("ledger@0@era", `{"domain":"etcd-1"}`);
    expect(await fence.read()).toBeUndefined();
    expect(await codeOf(fence.raise(by(1, "b", "etcd-2")))).toBe("TOKEN_FOREIGN");
    await fence.write("a", by(1));
    expect(await text()).toBe("a");
  });

  it("passes over a claim that never settled, and refuses older writers all the same", async () => {
    await fence.write("a", by(1));
    await put("ledger@0@2@claim", "etcd-1:2:b2"); // its leader died right after claiming
    expect(await text()).toBe("a");
    expect(await codeOf(fence.write("late", by(1)))).toBe("TOKEN_STALE");
    await fence.raise(by(3));
    expect(await text()).toBe("a");
  });

  it("takes over from the greatest settled predecessor, not from a file passed over", async () => {
    await fence.write("one", by(1));
    const kept = await readFile(path.join(folder, "ledger@0@1@claim"));
    await fence.write("two", by(2));
    await put("ledger@0@1@claim", kept.toString());
    await put("ledger@0@1", "delayed");
    await fence.raise(by(3));
    expect(await text()).toBe("two");
  });

  it("leaves behind nothing that is older than the newest settled token", async () => {
    for (let value = 1; value <= 5; value++) await fence.write(`${value}`, by(value));
    await put("ledger@0@4@tmp-1-0", "torn");
    await fence.write("6", by(6));
    expect(await files()).toEqual(["ledger@0@6", "ledger@0@6@claim", "ledger@0@era"]);
  });

  it("ignores torn temporary files, also of its own token and process", async () => {
    await fence.write("a", by(1));
    await put(`ledger@0@1@tmp-${process.pid}-0`, "to");
    await put("ledger@0@9@tmp-1-0", "tor");
    await fence.write("b", by(1));
    expect(await text()).toBe("b");
  });

  it("writes of one term that run side by side are all done, and one of them is what is read, whole", async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `${index} `.repeat(5000));
    const outcomes = await Promise.all(texts.map((each) => codeOf(fence.write(each, by(1)))));
    expect(new Set(outcomes)).toEqual(new Set(["admitted"]));
    expect(texts).toContain(await text());
  });

  it("says honestly that a write which was overtaken may have been taken over", async () => {
    await fence.write("a", by(1));
    const original = fence.write("late", by(1));
    const newer = fileFence(folder, "ledger").raise(by(2));
    const [old] = await Promise.all([codeOf(original), newer]);
    if (old === "admitted") expect(await text()).toBe("late");
    else expect(["a", "late"]).toContain(await text());
  });

  it.each([2n ** 53n + 1n, 2n ** 64n, 10n ** 39n - 1n])("orders %s exactly", async (value) => {
    await fence.write("a", by(value));
    expect(await codeOf(fence.write("b", by(value - 1n)))).toBe("TOKEN_STALE");
    expect(await text()).toBe("a");
  });

  it("keeps resources of one folder apart, whatever their names, and ignores other files", async () => {
    const names = ["led", "LED", "ledger@0", "a/b", "../up", "*", "%41", "A", "Ünïcode"];
    const spelled = names.map((name) => new Names(name).era(0n).toLowerCase().normalize("NFD"));
    expect(new Set(spelled).size).toBe(names.length);
    await put("readme.txt", "not ours");
    for (const [index, name] of names.entries()) await fileFence(folder, name).write(name, by(index + 1));
    for (const name of names) expect((await fileFence(folder, name).read())?.content.toString()).toBe(name);
    expect(await fence.read()).toBeUndefined();
    expect((await readdir(path.dirname(folder))).filter((name) => name.startsWith("up@"))).toEqual([]);
    expect(() => fileFence(folder, "x".repeat(200))).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  it.each([
    ["an unknown name", () => put("ledger@0@2~", "")],
    ["a value that is no number", () => put("ledger@0@two", "")],
    ["a claim of nobody", () => put("ledger@0@9@claim", "")],
    ["a claim with another number", () => put("ledger@0@9@claim", "etcd-1:8:b")],
    ["a claim of another domain", () => put("ledger@0@9@claim", "etcd-2:9:b")],
    ["an era that cannot be read", () => put("ledger@0@era", "{")],
    ["an era without a domain", () => put("ledger@0@era", "{}")],
    ["no era", () => unlink(path.join(folder, "ledger@0@era"))],
    ["a gap in the eras", () => rename(path.join(folder, "ledger@0@era"), path.join(folder, "ledger@1@era"))],
  ])("writes nothing when the folder was edited: %s", async (_, edit) => {
    await fence.write("a", by(1));
    await edit();
    expect(await codeOf(fence.write("b", by(10)))).toBe("STORE_FOREIGN_DATA");
  });

  it("moves to another domain when told, keeps the content, and stays there", async () => {
    await fence.write("a", by(41));
    await fence.adopt({ from: "etcd-1", to: "etcd-2" });
    await fence.adopt({ from: "etcd-1", to: "etcd-2" });
    expect(await text()).toBe("a");
    expect(await codeOf(fence.write("old", by(42)))).toBe("TOKEN_FOREIGN");
    await fence.raise(by(1, "b", "etcd-2"));
    await put("ledger@0@41", "delayed");
    expect(await text()).toBe("a");
    await fence.write("b", by(2, "b", "etcd-2"));
    expect(await codeOf(fence.write("old", by(9000)))).toBe("TOKEN_FOREIGN");
    await fence.adopt({ from: "etcd-2", to: "etcd-1" });
    expect(await codeOf(fence.write("old", by(41)))).toBe("TOKEN_STALE");
    expect(await text()).toBe("b");
    await fence.write("c", by(42));
    expect(await text()).toBe("c");
    expect(await codeOf(fence.adopt({ from: "etcd-7", to: "etcd-8" }))).toBe("CONFIG_INVALID");
  });

  it("takes back a token that no store has granted: what was written stays, and what comes above counts again", async () => {
    await fence.write("ten", by(41));
    await fence.write("poison", by(9000));
    expect(await codeOf(fence.adopt({ domain: "etcd-1", from: 9000n, to: 40n }))).toBe("admitted");
    expect(await text()).toBe("poison");
    expect(await codeOf(fence.write("older", by(40)))).toBe("TOKEN_STALE");
    await fence.write("twelve", by(41));
    expect(await text()).toBe("twelve");
    expect(await codeOf(fence.write("late", by(9000)))).toBe("admitted");
  });

  it("remembers a repair when its domain is left and adopted again", async () => {
    await fence.raise(by(9000));
    await fence.adopt({ domain: "etcd-1", from: 9000n, to: 40n });
    await fence.raise(by(42));
    await fence.adopt({ from: "etcd-1", to: "etcd-2" });
    await fence.adopt({ from: "etcd-2", to: "etcd-1" });
    expect([await codeOf(fence.raise(by(42))), await codeOf(fence.raise(by(43)))]).toEqual(["TOKEN_STALE", "admitted"]);
  });

  it("keeps the floor of a repair when the domain is left before a token came", async () => {
    await fence.raise(by(9000));
    expect(await codeOf(fence.adopt({ domain: "etcd-1", from: 9000n, to: 40n }))).toBe("admitted");
    await fence.adopt({ from: "etcd-1", to: "etcd-2" });
    await fence.adopt({ from: "etcd-2", to: "etcd-1" });
    expect([await codeOf(fence.raise(by(40))), await codeOf(fence.raise(by(41)))]).toEqual(["TOKEN_STALE", "admitted"]);
  });

  it("refuses an era whose floor was edited", async () => {
    await fence.raise(by(9000));
    await fence.adopt({ domain: "etcd-1", from: 9000n, to: 40n });
    await put("ledger@1@era", JSON.stringify({ domain: "etcd-1", floor: "-1" }));
    expect(await codeOf(fence.raise(by(41)))).toBe("STORE_FOREIGN_DATA");
  });

  it("lets one of two moves win, when two people move it at once", async () => {
    await fence.write("a", by(1));
    const moves = ["etcd-2", "etcd-3"].map((to) => codeOf(fileFence(folder, "ledger").adopt({ from: "etcd-1", to })));
    expect((await Promise.all(moves)).toSorted()).toEqual(["CONFIG_INVALID", "admitted"]);
  });

  it("lets one of two domains, and one of two bids, win on an empty folder", async () => {
    const writers = [by(1, "x"), by(1, "y"), by(1, "x", "etcd-2"), by(1, "y", "etcd-2")];
    const outcomes = await Promise.all(writers.map((term) => codeOf(fileFence(folder, "ledger").write("a", term))));
    expect(outcomes.filter((outcome) => outcome === "admitted")).toHaveLength(1);
  });

  it("never shows an older token after a newer one, and loses no acknowledged write, in any interleaving", async () => {
    const step = fc.record({ token: anyToken, how: fc.constantFrom("raise", "write"), apart: fc.boolean() });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const name = `run-${run++}`;
        const attempts: Promise<void>[] = [];
        let newest = -1n;
        const acknowledged: { readonly value: bigint; readonly content: string }[] = [];
        for (const [index, { token, how, apart }] of steps.entries()) {
          const each = fileFence(folder, name);
          const content = `${token.domain}:${token.value}:${index}`;
          const attempt = (how === "raise" ? each.raise({ token }) : each.write(content, { token })).then(
            () => void (how === "write" && acknowledged.push({ value: token.value, content })),
            (error: { code: string }) => expect(error.code).toMatch(/^TOKEN_/),
          );
          attempts.push(attempt);
          if (apart) await attempt;
          const seen = await each.read();
          expect(seen === undefined || seen.token.value >= newest).toBe(true);
          newest = seen?.token.value ?? newest;
        }
        await Promise.all(attempts);
        const last = (await fileFence(folder, name).read())?.content.toString();
        const greatest = acknowledged.reduce((most, { value }) => (value > most ? value : most), -1n);
        if (greatest >= 0n) expect(BigInt(last?.split(":")[1] ?? -1)).toBeGreaterThanOrEqual(greatest);
      }),
      { numRuns: 40 },
    );
  });
});
