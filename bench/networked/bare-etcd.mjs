// @ts-check
// The bare client of etcd, which is the fastest one here (etcd-client.mjs), joined from src: it is not a part of the package's public names.
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";

/** @typedef {Awaited<ReturnType<import("../../src/clients/etcd/client.ts").EtcdClient["link"]>>} Link */

/** @param {string} url @returns {Promise<{ signal: AbortSignal, link: () => Promise<Link>, close: () => void }>} */
export async function openBareEtcd(url) {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-"));
  const file = path.join(folder, "client.mjs");
  const input = fileURLToPath(new URL("../../src/clients/etcd/client.ts", import.meta.url));
  await build({ input, platform: "node", logLevel: "warn", output: { file, format: "esm" } });
  /** @type {typeof import("../../src/clients/etcd/client.ts")} */
  const { EtcdClient } = await import(pathToFileURL(file).href);
  const { hostname, port } = new URL(url);
  const endpoints = [{ host: hostname, port: Number(port) }];
  const client = new EtcdClient({ endpoints, tls: undefined, user: undefined, prefix: "", url: "" });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return {
    signal,
    link: () => client.link(signal),
    close: () => {
      client.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
