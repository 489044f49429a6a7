// @ts-check
// What the README, the recipes and the pages about schedules and migrations show, pasted as it is into a folder with the tarball, and run against real servers: every block of TypeScript as a file of its
// own, on a Node that strips types by itself. What a block declares and leaves to its reader is given by a module that is loaded before it. Each must do
// something, and end on SIGTERM without a word of trouble.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const PAGES = ["README.md", "docs/RECIPES.md", "docs/ONCE-PER-FLEET.md", "docs/MIGRATIONS.md"];
const WITHIN_MS = 30_000;
/** For a program that says nothing of what it does. */
const SILENT_MS = 3_000;
/** A line that is no trouble: tables are made once, and types are stripped. */
const HARMLESS = /CONCLAVE_TABLES_MADE|ExperimentalWarning|trace-warnings|^$/;

/** The reader's own election, for a block that declares one. */
const ELECTION = `
import { elect, openStore, shutdownSignal } from "conclave";
globalThis.election = elect("given", { store: await openStore(process.env.DATABASE_URL), unfenced: true, logger: console });
shutdownSignal().addEventListener("abort", () => void globalThis.election.close());
`;

/** The reader's own functions: each says that it was called, and works for a moment or until it is told to stop. */
const GIVEN = `
const pause = (signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, 200);
  signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
});
const signalIn = (args) => args.map((each) => (each instanceof AbortSignal ? each : each?.signal)).find((each) => each !== undefined);
for (const name of NAMES)
  globalThis[name] = async (...args) => {
    console.log(name + " was called");
    await pause(signalIn(args));
  };
globalThis.cron = { schedule: (_when, tick) => void setInterval(() => void tick(), 200).unref() };
globalThis.tenants = ["a", "b"];
`;

/**
 * @param {object} options
 * @param {string} options.node its path; 24 or newer
 * @param {string} options.app where the package is installed
 * @param {{ postgres: string, etcd: string, redis: string, zookeeper: string, dynamodb: string, kubernetes: string }} options.urls
 * @param {(what: string, isGood: boolean, said: string) => void} options.report
 */
export async function tryDoors({ node, app, urls, report }) {
  for (const page of PAGES) {
    const blocks = blocksOf(readFileSync(path.join(app, "node_modules/conclave", page), "utf8"));
    for (const [index, { title, code }] of blocks.entries()) {
      const program = code.replaceAll(/etcd:\/\/[\d.:,]+/g, urls.etcd).replaceAll("listen(3000)", "listen(0)");
      const { isGood, said } = await run({ node, app, program, urls });
      report(`${page}, block ${index + 1}: ${title}`, isGood, `${program}\n${said}`);
    }
  }
}

/** @param {string} page @returns {{ title: string, code: string }[]} */
function blocksOf(page) {
  let title = "";
  return [...page.matchAll(/^## (.*)$|^```ts\n([\s\S]*?)^```/gm)].flatMap(([, heading, code]) => {
    title = heading ?? title;
    return code === undefined ? [] : [{ title, code }];
  });
}

/**
 * @param {{ node: string, app: string, program: string, urls: { postgres: string, redis: string, zookeeper: string, dynamodb: string, kubernetes: string } }} options
 * @returns {Promise<{ isGood: boolean, said: string }>}
 */
async function run({ node, app, program, urls }) {
  const names = [...program.matchAll(/^declare function (\w+)/gm)].map(([, name]) => name);
  const election = program.includes("declare const election:") ? ELECTION : "";
  writeFileSync(path.join(app, "door.mts"), program);
  writeFileSync(path.join(app, "given.mjs"), GIVEN.replace("NAMES", JSON.stringify(names)) + election);
  const env = {
    ...process.env,
    DATABASE_URL: urls.postgres,
    REDIS_URL: urls.redis,
    ZOOKEEPER_URL: urls.zookeeper,
    DYNAMODB_URL: urls.dynamodb,
    KUBERNETES_URL: urls.kubernetes,
    NODE_OPTIONS: "",
  };
  const child = spawn(node, ["--import", "./given.mjs", "door.mts"], {
    cwd: app,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  let trouble = "";
  const told = setTimeout(() => child.kill("SIGTERM"), SILENT_MS);
  const patience = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS);
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ text) => (printed += text));
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => (trouble += text));
  /** @type {[number | null, NodeJS.Signals | null]} */
  const [code, signal] = await new Promise((resolve) => child.on("close", (...end) => resolve(end)));
  clearTimeout(told);
  clearTimeout(patience);
  // A lock alone listens to no signal: then SIGTERM ends the process as it ends any other.
  const hasEnded = code === 0 || (signal === "SIGTERM" && !program.includes("shutdownSignal"));
  const isQuiet = trouble.split("\n").every((line) => HARMLESS.test(line));
  // A night does not come while we look.
  const isTimed = program.includes("conclave/schedule");
  const wasCalled = names.length === 0 || isTimed || names.some((name) => printed.includes(`${name} was called`));
  return { isGood: hasEnded && isQuiet && wasCalled, said: `${printed}${trouble}ended with ${code ?? signal}` };
}
