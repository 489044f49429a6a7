// Stores by URL: which schemes there are, what is said of others, and that no password gets into a message.
import { describe, expect, it } from "vitest";
import { openStore } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres } from "conclave/stores/postgres";
import { redis } from "conclave/stores/redis";
import { call, hold, open } from "../stores/moves.ts";

describe("openStore", () => {
  it("opens memory: stores, and the same one by the same name", async () => {
    const store = await openStore("memory:demo");
    await hold(store, await open(store), "x");
    expect(await (await openStore("MEMORY:demo")).look([{ name: "x" }], call())).toMatchObject({
      seats: [{ state: "held" }],
    });
    expect((await openStore("memory:demo?shape=race")).guarantee).toBe(store.guarantee);
  });

  it.each(["consul://h", "mysql://u:secret@h/db", "nats://:secret@h"])(
    "says that this version has no driver for %s",
    async (url) => {
      const scheme = url.slice(0, url.indexOf(":"));
      await expect(openStore(url)).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(`^openStore: this version has no driver for ${scheme}. Known here: .*memory:`),
      });
    },
  );

  it.each([undefined, null, "", "undefined", "null"])(
    "asks whether the variable is set for %j, as do the stores themselves",
    async (url) => {
      const asks = /is not a URL\. Is the environment variable set\?|neither a URL.*Is the environment variable set\?/;
      await expect(openStore(url as string)).rejects.toThrow(asks);
      expect(() => postgres(url as string)).toThrow(asks);
      expect(() => etcd(url as string)).toThrow(asks);
      expect(() => redis(url as string)).toThrow(asks);
    },
  );

  it.each([
    ["http://127.0.0.1:2379", /Write etcd:\/\/ where etcd's own tools have http:\/\/\./],
    ["https://user:secret@host", /Write etcds:\/\//],
    ["./leader.db", /A file is written as sqlite:PATH\./],
    ["file:///var/lib/leader.db", /A file is written as sqlite:PATH\./],
  ])("says for %j what was probably meant", async (url, said) => {
    const error: unknown = await openStore(url).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(said) });
    expect(String(error)).not.toMatch(/secret|leader/);
  });

  it.each(["ftp://user:secret@host", "secret", "user:secret@host", "", "secret/with:colon"])(
    "names the known schemes for %j, and nothing of what may be secret",
    async (url) => {
      const error: unknown = await openStore(url).catch((error: unknown) => error);
      expect(error).toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(/Known here: (?:[a-z]+:, )*memory:, (?:[a-z]+:, )*sqlite:(?:, [a-z]+:)*$/),
      });
      expect(String(error)).not.toMatch(/secret|user/);
    },
  );
});
