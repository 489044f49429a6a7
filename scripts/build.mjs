// @ts-check
// src → dist: types from tsc, module by module; code joined into one file per entry of package.json plus shared chunks, once as ES modules and once as
// CommonJS in dist/cjs. Importing thirty small modules costs Node 25 ms and 8 MB, one file 9 ms and 3 MB (docs/adr/0006-one-file-per-entry.md).
// Says nothing unless something is wrong.
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { writeDeclarations } from "./declarations.mjs";
import { publicModules, readManifest } from "./exports.mjs";
import { quickStart } from "./quick-start.mjs";
import { sqlText } from "./sql-text.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = publicModules();

/** Processes and threads that conclave starts beside itself: files of their own, promised to nobody. The keeper is whole in one file, whatever becomes of the others. */
const HELPERS = [
  "cli/demo/candidate",
  "cli/partitions/member",
  "cli/drill/candidate",
  "cli/sim-worker",
  "election/renewal-thread",
  "keeper/app-keeper",
  "supervisor/releaser",
];
const KEEPER = "supervisor/keeper";

/** As `{ "stores/memory": "src/stores/memory.ts" }`. @param {readonly string[]} names */
function entries(names) {
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
}
const PEERS = Object.keys(readManifest().peerDependencies);
const PROMISED = modules.map(({ entry }) => entry);
const COMMANDS = Object.values(readManifest().bin).map((file) => file.slice("./dist/".length, -".js".length));

/**
 * What many share, in three files instead of dozens: what everything uses, in a browser too (`base`); what is around a store: how it is found by its URL, how it is asked, by which clock, and what
 * drivers have in common (`stores`); what holds elections (`core`). So a driver, a guard, a renewal thread and a releaser do without elections. Entries stay by themselves.
 */
const TOGETHER = [
  { name: "base", test: /\/src\/(?:base\/|lease\/|fencing\/(?:token|rule)|stores\/contract)/, priority: 3 },
  { name: "stores", test: aroundStores(), priority: 2 },
  { name: "core", test: /\/src\/election\/(?!renewal-thread)/, priority: 1 },
];

function aroundStores() {
  const stores = "call|granted-ttl|host-clock|invitations|mailbox|memos|turns|watched";
  const thread = "ask|clock|fresh-beat|store-desk|thread-messages";
  const folders = `clients/(?!load-peer)[^/]+|drivers/(?!sqlite-file)[^/]+|stores/(?:${stores})|election/(?:${thread})`;
  return new RegExp(`/src/(?:${folders})\\.ts$`);
}

/** What a bundler of users goes by stays. What is said to readers is in the types, which editors show, and in src. */
const COMMENTS = { annotation: true, jsdoc: false, legal: false };

/** What runs in a browser too, as it is. */
const ANYWHERE = ["simulator/index.js", "protocols/index.js"];

/** That those, and what they import, ask for nothing of Node. */
function checkAnywhere() {
  const files = ANYWHERE.map((file) => new URL(`../dist/${file}`, import.meta.url));
  const seen = new Set(files.map(String));
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    const builtin = /^const .* = process\.getBuiltinModule\("([^"]+)"\);$/m.exec(code)?.[1];
    if (builtin !== undefined) throw new Error(`${file.pathname} needs ${builtin}; it must run in a browser`);
    for (const [, specifier = ""] of code.matchAll(/^(?:import|export)\b[^"]*"([^"]+)";$/gm)) {
      const imported = new URL(specifier, file);
      if (!specifier.startsWith(".")) throw new Error(`${file.pathname} needs ${specifier}; it must run in a browser`);
      if (seen.has(String(imported))) continue;
      seen.add(String(imported));
      files.push(imported);
    }
  }
}

/** @param {string[]} names @param {"esm" | "cjs"} format */
async function join(names, format) {
  const ending = format === "esm" ? "js" : "cjs";
  await build({
    cwd: root,
    input: entries(names),
    platform: "node",
    external: PEERS,
    logLevel: "warn",
    plugins: [sqlText, quickStart(format)],
    output: {
      dir: format === "esm" ? "dist" : "dist/cjs",
      format,
      entryFileNames: `[name].${ending}`,
      chunkFileNames: `chunks/[name]-[hash].${ending}`,
      codeSplitting: { groups: TOGETHER },
      comments: COMMENTS,
    },
  });
}

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
writeDeclarations(modules);
await join([...PROMISED, ...COMMANDS, ...HELPERS], "esm");
await join(PROMISED, "cjs");
await build({
  cwd: root,
  input: entries([KEEPER]),
  platform: "node",
  logLevel: "warn",
  plugins: [quickStart("esm")],
  output: { dir: "dist", format: "esm", entryFileNames: "[name].js", codeSplitting: false, comments: COMMENTS },
});
checkAnywhere();
