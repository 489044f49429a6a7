// How `conclave partitions demo` cuts a member off: a relay before the store, also where the address of the store stands in a kubeconfig.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openStore } from "conclave";
import { afterAll, describe, expect, it } from "vitest";
import { Relay, whyNoRelay } from "../../src/cli/partitions/relay.ts";
import * as kubernetes from "../../scripts/servers/kubernetes.mjs";
import * as zookeeper from "../../scripts/servers/zookeeper.mjs";
import { useServers } from "../support/servers.ts";

const [inKubernetes, inZookeeper] = [useServers(kubernetes), useServers(zookeeper)];
const folder = mkdtempSync(path.join(tmpdir(), "conclave-relay-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const kindOf = async (url: string, timeoutMs: number): Promise<string> => {
  const store = await openStore(url);
  try {
    const call = { signal: AbortSignal.timeout(timeoutMs), sentAtMs: performance.now() };
    return (await store.look([{ name: "relayed" }], call)).kind;
  } finally {
    await store.close();
  }
};

describe.each([
  ["kubernetes", () => inKubernetes().urls[0] ?? ""],
  ["zookeeper", () => inZookeeper().urls[0] ?? ""],
])("a relay before %s", (_, url) => {
  it("lets everything pass until it is cut, and again when it is mended", { timeout: 60_000 }, async () => {
    expect(whyNoRelay(url())).toBeUndefined();
    const relay = await Relay.to(url());
    expect(relay.url).not.toBe(url());
    expect(await kindOf(relay.url, 20_000)).toBe("seen");
    relay.cut();
    expect(await kindOf(relay.url, 500)).not.toBe("seen");
    relay.mend();
    expect(await kindOf(relay.url, 20_000)).toBe("seen");
    relay.end();
  });
});

function kubeconfig(name: string, ...servers: readonly string[]): string {
  const file = path.join(folder, name);
  const clusters = servers.map((server) => `- cluster:\n    server: ${server}\n  name: one\n`);
  writeFileSync(file, `apiVersion: v1\nclusters:\n${clusters.join("")}`);
  return `kubernetes://shop?kubeconfig=${encodeURIComponent(file)}`;
}

describe("the copy of a kubeconfig", () => {
  it("has the name for TLS, and is gone when the relay ends", async () => {
    const relay = await Relay.to(kubeconfig("tls", "https://api.example:6443/prefix"));
    const file = new URLSearchParams(relay.url.split("?")[1]).get("kubeconfig") ?? "";
    expect(readFileSync(file, "utf8")).toMatch(
      /^ {4}server: https:\/\/127\.0\.0\.1:\d+\/prefix\n {4}tls-server-name: api\.example$/m,
    );
    relay.end();
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ["kubernetes://shop", "names no kubeconfig"],
    [kubeconfig("two", "http://a:1", "http://b:1"), "exactly one server"],
    [kubeconfig("none"), "exactly one server"],
    [kubeconfig("number", "https://10.0.0.1:6443"), "by its number over TLS"],
  ])("is not made for %s", (url, why) => {
    expect(whyNoRelay(url)).toContain(why);
  });
});
