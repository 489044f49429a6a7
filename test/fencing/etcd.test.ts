// etcdFence on a real etcd, with two handles as two processes would have them.
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FencingToken } from "conclave";
import { type EtcdFence, etcdFence } from "conclave/fencing/etcd";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { anyToken, by, codeOf, findDisorder } from "./tokens.ts";
import { useServers } from "../support/servers.ts";
import { urlOf } from "../stores/etcd/etcd.ts";

const servers = useServers(etcdServer);
let one: EtcdFence;
let two: EtcdFence;
let resource = "";
let resources = 0;
beforeEach(() => {
  one = etcdFence(urlOf(servers()));
  two = etcdFence(urlOf(servers()));
  resource = `ledger-${++resources}`;
});
afterEach(async () => {
  await Promise.all([one.close(), two.close()]);
});

const put = (value: string): readonly { put: string; value: string }[] => [{ put: `data-${resource}`, value }];

describe("etcdFence", () => {
  it("writes with the newest token, and refuses an older one, also by a handle that has not seen the newer", async () => {
    await one.write(resource, by(1), put("first"));
    await two.write(resource, by(2), put("second"));
    await expect(one.write(resource, by(1), put("late"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    expect(await one.read(`data-${resource}`)).toBe("second");
  });

  it("writes all or nothing", async () => {
    await one.write(resource, by(2), [
      { put: `a-${resource}`, value: "1" },
      { put: `b-${resource}`, value: "2" },
    ]);
    await expect(
      one.write(resource, by(1), [{ delete: `a-${resource}` }, { put: `b-${resource}`, value: "3" }]),
    ).rejects.toMatchObject({ code: "TOKEN_STALE" });
    expect([await two.read(`a-${resource}`), await two.read(`b-${resource}`)]).toEqual(["1", "2"]);
  });

  it("refuses what etcd would refuse, and says that nothing was written", async () => {
    const put = { put: `twice-${resource}`, value: "x" };
    const remove = { delete: `twice-${resource}` };
    for (const writes of [[put, put], [put, remove], [{ put: "", value: "x" }], [{ delete: "" }]])
      await expect(one.write(resource, by(1), writes)).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(/Nothing was written/) as unknown,
      });
    await one.write(resource, by(1), [remove, remove]);
  });

  it("raise gives what a transaction of any client compares, and a newer token makes it fail", async () => {
    const { key, modRevision } = await one.raise(resource, by(1));
    expect(await one.raise(resource, by(1))).toEqual({ key, modRevision });
    const compared = (): string =>
      spawnSync("etcdctl", [`--endpoints=${servers().urls[0]}`, "txn"], {
        encoding: "utf8",
        input: `mod("${key}") = "${modRevision}"\n\nput data-${resource} own-client\n\n\n`,
        env: { ...process.env, ETCDCTL_API: "3" },
      }).stdout;
    expect(compared()).toMatch(/SUCCESS/);
    await one.write(resource, by(1), put("between"));
    expect(await one.raise(resource, by(1))).toEqual({ key, modRevision });
    await two.raise(resource, by(2));
    expect(compared()).toMatch(/FAILURE/);
  });

  it("refuses another domain until it is adopted, everywhere at once", async () => {
    await one.raise(resource, by(5, "x", "etcd-1"));
    await two.raise(resource, by(5, "x", "etcd-1"));
    expect(await codeOf(two.raise(resource, by(1, "y", "etcd-2")))).toBe("TOKEN_FOREIGN");
    await one.adopt(resource, { from: "etcd-1", to: "etcd-2" });
    expect(await codeOf(two.raise(resource, by(1, "y", "etcd-2")))).toBe("admitted");
    expect(await codeOf(two.raise(resource, by(9, "x", "etcd-1")))).toBe("TOKEN_FOREIGN");
  });

  it("refuses a fence that somebody has edited, and leaves it", async () => {
    const { key } = await one.raise(resource, by(1));
    spawnSync("etcdctl", [`--endpoints=${servers().urls[0]}`, "put", key, "gone"], {
      env: { ...process.env, ETCDCTL_API: "3" },
    });
    expect(await codeOf(one.write(resource, by(2), put("x")))).toBe("STORE_FOREIGN_DATA");
    expect(await one.read(key)).toBe("gone");
  });

  it("admits tokens in order, whichever of them is first", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyToken, { minLength: 2, maxLength: 8 }), async (tokens) => {
        resource = `race-${++resources}`;
        const admitted: { readonly token: FencingToken; readonly revision: bigint }[] = [];
        await Promise.all(
          tokens
            .map(async (token, index) => {
              const { modRevision } = await (index % 2 === 0 ? one : two).raise(resource, { token });
              admitted.push({ token, revision: BigInt(modRevision) });
            })
            .map((each) => each.catch(() => {})),
        );
        const order = admitted.toSorted((a, b) => Number(a.revision - b.revision)).map(({ token }) => token);
        expect(findDisorder(order)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it("says that it is unknown when no answer comes", async () => {
    const [member] = servers().nodes;
    await one.raise(resource, by(1));
    member?.pause();
    vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 300);
      return controller.signal;
    });
    const code = await codeOf(one.write(resource, by(1), put("when?")));
    vi.restoreAllMocks();
    member?.resume();
    expect(code).toBe("STORE_TIMEOUT");
    await two.raise(resource, by(2));
    expect(await codeOf(one.write(resource, by(1), put("late")))).toBe("TOKEN_STALE");
  });

  it("example fenced-etcd: corrupts without a fence, and not with one", async () => {
    const printed: unknown[] = [];
    vi.spyOn(console, "log").mockImplementation((line: unknown) => void printed.push(line));
    vi.stubEnv("ETCD_URL", urlOf(servers()));
    await import("../../examples/fenced-etcd/main.mjs");
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    expect(printed).toEqual(["without a fence: old leader", "with a fence:    successor; the late write: TOKEN_STALE"]);
  });
});
