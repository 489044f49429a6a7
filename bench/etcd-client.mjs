// @ts-check
// What speaks to etcd: our own client beside @grpc/grpc-js, on one real etcd, with the same bytes: linearizable gets of one key, one after the other
// and 64 at once, and the time until the first answer, loading included. docs/adr/0009-etcd-without-a-client-library.md rests on this.
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";
import { start } from "../scripts/servers/etcd.mjs";

const READS = 4000;
const ROUNDS = 3;
const KEY = Buffer.from("a key");

/** @typedef {{ get: () => Promise<unknown>, close: () => void }} Speaker */

/** src/clients is no public module: it is built for this alone. @param {string} folder @param {string} name */
async function load(folder, name) {
  const file = path.join(folder, `${name}.mjs`);
  const input = fileURLToPath(new URL(`../src/clients/etcd/${name}.ts`, import.meta.url));
  await build({ input, platform: "node", logLevel: "warn", output: { file, format: "esm" } });
  return pathToFileURL(file).href;
}

/** @param {() => Promise<Speaker>} open */
async function measure(open) {
  const begun = performance.now();
  const { get, close } = await open();
  await get();
  const firstMs = performance.now() - begun;
  for (let count = 0; count < 500; count++) await get();
  const alone = await perSecond(READS, 1, get);
  const together = await perSecond(READS * 4, 64, get);
  close();
  return { firstMs, alone, together };
}

/** @param {number} count @param {number} atOnce @param {() => Promise<unknown>} get */
async function perSecond(count, atOnce, get) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await get();
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (count / (performance.now() - begun)) * 1000;
}

/** @param {string} file @param {URL} url @returns {Promise<Speaker>} */
async function ours(file, { hostname, port }) {
  const { EtcdClient } = await import(file);
  const endpoints = [{ host: hostname, port: Number(port) }];
  const client = new EtcdClient({ endpoints, tls: undefined, user: undefined, prefix: "", url: "" });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const link = await client.link(signal);
  return { get: () => link.range({ key: KEY }, signal), close: () => client.close() };
}

/** @param {string} file @param {URL} url @returns {Promise<Speaker>} */
async function theirs(file, { host }) {
  const { rangeRequest } = await import(file);
  const { Client, credentials } = await import("@grpc/grpc-js");
  const client = new Client(host, credentials.createInsecure());
  const write = (/** @type {object} */ request) => rangeRequest(request);
  const read = (/** @type {Buffer} */ bytes) => bytes;
  const get = () =>
    new Promise((resolve, reject) => {
      const path = "/etcdserverpb.KV/Range";
      client.makeUnaryRequest(path, write, read, { key: KEY }, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
  return { get, close: () => client.close() };
}

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-bench-"));
  const etcd = await start();
  try {
    const [client, messages] = [await load(folder, "client"), await load(folder, "messages")];
    const url = new URL(etcd.urls[0] ?? "");
    /** @type {Record<string, { firstMs: number, alone: number, together: number }>} */
    const best = {};
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, open] of Object.entries({
        ours: () => ours(client, url),
        theirs: () => theirs(messages, url),
      })) {
        const { firstMs, alone, together } = await measure(open);
        const before = best[name] ?? { firstMs, alone: 0, together: 0 };
        best[name] = {
          firstMs: before.firstMs,
          alone: Math.max(before.alone, alone),
          together: Math.max(before.together, together),
        };
      }
    return Object.entries(best).flatMap(([name, { firstMs, alone, together }]) => {
      const who = name === "ours" ? "etcd, our own client" : "etcd over @grpc/grpc-js";
      return [
        { name: `${who}: first answer, loading included`, value: firstMs, unit: "ms", goal: "" },
        { name: `${who}: gets one by one`, value: alone, unit: "/s", goal: "" },
        { name: `${who}: gets, 64 at once`, value: together, unit: "/s", goal: "" },
      ];
    });
  } finally {
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
