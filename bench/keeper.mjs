// @ts-check
// A keeper beside an app: the leading app is killed (SIGKILL) at a ttl of a minute, 50 times on each store, from before the signal until the next one, which
// waits in another process with a keeper of its own, says that it leads. Beside it the same without a keeper, at a short ttl and in units of it. And what a
// keeper costs: memory, processor time, and time until the first election.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { keepResults, percentile } from "./results/keep.mjs";
import * as etcd from "../scripts/servers/etcd.mjs";
import * as postgres from "../scripts/servers/postgres.mjs";

const isQuick = process.env["BENCH_QUICK"] === "1";
const ROUNDS = isQuick ? 5 : 50;
const PLAIN_ROUNDS = isQuick ? 2 : 10;
const STARTS = isQuick ? 3 : 15;
const TTL_MS = 60_000;
const SHORT_TTL_MS = 3000;
const IDLE_MS = isQuick ? 2000 : 20_000;
const script = fileURLToPath(new URL("networked/kept.mjs", import.meta.url));

/** @typedef {{ pid: number, says: (what: RegExp) => Promise<RegExpExecArray>, kill: () => void }} App */

/** @param {string} url @param {string} name @param {number} ttlMs @param {"fenced" | "none"} keeper @returns {App} */
function start(url, name, ttlMs, keeper) {
  const app = spawn(process.execPath, [script, url, name, String(ttlMs), keeper], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  app.stdout.on("data", (data) => (text += data));
  return {
    pid: app.pid ?? 0,
    says: async (what) => {
      for (;;) {
        const found = what.exec(text);
        if (found !== null) return found;
        await sleep(1);
      }
    },
    kill: () => app.kill("SIGKILL"),
  };
}

/** One after the other leads and is killed. @param {string} url @param {string} name @param {number} rounds @param {number} ttlMs @param {"fenced" | "none"} keeper */
async function takeovers(url, name, rounds, ttlMs, keeper) {
  const samples = [];
  let leader = start(url, name, ttlMs, keeper);
  await leader.says(/elected/);
  for (let round = 0; round < rounds; round++) {
    const next = start(url, name, ttlMs, keeper);
    await next.says(/waiting/);
    if (keeper === "fenced") await keeperOf(leader.pid);
    await sleep(300); // watches
    const from = nowMs();
    leader.kill();
    samples.push(Number((await next.says(/elected (\S+)/))[1]) - from);
    leader = next;
  }
  const last = leader;
  return { samples, last };
}

/** @param {number} app */
async function keeperOf(app) {
  for (;;) {
    const found = readdirSync("/proc").find(
      (name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`).includes(`app-keeper.js\0of ${app}\0`),
    );
    if (found !== undefined) return Number(found);
    await sleep(5);
  }
}

/** Megabytes: all of it, and what it shares with nobody. @param {number} pid */
function memoryOf(pid) {
  const text = read(`/proc/${pid}/smaps_rollup`);
  const of = (/** @type {string} */ what) => Number(new RegExp(`^${what}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024;
  return { all: of("Rss"), own: of("Private_Clean") + of("Private_Dirty") };
}

/** Milliseconds of a processor. @param {number} pid */
function cpuMs(pid) {
  const fields = read(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** From the making of the candidate to its election, on an empty election. @param {string} url @param {"fenced" | "none"} keeper @param {string} kind */
async function firstElections(url, keeper, kind) {
  const samples = [];
  for (let n = 0; n < STARTS; n++) {
    const app = start(url, `first-${kind}-${keeper}-${n}`, TTL_MS, keeper);
    samples.push(Number((await app.says(/elected \S+ (\S+)/))[1]));
    app.kill();
  }
  return percentile(samples, 0.5);
}

/** @param {string} kind @param {string} url @param {Record<string, unknown>} raw */
async function on(kind, url, raw) {
  const kept = await takeovers(url, "kept", ROUNDS, TTL_MS, "fenced");
  const keeper = await keeperOf(kept.last.pid);
  const before = cpuMs(keeper);
  await sleep(IDLE_MS);
  const share = (100 * (cpuMs(keeper) - before)) / IDLE_MS;
  const memory = memoryOf(keeper);
  kept.last.kill();
  const what = `${kind}, an app killed, ttl 60 s, with a keeper`;
  const rows = [
    { name: `${what}, p50 of ${ROUNDS}`, value: percentile(kept.samples, 0.5), unit: "ms", goal: "" },
    { name: `${what}, p99`, value: percentile(kept.samples, 0.99), unit: "ms", goal: "≤ 250" },
    { name: `${kind}, a keeper: resident memory`, value: memory.all, unit: "MB", goal: "" },
    { name: `${kind}, a keeper: memory that it shares with nobody`, value: memory.own, unit: "MB", goal: "≤ 25" },
    { name: `${kind}, a keeper with nothing to do: share of a core`, value: share, unit: "%", goal: "" },
  ];
  raw[kind] = { keptMs: kept.samples };
  for (const keeper of /** @type {const} */ (["none", "fenced"]))
    rows.push({
      name: `${kind}, from a new candidate to its election, ${keeper === "none" ? "without" : "with"} a keeper, p50 of ${STARTS}`,
      value: await firstElections(url, keeper, kind),
      unit: "ms",
      goal: "",
    });
  if (kind === "sqlite") return rows;
  const plain = await takeovers(url, "plain", PLAIN_ROUNDS, SHORT_TTL_MS, "none");
  plain.last.kill();
  raw[kind] = { keptMs: kept.samples, plainMs: plain.samples };
  rows.push({
    name: `${kind}, an app killed without a keeper, ttl 3 s, p50 of ${PLAIN_ROUNDS}`,
    value: percentile(plain.samples, 0.5) / SHORT_TTL_MS,
    unit: "ttl",
    goal: "",
  });
  return rows;
}

export async function run() {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-kept-"));
  /** @type {Record<string, unknown>} */
  const raw = {};
  const rows = await on("sqlite", `sqlite:${folder}/x.db`, raw);
  for (const [kind, server] of /** @type {const} */ ([
    ["etcd", etcd],
    ["postgres", postgres],
  ])) {
    const running = await server.start();
    const [first = ""] = running.urls;
    rows.push(...(await on(kind, kind === "etcd" ? first.replace(/^https?:/, "etcd:") : first, raw)));
    await running.stop();
  }
  rmSync(folder, { recursive: true, force: true });
  if (process.env["BENCH_KEEP"] === "1") keepResults("keeper", raw);
  return rows;
}

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** @param {number} ms */
function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
